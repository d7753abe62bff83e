"""What the first use costs, each time in a fresh interpreter."""


class Import:
    """Seconds from a fresh interpreter to an imported name."""

    timeout = 60

    def timeraw_package(self):
        """The package alone: neither SciPy nor scikit-learn."""
        return "import shiftlearn"

    def timeraw_kernels(self):
        """The kernels, and with them the compiled core."""
        return "import shiftlearn.kernels"

    def timeraw_scikit_learn(self):
        """The yardstick."""
        return "import sklearn.svm"
