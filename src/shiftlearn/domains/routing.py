"""What a classifier needs to live in routed pipelines and to be scored on partly labelled rows.

The problem: scikit-learn passes metadata only to methods that ask for it. The mixin asks, once for
all estimators, for ``sample_domain`` and, at prediction, for ``allow_source``, which skada's
scorers send. The score is the accuracy over the rows that have a label,
sum_i w_i [y_i = f(x_i)] / sum_i w_i.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from shiftlearn.domains.labels import encode_labels, label_array, unlabelled

__all__ = ["DomainClassifierMixin", "labelled_accuracy"]

_AT_FIT = {"sample_domain": True}
_AT_PREDICTION = {"sample_domain": True, "allow_source": True}


class DomainClassifierMixin(ClassifierMixin):
    """Requests of the domain-aware methods, and a ``score`` that leaves unlabelled rows out.

    Put before ``BaseEstimator`` among the bases. Methods that the class does not have are
    not affected.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> class Machine(DomainClassifierMixin, BaseEstimator):
    ...     def fit(self, X, y=None, *, sample_domain=None): ...
    >>> Machine().get_metadata_routing().fit.requests
    {'sample_domain': True}
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = _AT_FIT
    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = _AT_FIT
    __metadata_request__predict: ClassVar[dict[str, Any]] = _AT_PREDICTION
    __metadata_request__predict_proba: ClassVar[dict[str, Any]] = _AT_PREDICTION
    __metadata_request__predict_log_proba: ClassVar[dict[str, Any]] = _AT_PREDICTION
    __metadata_request__decision_function: ClassVar[dict[str, Any]] = _AT_PREDICTION
    __metadata_request__score: ClassVar[dict[str, Any]] = _AT_PREDICTION

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sample_domain: Any = None,
        allow_source: bool = True,
    ) -> float:
        """Return the accuracy on the rows that have a label.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
            Rows marked as unlabelled (None, NaN, NA) are left out.
        sample_weight : array-like of shape (n,), optional
        sample_domain, allow_source
            Accepted for scorers that pass them; the prediction is that for the target domain.

        Returns
        -------
        float
            sum_i w_i [y_i = f(x_i)] / sum_i w_i.
        """
        return labelled_accuracy(y, self.predict(X), sample_weight)


def labelled_accuracy(y: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Accuracy over the rows of ``y`` that have a label.

    Examples
    --------
    >>> labelled_accuracy([1, None, 0], [1, 1, 1])
    0.5
    """
    from sklearn.metrics import accuracy_score

    labels = label_array(y)
    known = ~unlabelled(labels)
    if not known.any():
        raise ValueError("y holds no label, so there is no accuracy; it needs a labelled row.")
    codes, classes = encode_labels(labels, known)
    weights = None if sample_weight is None else np.asarray(sample_weight)[known]
    return float(
        accuracy_score(classes[codes[known]], np.asarray(predicted)[known], sample_weight=weights)
    )
