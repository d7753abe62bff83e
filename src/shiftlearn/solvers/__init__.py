"""Optimisation: arrays in, arrays and a certificate out. Solvers know no estimator."""
