"""Cross-domain spectral classification: one graph of both domains, labels as must-links.

The embedding is that of `shiftlearn.alignment.spectral_terms`; in it each class of the source has a
centroid (or a linear machine is trained), and target rows get the class of the nearest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from shiftlearn.alignment.fitted_rows import FittedRows
from shiftlearn.alignment.rows import DomainRows, domain_rows
from shiftlearn.alignment.spectral_terms import Graph, Spectrum, embed, spectrum
from shiftlearn.domains import DomainClassifierMixin
from shiftlearn.kernels import resolve_kernel
from shiftlearn.machines.base import Machine, all_or_nothing, check_number, check_predict_rows
from shiftlearn.machines.expansion import LinearScores
from shiftlearn.machines.linear import LinearSVC

__all__ = ["CDCSClassifier"]

Floats = NDArray[np.float64]


class CDCSClassifier(DomainClassifierMixin, Machine):
    """Cross-domain spectral classifier.

    Embeds the rows of both domains by the eigenvectors of the smallest eigenvalues, one for each
    class, of

        A = L + ρ L_t + (η / n) Q,     L = I - D^-½ W D^-½,     vᵀQv = Σ_{y_i = y_j} (v_i - v_j)²,

    W the similarities of each row's nearest rows, L_t the same Laplacian of the target rows alone,
    the sum over pairs of source rows; then classifies the rows of the embedding, scaled to length
    one, by the nearest mean of the source classes. After Ling, Dai, Xue, Yang and Yu, *Spectral
    domain-transfer learning*, 2008, with the constants of this library.

    The answer for the target rows of ``fit`` is that of their own entries in the eigenvectors;
    other rows are placed among them by the equation that such an entry fulfils.

    Parameters
    ----------
    similarity : {"cosine", "rbf"}, default="cosine"
        Similarity of two rows: their cosine (0 where it is negative), or exp(-γ ‖x - z‖²).
    gamma : {"scale", "auto"} or float, default="scale"
        γ of "rbf"; "scale" is 1 / (n_features · X.var()) over both domains.
    n_neighbors : int, default=10
        Nearest rows that each row is connected with.
    target_weight : float, default=1.0
        ρ.
    label_weight : float, default=15.0
        η.
    classifier : {"centroid", "svm"}, default="centroid"
        What is trained on the embedded source rows.
    C : float, default=1.0
        Cost of the linear machine with classifier="svm".
    n_jobs : int or None, default=None
        Processes of the neighbour search, as in scikit-learn.
    random_state : int, RandomState or None, default=None
        Draws the vector from which the eigenvectors of large problems are iterated.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    embedding_ : ndarray of shape (n_source + n_target, n_classes)
        The rows of length one, source rows first.
    eigenvalues_, residuals_ : ndarray of shape (n_classes,)
        λ and ‖A v - λ v‖: an eigenvalue of A lies no farther from λ than that.
    transduction_ : ndarray of shape (n_target,)
        The classes of the target rows of ``fit``, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftlearn import CDCSClassifier, stack_domains
    >>> ring = np.array([[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 1.0]])
    >>> X, y, sample_domain = stack_domains(ring, ["a", "a", "b", "b"], ring[::-1] + 0.05)
    >>> model = CDCSClassifier(n_neighbors=2).fit(X, y, sample_domain=sample_domain)
    >>> model.transduction_
    array(['b', 'b', 'a', 'a'], dtype='<U1')
    """

    def __init__(
        self,
        similarity: str = "cosine",
        *,
        gamma: str | float = "scale",
        n_neighbors: int = 10,
        target_weight: float = 1.0,
        label_weight: float = 15.0,
        classifier: str = "centroid",
        C: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.similarity = similarity
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.target_weight = target_weight
        self.label_weight = label_weight
        self.classifier = classifier
        self.C = C
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_domain: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CDCSClassifier:
        """Embed the rows of both domains and classify the target rows.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            The rows of both domains.
        y : array-like of shape (n_samples,)
            Labels; those of target rows are not read.
        sample_domain : array-like of int of shape (n_samples,), optional
            Negative for target rows; without it the rows without a label are the target.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of weight 0 are left out; the others count in the classifier, not in the graph.

        Returns
        -------
        CDCSClassifier
            The fitted estimator.
        """
        with all_or_nothing(self):
            rho, eta = self._checked()
            rows = domain_rows(self, X, y, sample_domain=sample_domain, sample_weight=sample_weight)
            self._graph, self._target_graph = self._graphs(rows)
            self._spectrum = spectrum(
                self._graph,
                self._target_graph,
                rows.codes,
                target_weight=rho,
                label_weight=eta,
                random_state=check_random_state(self.random_state),
            )
            self._adopt(rows)
        return self

    def decision_function(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> Floats:
        """Scores of the classes; the larger, the more likely.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of the target domain.
        sample_domain, allow_source
            Accepted for scorers that pass them; all rows are taken as target rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes positive values mean ``classes_[1]``.
        """
        check_is_fitted(self, "_scores")
        return self._class_scores(self._embed(check_predict_rows(self, X)))

    def predict(
        self, X: Any, *, sample_domain: ArrayLike | None = None, allow_source: bool = True
    ) -> NDArray[Any]:
        """Predict the class of each row: the largest score.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Rows of the target domain.
        sample_domain, allow_source
            Accepted for scorers that pass them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        return self._labels(self.decision_function(X))

    def _checked(self) -> tuple[float, float]:
        if self.similarity not in ("cosine", "rbf"):
            raise ValueError(f'similarity must be "cosine" or "rbf", got {self.similarity!r}.')
        if self.classifier not in ("centroid", "svm"):
            raise ValueError(f'classifier must be "centroid" or "svm", got {self.classifier!r}.')
        if not isinstance(self.n_neighbors, int | np.integer) or self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be an integer >= 1, got {self.n_neighbors!r}.")
        check_number("C", self.C)
        rho = check_number("target_weight", self.target_weight, from_zero=True)
        return rho, check_number("label_weight", self.label_weight, from_zero=True)

    def _graphs(self, rows: DomainRows) -> tuple[Graph, Graph | None]:
        """The graph of all rows, and that of the target rows alone."""
        gamma = resolve_kernel("rbf", self.gamma, X=rows.X).gamma
        options = (
            gamma if self.similarity == "rbf" else None, int(self.n_neighbors), self.n_jobs
        )  # fmt: skip
        target = Graph.of(rows.target, *options) if rows.n_target else None
        return Graph.of(rows.X, *options), target

    def _adopt(self, rows: DomainRows) -> None:
        known: Spectrum = self._spectrum
        self.classes_ = rows.classes
        self.eigenvalues_, self.residuals_ = known.values, known.residuals
        self.embedding_ = _unit(known.vectors)
        source = self.embedding_[: rows.n_source]
        if self.classifier == "centroid":
            self._scores = _centroids(source, rows)
        else:
            weights = rows.weights[: rows.n_source]
            machine = LinearSVC(self.C).fit(source, rows.codes, sample_weight=weights)
            self._scores = LinearScores(machine.coef_, machine.intercept_)
        self._fitted_target = FittedRows(rows.target) if rows.n_target else None
        self.transduction_ = self._labels(self._class_scores(self.embedding_[rows.n_source :]))

    def _embed(self, X: Any) -> Floats:
        """Rows of ``fit`` where they are in the embedding, others by extension."""
        weight = float(self.target_weight)
        placed = _unit(embed(self._graph, self._target_graph, self._spectrum, X, weight))
        if self._fitted_target is not None:
            places = self._fitted_target.find(X)
            first = len(self.embedding_) - len(self.transduction_)
            placed[places >= 0] = self.embedding_[first + places[places >= 0]]
        return placed

    def _class_scores(self, embedded: Floats) -> Floats:
        values: Floats = self._scores.values(embedded)
        return np.asarray(values[:, 0]) if len(self.classes_) == 2 else values

    def _labels(self, scores: Floats) -> NDArray[Any]:
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[best.astype(np.intp)])


def _centroids(source: Floats, rows: DomainRows) -> LinearScores:
    """-½|e - m_k|² without its common part: linear in e; of two classes the difference."""
    weights = rows.weights[: rows.n_source]
    member = np.eye(len(rows.classes))[rows.codes] * weights[:, None]
    means = (member.T @ source) / member.sum(axis=0)[:, None]
    offsets = -0.5 * (means**2).sum(axis=1)
    if len(means) == 2:
        return LinearScores(means[1:] - means[:1], offsets[1:] - offsets[:1])
    return LinearScores(means, offsets)


def _unit(rows: Floats) -> Floats:
    """Rows of length one; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit
