"""Labels: marks, codes, plain dtypes."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shiftlearn.domains import encode_labels, label_array, minus_one_marks, unlabelled
from shiftlearn.errors import MissingLabelWarning

MARKED = [
    ([1.0, np.nan, 2.0], "f"),
    (["a", None, "b"], "U"),
    (["a", np.nan, "b"], "U"),
    ([1, pd.NA, 2], "i"),
    ([1, None, 2], "i"),
    ([True, None, False], "b"),
    (np.array([1, np.float32("nan"), 2], dtype=object), "i"),
    (np.array([b"a", None, b"b"], dtype=object), "S"),
    (pd.Series([1, None, 2], dtype="Int64"), "i"),
    (pd.Series([True, None, False], dtype="boolean"), "b"),
    (pd.Series(["a", None, "b"], dtype="string"), "U"),
    (pd.Series(["a", None, "b"], index=[7, 7, 7]), "U"),
    (pd.Series(["a", None, "b"], dtype="category"), "U"),
    (pl.Series([1, None, 2]), "i"),
    (pl.Series(["a", None, "b"]), "U"),
    (pl.Series([1.0, float("nan"), 2.0]), "f"),
]


@pytest.mark.parametrize("y, kind", MARKED)
def test_marks_are_found_and_the_plain_dtype_comes_back(y, kind):
    array = label_array(y, 3)
    marks = unlabelled(array)
    assert marks.tolist() == [False, True, False]
    codes, classes = encode_labels(array, ~marks)
    assert classes.dtype.kind == kind
    assert codes[1] == -1
    assert classes[codes[[0, 2]]].tolist() == [array[0], array[2]]
    assert classes.tolist() == sorted(classes.tolist())


def test_strings_that_look_like_marks_are_labels():
    assert not unlabelled(label_array(["nan", "None", "<NA>"])).any()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool, "U3", "datetime64[D]"])
def test_native_dtypes_stay(dtype):
    y = np.array([1, 0, 1]).astype(dtype)
    codes, classes = encode_labels(y, np.ones(3, dtype=bool))
    assert classes.dtype == y.dtype
    assert (classes[codes] == y).all()


def test_integers_and_whole_floats_among_objects_are_integers():
    codes, classes = encode_labels(
        np.array([1, 2.0, None], dtype=object), np.array([1, 1, 0], bool)
    )
    assert classes.dtype.kind == "i"
    assert codes.tolist() == [0, 1, -1]


def test_labels_outside_the_rows_are_not_looked_at():
    class Trap:
        def _fail(self, *args):
            raise AssertionError("a label was read that must not be read")

        __eq__ = __lt__ = __gt__ = __hash__ = __str__ = __repr__ = __bool__ = __float__ = _fail

    y = np.empty(3, dtype=object)
    y[:] = ["a", "b", Trap()]
    codes, _classes = encode_labels(y, np.array([True, True, False]))
    assert codes.tolist() == [0, 1, -1]


def test_ordered_objects_of_other_types_serve_as_labels():
    y = np.empty(3, dtype=object)
    y[:] = [(1, 2), (0, 1), (1, 2)]
    codes, classes = encode_labels(y, np.ones(3, dtype=bool))
    assert codes.tolist() == [1, 0, 1]
    assert classes.tolist() == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    "y, message",
    [
        (np.array([1, "a"], dtype=object), "mixes labels of several types"),
        (np.array([True, 2], dtype=object), "mixes labels of several types"),
        (np.array([0.5, 1.5]), "Unknown label type: continuous"),
        (np.array([0.0, np.inf]), "infinity"),
        (None, "requires y to be passed"),
        (np.zeros((2, 2)), "1d array"),
        (np.float64(1), "1d array"),
    ],
)
def test_bad_labels_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(label_array(y), np.ones(2, dtype=bool))


def test_labels_without_an_order_are_named():
    y = np.array([1j, 2j], dtype=object)
    with pytest.raises(ValueError, match="complex, which have no order"):
        encode_labels(y, np.ones(2, dtype=bool))


def test_wrong_length_names_both_numbers():
    with pytest.raises(ValueError, match="y has 2 labels, but X has 3 rows"):
        label_array([0, 1], 3)


def test_column_vector_warns_like_scikit_learn():
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        assert label_array(np.zeros((3, 1))).shape == (3,)


@pytest.mark.parametrize(
    "y",
    [[-1, 1, 1], [-1, -1, -1], [-1, 0, 0], [-2, -1, 0, 1], [-1.0, 0.0, 1.0], [0, 1, 2]],
)
def test_minus_one_is_an_ordinary_label(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not minus_one_marks(np.array(y)).any()


def test_minus_one_beside_two_classes_is_a_mark_and_says_so():
    with pytest.warns(MissingLabelWarning, match="sample_domain"):
        assert minus_one_marks(np.array([-1, 0, 1, -1])).tolist() == [True, False, False, True]
