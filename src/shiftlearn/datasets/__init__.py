"""Loaders for the real data of the experiments, from their published form."""
