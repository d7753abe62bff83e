"""The checks that every estimator shares."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import ClassifierMixin

from shiftlearn.errors import ScaleWarning
from shiftlearn.machines.base import (
    Machine,
    all_or_nothing,
    check_number,
    check_rows,
    check_weights,
    class_factors,
    training_rows,
    warn_scales,
)

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])


class Probe(ClassifierMixin, Machine):
    """The least estimator that has a ``fit``."""

    def fit(self, X, y, *, sample_domain=None, sample_weight=None):
        with all_or_nothing(self):
            self.rows_ = training_rows(
                self, X, y, sample_domain=sample_domain, sample_weight=sample_weight
            )
        return self


def test_all_rows_pass_through_untouched():
    rows = Probe().fit(X, ["b", "a", "a", "b"]).rows_
    assert rows.classes.tolist() == ["a", "b"] and rows.codes.tolist() == [1, 0, 0, 1]
    assert rows.index is None and rows.weights.tolist() == [1, 1, 1, 1]


def test_target_rows_and_zero_weights_are_left_out():
    y = np.array(["b", "a", "a", None], dtype=object)
    rows = Probe().fit(X, y, sample_domain=[1, 2, 0, -1], sample_weight=[1, 2, 0, 1]).rows_
    assert rows.index.tolist() == [0, 1] and rows.weights.tolist() == [1, 2]
    assert rows.positions(np.array([1])).tolist() == [1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_dense_and_sparse(dtype):
    assert check_rows(Probe(), X.astype(dtype)).dtype == dtype
    assert check_rows(Probe(), sparse.csr_array(X.astype(dtype))).dtype == dtype
    assert check_rows(Probe(), X.astype(int)).dtype == np.float64


def test_callers_sparse_matrix_is_not_changed():
    doubled = sparse.csr_array((np.ones(2), [0, 0], [0, 2]), shape=(1, 2))
    assert check_rows(Probe(), doubled).nnz == 1 and doubled.nnz == 2


def test_feature_names_and_counts():
    probe = Probe().fit(pd.DataFrame(X, columns=["u", "v"]), [0, 1, 0, 1])
    assert probe.feature_names_in_.tolist() == ["u", "v"] and probe.n_features_in_ == 2
    probe.fit(X, [0, 1, 0, 1])
    assert not hasattr(probe, "feature_names_in_")
    with pytest.raises(ValueError, match="expecting 2 features"):
        check_rows(probe, X[:, :1], reset=False)


def test_failed_fit_leaves_the_estimator_as_it_was():
    probe = Probe().fit(X, [0, 1, 0, 1])
    before = dict(vars(probe))
    with pytest.raises(ValueError, match="class"):
        probe.fit(X[:, :1], [0, 0, 0, 0])
    assert vars(probe) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.full((4, 2), np.nan)}, "X contains NaN"),
        ({"X": np.full((4, 2), np.inf)}, "X contains infinity"),
        ({"X": np.empty((0, 2))}, "0 sample"),
        ({"X": X[0]}, "Expected 2D array"),
        ({"y": None}, "requires y"),
        ({"y": [0, 1]}, "y has 2 labels, but X has 4 rows"),
        ({"y": [1, 1, 1, 1]}, "1 class"),
        ({"y": [0.0, 1.0, np.nan, 1.0]}, "y contains NaN: 1 of the 4"),
        ({"y": [0.1, 1.0, 2.3, 1.0]}, "Unknown label type"),
        ({"y": ["a", "b", None, "a"]}, "have no label"),
        ({"sample_weight": [1, 1, 1]}, r"sample_weight.shape == \(3,\)"),
        ({"sample_weight": [1, -1, 1, 1]}, "sample_weight: the smallest is -1"),
        ({"sample_weight": [0, 0, 0, 0]}, "at least one non-zero"),
        ({"sample_weight": [0, 1, np.nan, 0]}, "sample_weight contains NaN"),
        ({"sample_weight": [0, 1, 0, 1]}, "1 class"),
        ({"sample_domain": [1, 1]}, "sample_domain has 2 entries"),
        ({"sample_domain": [1.5, 1, 1, 1]}, "must hold integers"),
        ({"sample_domain": [-1, -1, -1, -1]}, "no source row"),
        (
            {"sample_domain": [1, -1, 1, -1], "sample_weight": [0, 1, 0, 1]},
            "0 on all rows to train on",
        ),
    ],
)
def test_bad_input_names_the_argument(change, message):
    given = {"X": X, "y": [0, 1, 0, 1], **change}
    with pytest.raises(ValueError, match=message):
        Probe().fit(given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize("home", ["torch", "cupy"])
def test_device_arrays_are_refused_with_the_remedy(home):
    tensor = type("Tensor", (), {"__module__": home, "shape": (4, 2)})()
    with pytest.raises(TypeError, match=f"X is a {home} array.*pass X."):
        check_rows(Probe(), tensor)
    for name in ("sample_weight", "sample_domain"):
        with pytest.raises(TypeError, match=f"{name} is a {home} array.*pass {name}."):
            Probe().fit(X, [0, 1, 0, 1], **{name: tensor})


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([True, False], [False, True]),
        (np.array([2, 1], dtype=object), [1, 2]),
        (pd.Series(["z", "a"], dtype="category"), ["a", "z"]),
        (np.array([1.0, -1.0]), [-1.0, 1.0]),
    ],
)
def test_labels_of_any_type(y, classes):
    rows = Probe().fit(X[:2], y).rows_
    assert rows.classes.tolist() == classes and rows.codes.tolist() == [1, 0]


def test_classes_without_weight_are_gone():
    rows = Probe().fit(X, [2, 0, 1, 2], sample_weight=[1, 0, 1, 1]).rows_
    assert rows.classes.tolist() == [1, 2] and rows.codes.tolist() == [1, 0, 1]


def test_balanced_class_weight_respects_weights():
    codes, weights = np.array([0, 0, 1]), np.array([1.0, 3.0, 2.0])
    factors = class_factors("balanced", np.array(["a", "b"]), codes, weights)
    totals = np.bincount(codes, weights * factors[codes])
    np.testing.assert_allclose(totals, weights.sum() / 2)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf, "1", None, True])
def test_numbers_are_checked(value):
    with pytest.raises(ValueError, match="C must be a finite number > 0"):
        check_number("C", value)


def test_one_number_stands_for_all_rows():
    assert check_weights(2.0, 2).tolist() == [2, 2]
    assert Probe().fit(X, [0, 1, 0, 1], sample_domain=3).rows_.index is None


def test_scales_warn_once_with_the_ratio():
    with pytest.warns(ScaleWarning, match="factor of 3e") as caught:
        warn_scales(X * [1.0, 4500.0])
    assert len(caught) == 1
    warn_scales(X)
    warn_scales(np.ones((3, 2)))
    with pytest.warns(ScaleWarning, match="StandardScaler"):
        warn_scales(sparse.csr_array(X * [1.0, 4500.0]))
