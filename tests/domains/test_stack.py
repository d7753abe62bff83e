"""Stacking separate tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from shiftlearn import stack_domains
from shiftlearn.domains import split_domains

XS, XT = np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2) - 9


def test_arrays():
    X, y, d = stack_domains(XS, [1, 0, 1], XT)
    assert np.array_equal(X, np.vstack([XS, XT]))
    assert y.dtype == object and y.tolist() == [1, 0, 1, None, None]
    assert d.tolist() == [1, 1, 1, -2, -2]


def test_several_sources_and_targets():
    X, y, d = stack_domains(
        [XS, XT], [["a", "b", "a"], ["b", "b"]], [XT, XS], [None, ["a", None, "b"]]
    )
    assert X.shape == (10, 2)
    assert y.tolist() == ["a", "b", "a", "b", "b", None, None, "a", None, "b"]
    assert d.tolist() == [1, 1, 1, 2, 2, -3, -3, -4, -4, -4]


@pytest.mark.parametrize(
    "labels, kind",
    [
        (np.array([1, 0, 1], dtype=np.int32), "i"),
        (["x", "y", "x"], "U"),
        (np.array([True, False, True]), "b"),
        (np.array([0.0, 1.0, 0.0]), "f"),
    ],
)
@pytest.mark.parametrize("with_target", [False, True])
def test_the_labels_dtype_comes_back(labels, kind, with_target):
    yt = list(labels[:2]) if with_target else None
    _X, y, d = stack_domains(XS, labels, XT, yt)
    split = split_domains(y, d, 5, target_labels="use")
    assert split.classes.dtype.kind == kind
    assert split.classes[split.codes[:3]].tolist() == list(labels)


def test_partly_known_target_labels_as_floats_become_the_sources_integers():
    _X, y, _d = stack_domains(XS, [1, 0, 1], XT, np.array([1.0, np.nan]))
    assert y.tolist() == [1, 0, 1, 1, None]
    assert all(isinstance(v, int | None) for v in y)


def test_complete_numbers_keep_their_dtype_for_the_metrics_of_scikit_learn():
    from sklearn.metrics import accuracy_score

    _, y, d = stack_domains(XS, [1, 0, 1], XT, [0, 1])
    assert accuracy_score(y[d < 0], np.array([0, 1])) == 1.0


def test_pandas_frames_are_matched_by_name():
    source = pd.DataFrame(XS, columns=["a", "b"], index=[9, 9, 9])
    target = pd.DataFrame(XT[:, ::-1], columns=["b", "a"])
    X, _, _ = stack_domains(source, [0, 1, 0], target)
    assert isinstance(X, pd.DataFrame)
    assert list(X.columns) == ["a", "b"]
    assert np.array_equal(X.to_numpy(), np.vstack([XS, XT]))
    assert X.index.is_unique


def test_polars_frames_are_matched_by_name():
    source = pl.DataFrame({"a": [1, 2], "b": ["u", "v"]})
    target = pl.DataFrame({"b": ["w"], "a": [0.5]})
    X, _, _ = stack_domains(source, [0, 1], target)
    assert X.equals(pl.DataFrame({"a": [1.0, 2.0, 0.5], "b": ["u", "v", "w"]}))


def test_categories_are_united():
    source = pd.DataFrame({"c": pd.Categorical(["u", "v"])})
    target = pd.DataFrame({"c": pd.Categorical(["v", "w"])})
    X, _, _ = stack_domains(source, [0, 1], target)
    assert isinstance(X["c"].dtype, pd.CategoricalDtype)
    assert X["c"].tolist() == ["u", "v", "v", "w"]


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix, sp.coo_array, sp.csc_matrix])
def test_sparse(make):
    X, _, _ = stack_domains(make(XS), [0, 1, 0], make(XT))
    assert X.format == "csr"
    assert np.array_equal(X.toarray(), np.vstack([XS, XT]))


def test_sparse_and_dense_become_sparse():
    X, _, _ = stack_domains(sp.csr_array(XS), [0, 1, 0], XT)
    assert np.array_equal(X.toarray(), np.vstack([XS, XT]))


def test_plain_lists():
    X, _, _ = stack_domains([[1.0], [2.0]], ["a", "b"], [[3.0]])
    assert X.tolist() == [[1.0], [2.0], [3.0]]
    _, _, d = stack_domains([[[1.0], [2.0]], [[4.0]]], [["a", "b"], ["a"]], [[3.0]])
    assert d.tolist() == [1, 1, 2, -3]


def test_missing_and_extra_columns_are_named():
    source = pd.DataFrame(XS, columns=["a", "b"])
    target = pd.DataFrame(XT, columns=["b", "c"])
    with pytest.raises(ValueError, match=r"missing in Xt: \['a'\], extra: \['c'\]"):
        stack_domains(source, [0, 1, 0], target)


@pytest.mark.parametrize(
    "args, error, message",
    [
        ((XS, [0, 1], XT), ValueError, "ys has 2 labels, but Xs has 3 rows"),
        ((XS, [0, 1, 0], XT, [1]), ValueError, "yt has 1 labels, but Xt has 2 rows"),
        ((XS, None, XT), ValueError, "ys must hold the labels"),
        ((XS, [0, 1, 0], XT[:, :1]), ValueError, "Xt has 1 columns, but Xs has 2"),
        ((XS, [0, 1, 0], XT[0]), ValueError, "Xt must have two dimensions"),
        (([XS, XT], [0, 1, 0], XT), ValueError, "ys must be a list of 2 label arrays"),
        (([], [], XT), ValueError, "Xs is empty"),
        ((pd.DataFrame(XS), [0, 1, 0], XT), TypeError, "Xs: pandas, Xt: array"),
        ((pl.DataFrame(XS).lazy(), [0, 1, 0], XT), TypeError, "collect"),
        (
            (pd.DataFrame(XS, columns=["a", "a"]), [0, 1, 0], pd.DataFrame(XT)),
            ValueError,
            "same name",
        ),
    ],
)
def test_bad_input(args, error, message):
    with pytest.raises(error, match=message):
        stack_domains(*args)


def test_inputs_are_not_written_to():
    y = np.array([1.0, np.nan])
    y.setflags(write=False)
    stack_domains(XS, np.array([0, 1, 0]), XT, y)
