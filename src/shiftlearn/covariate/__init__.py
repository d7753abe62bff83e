"""Covariate shift: the inputs moved, p(y given x) did not."""
