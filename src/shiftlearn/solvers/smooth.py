"""What a smooth minimisation is made of: the objective by blocks, the problem, the solution.

    min_w  F(w) = Σ_blocks f(block; w) + ½ Σ_j λ_j (w_j - c_j)²,     λ_j >= 0

An objective says what one block of rows adds to F; `shiftlearn.solvers.newton` adds up and steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from shiftlearn.certificates import Certificate

__all__ = ["Objective", "Partial", "Problem", "Product", "Solution"]

Floats = NDArray[np.float64]


class Product(Protocol):
    """The Hessian of one block, seen through products with it."""

    def __call__(self, direction: Floats) -> Floats:
        """Hessian times direction."""
        ...

    def summary(self) -> Floats:
        """What `Objective.preconditioner` needs to know; added up over the blocks."""
        ...


class Partial(NamedTuple):
    """What one block adds to F; ``gradient`` and ``hessian`` may be None below their order.

    Arrays must be fresh: the solver adds the other blocks to them in place.
    """

    loss: float
    gradient: Floats | None
    hessian: Floats | Product | None


class Objective(ABC):
    """The smooth part of F, block by block. Instances hold no state of the solver."""

    @abstractmethod
    def partial(self, block: Any, parameters: Floats, order: int = 2) -> Partial:
        """Loss, gradient (where ``order >= 1``) and Hessian or product (where ``order == 2``)."""

    def majorant(self, block: Any, parameters: Floats) -> Floats | None:
        """A positive semidefinite stand-in for the block's Hessian, asked for where the exact
        one is not positive definite. None: the sizes of its own curvatures are taken.
        """
        return None

    def preconditioner(self, summary: Floats, penalty: Floats) -> Callable[[Floats], Floats]:
        """An approximate inverse of the Hessian; ``summary`` is its diagonal unless overridden."""
        diagonal = np.abs(summary) + penalty
        diagonal[diagonal <= 0.0] = 1.0
        return lambda vector: vector / diagonal


@dataclass(frozen=True, slots=True)
class Problem:
    """One instance of the program above.

    Attributes
    ----------
    objective : Objective
    blocks : iterable
        Walked many times: a `RowBlocks` or a list.
    penalty : ndarray of shape (p,)
        λ; its length is the number of parameters.
    center : ndarray of shape (p,), optional
        c, by default zeros.
    weight : float
        Sum of the weights of the rows, the unit of the gradient.
    convex : bool
        Whether F is known to be convex; elsewhere no gap is claimed, and saddle points are left.
    flat : ndarray of shape (p, q), optional
        Orthonormal directions along which F is constant.
    drift : float
        R with |D³f[u, u, v]| <= R ‖v‖ D²f[u, u] everywhere; it turns curvature into a gap.
    metric : ndarray of shape (p, p), optional
        M of a further term ½ wᵀMw.
    linear : ndarray of shape (p,), optional
        q of a further term qᵀw.
    """

    objective: Objective
    blocks: Iterable[Any]
    penalty: Floats
    center: Floats | None = None
    weight: float = 1.0
    convex: bool = True
    flat: Floats | None = None
    drift: float = math.inf
    metric: Floats | None = None
    linear: Floats | None = None


@dataclass(frozen=True, slots=True)
class Solution:
    """``parameters`` (w), ``gradient`` of F there, and the certificate."""

    parameters: Floats
    gradient: Floats
    certificate: Certificate
