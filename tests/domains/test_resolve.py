"""Which rows are source and target, and which labels may be read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftlearn.domains import (
    check_predict_domain,
    check_sample_domain,
    check_two_classes,
    find_domains,
    labelled_rows,
    split_domains,
    warn_no_target,
)
from shiftlearn.errors import MissingLabelWarning, NoTargetWarning

Y = np.array([0, 1, 0, 1, 1, 0])
D = np.array([0, 3, 3, -1, -5, -5])


@pytest.mark.parametrize(
    "domain",
    [
        D,
        D.tolist(),
        tuple(D),
        D.astype(np.int8),
        D.astype(float),
        D.astype(object),
        pd.Series(D),
        pl.Series(D.tolist()),
        pd.Series(D, dtype="Int64"),
    ],
)
def test_every_form_of_sample_domain_is_read(domain):
    found = find_domains(None, domain, 6)
    assert found.sample_domain.dtype == np.int64
    assert found.source.tolist() == [True, True, True, False, False, False]
    assert found.target.tolist() == [False, False, False, True, True, True]
    assert found.source_labels == (0, 3)
    assert found.target_labels == (-5, -1)
    assert found.rows(-5).tolist() == [4, 5]
    assert found.has_source and found.has_target


def test_scalar_sample_domain_holds_for_all_rows():
    assert find_domains(None, -3, 2).sample_domain.tolist() == [-3, -3]


def test_sample_domain_is_copied():
    domain = D.copy()
    found = find_domains(None, domain, 6)
    domain[:] = 7
    assert found.sample_domain.tolist() == D.tolist()


@pytest.mark.parametrize(
    "domain, message",
    [
        ([1, 2], "2 entries, but X has 6 rows"),
        (np.ones((6, 1), int), "one integer a row"),
        ([1.5] * 6, "got .*1.5"),
        ([np.nan] * 6, "integers"),
        (["s"] * 6, "integers"),
        ([None] * 6, "integers"),
        (D >= 0, "booleans"),
    ],
)
def test_bad_sample_domain_is_named(domain, message):
    with pytest.raises(ValueError, match=f"sample_domain.*{message}"):
        check_sample_domain(domain, 6)


def test_without_sample_domain_marked_rows_are_the_target():
    found = find_domains(["a", None, "b"], None, 3)
    assert found.sample_domain.tolist() == [1, -2, 1]


def test_without_labels_all_rows_are_source():
    assert not find_domains(None, None, 3).has_target


def test_minus_one_marks_only_without_sample_domain():
    y = np.array([0, 1, -1])
    with pytest.warns(MissingLabelWarning):
        split = split_domains(y, None, 3)
    assert split.domains.target.tolist() == [False, False, True]
    assert split.classes.tolist() == [0, 1]
    split = split_domains(y, [1, 1, 1], 3)
    assert split.classes.tolist() == [-1, 0, 1]


@given(st.permutations([0, 1, 1]))
def test_ignored_target_labels_change_nothing(labels):
    y = Y.copy()
    y[3:] = labels
    split, plain = split_domains(y, D, 6), split_domains(Y, D, 6)
    assert split.codes.tolist() == plain.codes.tolist() == [0, 1, 0, -1, -1, -1]


def test_ignored_target_labels_are_never_read():
    class Trap:
        def _fail(self, *args):
            raise AssertionError("a label was read that must not be read")

        __eq__ = __lt__ = __gt__ = __hash__ = __str__ = __repr__ = __bool__ = __float__ = _fail

    y = np.empty(6, dtype=object)
    y[:] = ["a", "b", "a", Trap(), Trap(), Trap()]
    split = split_domains(y, D, 6)
    assert split.classes.tolist() == ["a", "b"]
    assert labelled_rows(y, D, 6).classes.tolist() == ["a", "b"]


def test_unseen_target_classes_do_not_enter_when_ignored():
    y = np.array([0, 1, 0, 7, 8, 9])
    assert split_domains(y, D, 6).classes.tolist() == [0, 1]
    assert split_domains(y, D, 6, target_labels="use").classes.tolist() == [0, 1, 7, 8, 9]


def test_used_target_labels_leave_unlabelled_rows_out():
    y = np.array(["a", "b", None, "b", None, None], dtype=object)
    split = split_domains(y, D, 6, target_labels="use")
    assert split.labelled_source.tolist() == [True, True, False, False, False, False]
    assert split.labelled_target.tolist() == [False, False, False, True, False, False]
    assert split.domains.source.sum() == 3


def test_plain_rows_of_an_adapting_method_are_target_rows():
    split = split_domains([-1, 1, 1], None, 3, target_labels="use", plain_rows="target")
    assert split.labelled_target.all()
    y = np.array([-1, 0, 1])  # -1 is no mark there
    split = split_domains(y, None, 3, target_labels="use", plain_rows="target")
    assert split.classes.tolist() == [-1, 0, 1]


def test_inputs_are_not_written_to():
    y, domain = Y.copy(), D.copy()
    y.setflags(write=False)
    domain.setflags(write=False)
    split_domains(y, domain, 6, target_labels="use")
    labelled_rows(y, domain, 6)
    assert (y == Y).all() and (domain == D).all()


@pytest.mark.parametrize("dtype", [int, float])
def test_labels_masked_by_skada_are_refused_where_they_are_needed(dtype):
    y = np.array([0, 1, 0, -1, -1, -1], dtype=dtype)
    with pytest.raises(ValueError, match="mask_target_labels=False"):
        split_domains(y, D, 6, target_labels="use")
    assert split_domains(y, D, 6).classes.tolist() == [0, 1]


@pytest.mark.parametrize("y", [[-1, 1, 1, -1, -1, -1], [0, 1, 0, -1, 1, -1]])
def test_other_minus_ones_beside_sample_domain_are_labels(y):
    split = split_domains(np.array(y), D, 6, target_labels="use")
    assert -1 in split.classes


@pytest.mark.parametrize(
    "y, domain, message",
    [
        (None, D, "requires y to be passed, but the target y is None"),
        (Y[:5], D, "5 labels, but X has 6 rows"),
        (Y, -1, r"no source row \(>= 0\)"),
        (np.full(6, np.nan), 0, "no label on any source row"),
        (np.full(6, np.inf), 0, "infinity"),
    ],
)
def test_bad_input_of_fit(y, domain, message):
    with pytest.raises(ValueError, match=message):
        split_domains(y, domain, 6)
    with pytest.raises(ValueError, match=message):
        labelled_rows(y, domain, 6)


def test_plain_machines_take_labelled_source_rows():
    rows = labelled_rows(Y, D, 6)
    assert rows.rows.tolist() == [0, 1, 2] and not rows.complete
    assert rows.take(Y).tolist() == [0, 1, 0]
    assert rows.codes.tolist() == [0, 1, 0]


def test_plain_machines_without_domains_take_all_labelled_rows():
    assert labelled_rows(["a", None, "b"], None, 3).rows.tolist() == [0, 2]
    everything = labelled_rows(Y, None, 6)
    assert everything.complete
    assert everything.take(Y) is Y


def test_single_class_is_named():
    with pytest.raises(ValueError, match=r"SVC can't train when only one class is present.*'a'"):
        check_two_classes(np.array(["a"]), "SVC")
    check_two_classes(np.array([0, 1]), "SVC")


def test_prediction_domains():
    assert check_predict_domain(None, 2, {1, -2}, -2).tolist() == [-2, -2]
    assert check_predict_domain(1, 2, {1, -2}, -2).tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"\[-1\], unknown.*\[-5, 7\]"):
        check_predict_domain([-1, 7], 2, {7, -5}, -5)


def test_no_target_warning_names_the_method_and_the_remedy():
    with pytest.warns(NoTargetWarning, match=r"DAKSVC.*plain machine.*stack_domains"):
        warn_no_target("DAKSVC")
