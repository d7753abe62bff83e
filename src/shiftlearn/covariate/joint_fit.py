"""Starts, Newton's method on the joint objective, and the lowest of its stationary points.

The starts, in their order:

1. ordinary logistic regression of the labels and of the domains, (w_iid, v_disc);
2. two-stage: the labels fitted again under the weights of v_disc;
3. (w_iid, 0);
4. and on: scores drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from shiftlearn.certificates import Certificate, Event
from shiftlearn.covariate.joint_loss import JointLoss, label_loss
from shiftlearn.solvers.logistic import LogisticSolution, solve_logistic
from shiftlearn.solvers.newton import Problem, solve
from shiftlearn.statistics import RowBlocks, row_blocks

__all__ = ["JointProblem", "JointSolution", "plain_logistic", "with_intercepts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Callback = Callable[[Event], bool | None]

_LARGEST_LOG = 700.0
_START_TOL = 1e-3  # a start need not be exact; Newton's last steps are left to the joint problem
_MOST_MATRIX = 4096  # a Hessian of more rows is not stored


@dataclass(frozen=True, slots=True)
class JointSolution:
    """Scores by rows (classes, then the domain score), intercepts behind them, and the proof.

    ``objectives`` holds J at the stationary point of each start, ``first`` J at the first start.
    """

    theta: Floats
    certificate: Certificate
    first: float
    objectives: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class JointProblem:
    """The joint objective on rows Z; m source rows come first.

    ``omega`` and ``domain_weights`` as in `ShiftRows`; ``cost`` and ``cost_shift`` are the
    variances s_w², s_v² of the priors.
    """

    Z: Any
    codes: Ints
    omega: Floats
    domain_weights: Floats
    n_source: int
    n_classes: int
    cost: float
    cost_shift: float
    odds: float
    fit_intercept: bool = True
    hessian: str = "auto"
    memory_limit: int | float | str = "auto"
    n_jobs: int | None = None
    rows: int | None = None

    @property
    def n_scores(self) -> int:
        """Scores of the classes: 1 for two."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def loss(self) -> JointLoss:
        """The objective's part that sums over rows."""
        form = (self.Z.shape[1], self.n_scores, self.fit_intercept, self.odds)
        return JointLoss(*form, exact=self._exact(JointLoss(*form).size))

    @property
    def blocks(self) -> RowBlocks:
        """The rows with their class numbers, weights and domains."""
        n = len(self.codes)
        rows = self.rows
        if rows is None and not self.loss.exact and not hasattr(self.Z, "indptr"):
            # Products are no cheaper in large blocks, and threads share small ones evenly.
            rows = max(256, -(-n // 8))
        return row_blocks(
            self.Z, self.codes, self.omega, self.domain_weights, np.arange(n) < self.n_source,
            rows=rows, memory_limit=self.memory_limit,
        )  # fmt: skip

    @property
    def newton(self) -> Problem:
        """The problem as the solver takes it."""
        loss = self.loss
        ridge = np.full((self.n_scores + 1, loss.width), 1.0 / self.cost)
        ridge[-1] = 1.0 / self.cost_shift
        ridge[:, loss.n_columns :] = 0.0
        return Problem(
            loss,
            self.blocks,
            ridge.ravel(),
            weight=float(self.omega.sum()),
            convex=False,
            flat=self._flat(loss),
        )

    def solve(
        self,
        *,
        tol: float,
        max_iter: int,
        n_starts: int = 1,
        random_state: np.random.RandomState | None = None,
        start: Floats | None = None,
        callback: Callback | None = None,
    ) -> JointSolution:
        """The lowest stationary point over the starts; ``start`` stands for the first of them."""
        newton = self.newton
        answers = [
            solve(
                newton, tol=tol, max_iter=max_iter, start=theta.ravel(), n_jobs=self.n_jobs,
                callback=callback,
            )
            for theta in self.starts(n_starts, random_state, start)
        ]  # fmt: skip
        best = min(answers, key=lambda answer: answer.certificate.objective)
        theta = self._centred(best.parameters.reshape(self.n_scores + 1, -1))
        objectives = tuple(answer.certificate.objective for answer in answers)
        return JointSolution(
            theta, best.certificate, answers[0].certificate.history[0][1], objectives
        )

    def can_start_at(self, theta: Floats | None) -> bool:
        """Whether the parameters have the right shape and a finite J."""
        if theta is None or theta.shape != (self.n_scores + 1, self.loss.width):
            return False
        parts = [self.loss.partial(block, theta.ravel(), 0).loss for block in self.blocks]
        return math.isfinite(sum(parts))

    def convexity_margin(self, scores: Floats) -> float:
        """The least of s q²/ρ - ω (1/P - 1 - log 1/P) over the source rows, from their scores."""
        m = self.n_source
        loss, _, _ = label_loss(scores[:-1], self.codes[:m])
        q = expit(scores[-1])
        with np.errstate(over="ignore", invalid="ignore"):
            needed = np.where(self.omega[:m] > 0, self.omega[:m] * (np.expm1(loss) - loss), 0.0)
        return float(np.min(self.domain_weights[:m] * q**2 / self.odds - needed))

    def starts(
        self, n: int, random_state: np.random.RandomState | None, start: Floats | None = None
    ) -> Iterator[Floats]:
        """The first ``n`` starts."""
        if start is not None:
            yield start
        if start is not None and n == 1:
            return
        domain = self._domain_model()
        iid = self._label_model(self.omega)
        kinds: list[Callable[[], Floats]] = [
            lambda: np.vstack([iid, domain]),
            lambda: np.vstack([self._label_model(self.omega * self.ratios(domain)), domain]),
            lambda: np.vstack([iid, np.zeros_like(domain)]),
        ]
        for place in range(0 if start is None else 1, n):
            yield kinds[place]() if place < len(kinds) else self._drawn(iid, random_state)

    def ratios(self, domain: Floats) -> Floats:
        """ρ exp(-t) on all rows under the domain scores of one row of parameters."""
        t = self.loss.scores(self.Z, domain)[0]
        return np.asarray(np.exp(np.minimum(math.log(self.odds) - t, _LARGEST_LOG)))

    def _domain_model(self) -> Floats:
        codes = (np.arange(len(self.codes)) < self.n_source).astype(np.intp)
        return self._logistic(self.Z, codes, 2, self.domain_weights, self.cost_shift)

    def _label_model(self, weights: Floats) -> Floats:
        m = self.n_source
        return self._logistic(self.Z[:m], self.codes[:m], self.n_classes, weights[:m], self.cost)

    def _logistic(
        self, Z: Any, codes: Ints, n_classes: int, weights: Floats, cost: float
    ) -> Floats:
        answer = plain_logistic(
            Z, codes, n_classes, weights, cost,
            fit_intercept=self.fit_intercept, tol=_START_TOL, max_iter=100,
            memory_limit=self.memory_limit, n_jobs=self.n_jobs,
        )  # fmt: skip
        return with_intercepts(answer, self.fit_intercept)

    def _drawn(self, like: Floats, random_state: np.random.RandomState | None) -> Floats:
        """Random scores whose mean squares are one or so on the rows."""
        random = np.random.RandomState(0) if random_state is None else random_state
        theta = random.normal(size=(len(like) + 1, like.shape[1]))
        sizes = np.sqrt(np.mean(self.loss.scores(self.Z, theta) ** 2, axis=1, keepdims=True))
        return np.asarray(theta / np.maximum(sizes, 1e-300))

    def _exact(self, size: int) -> bool:
        """Whether the Hessian is formed: where that costs less than products with it."""
        if self.hessian != "auto":
            return self.hessian == "newton"
        if hasattr(self.Z, "indptr"):
            return False
        matrix = len(self.codes) * size**2 / 2 + size**3 / 3
        products = 2 * 40 * self.Z.shape[0] * size * 10
        return size <= 64 or (size <= _MOST_MATRIX and matrix <= products)

    def _flat(self, loss: JointLoss) -> Floats | None:
        """The direction that raises the intercepts of all classes alike."""
        if self.n_scores == 1 or not self.fit_intercept:
            return None
        flat = np.zeros((self.n_scores + 1, loss.width))
        flat[:-1, -1] = self.n_scores**-0.5
        return flat.reshape(-1, 1)

    def _centred(self, theta: Floats) -> Floats:
        if self.n_scores > 1 and self.fit_intercept:
            theta = theta.copy()
            theta[:-1, -1] -= theta[:-1, -1].mean()
        return theta


def plain_logistic(
    Z: Any,
    codes: Ints,
    n_classes: int,
    weights: Floats,
    cost: float,
    *,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    memory_limit: int | float | str = "auto",
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> LogisticSolution:
    """Ridge logistic regression under given weights, prior variance ``cost``."""
    n, d = Z.shape
    # Not many more rows than columns: a factor costs less than a good preconditioner.
    small = not hasattr(Z, "indptr") and d <= _MOST_MATRIX // 4 and n <= 8 * d
    return solve_logistic(
        Z,
        codes,
        n_classes=n_classes,
        penalty=1.0 / cost,
        sample_weight=weights,
        fit_intercept=fit_intercept,
        hessian="exact" if small and n_classes == 2 else "auto",
        memory_limit=memory_limit,
        tol=tol,
        max_iter=max_iter,
        n_jobs=n_jobs,
        callback=callback,
    )


def with_intercepts(answer: LogisticSolution, fit_intercept: bool) -> Floats:
    """The scores by rows, intercepts behind them."""
    return np.hstack([answer.coef, answer.intercept[:, None]]) if fit_intercept else answer.coef
