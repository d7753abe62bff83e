"""What a solver proves about its answer, and the warning for an answer that proves nothing."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

__all__ = ["Certificate", "Event", "warn_unless_converged"]


@dataclass(frozen=True, slots=True)
class Event:
    """What a ``callback`` is told while a solver runs; returning True stops the solver."""

    phase: str
    fraction: float
    objective: float
    gap: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """The proof that comes with a solution.

    Attributes
    ----------
    objective : float
        Value of the minimised problem, in the library's own parameters.
    gap : float
        Proved bound on the distance of ``objective`` from the optimum; NaN for problems that
        are not convex.
    violation : float
        Largest violation of the optimality conditions.
    converged : bool
        Whether the stopping rule was met.
    n_iter : int
        Solver iterations.
    history : tuple of (int, float, float)
        (iteration, objective, violation) along the way.
    curvature : float
        Smallest curvature at the answer where it is defined, else NaN.

    Examples
    --------
    >>> from shiftlearn import Certificate
    >>> proof = Certificate(objective=-20.0, gap=0.01, violation=5e-4, converged=True, n_iter=87)
    >>> proof.relative_gap
    0.0005
    """

    objective: float
    gap: float
    violation: float
    converged: bool
    n_iter: int
    history: tuple[tuple[int, float, float], ...] = ()
    curvature: float = math.nan

    @property
    def relative_gap(self) -> float:
        """``gap`` in units of the objective, ``gap / max(1, |objective|)``."""
        return self.gap / max(1.0, abs(self.objective))


def warn_unless_converged(certificate: Certificate, name: str, tol: float) -> None:
    """Warn with the measured figures and the remedy when an answer did not converge."""
    if certificate.converged:
        return
    from sklearn.exceptions import ConvergenceWarning

    stopped = (
        f"{name} stopped after {certificate.n_iter} iterations with violation "
        f"{certificate.violation:.3g} (tol={tol:.3g})"
    )
    if math.isnan(certificate.gap):
        proof = (
            " and without a bound on the gap, because the problem is not convex (an indefinite "
            f"kernel, for example): the answer, with objective {certificate.objective:.6g}, need "
            "not be the best one. Use another kernel or other parameters of it, scale the columns "
            "(StandardScaler), or raise max_iter."
        )
    else:
        proof = (
            f" and gap {certificate.gap:.3g} at objective {certificate.objective:.6g}. Scale the "
            "columns (StandardScaler), raise max_iter or tol, lower C, or use "
            "features=Nystroem(...)."
        )
    warnings.warn(stopped + proof, ConvergenceWarning, stacklevel=3)
