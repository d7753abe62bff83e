"""The plain machines: formulations of 20 to 40 lines over the shared solvers."""
