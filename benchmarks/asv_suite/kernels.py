"""Kernel blocks: every block of the Gram matrix once, none kept."""

import numpy as np

from shiftlearn.kernels import resolve_kernel


class Blocks:
    """Seconds for n x n entries of a kernel."""

    params = (["linear", "rbf", "laplacian"], [20, 200])
    param_names = ("kernel", "columns")
    n, rows = 4000, 1000

    def setup(self, name, d):
        """Draw the rows."""
        self.X = np.random.default_rng(0).standard_normal((self.n, d)).astype(np.float32)
        self.kernel = resolve_kernel(name, 1.0 / d, 3, 0.0, self.X)

    def time_all_blocks(self, name, d):
        """All of them, in float32, on all processors."""
        for i in range(0, self.n, self.rows):
            self.kernel.block(self.X[i : i + self.rows], self.X)
