"""Plain machines from blocks: the answers of rows in memory, whatever the blocking."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from shiftlearn import LSSVC, SVC, Blocks, LinearSVC, Nystroem, OneClassSVM, RandomFourier

X, Y = make_classification(1200, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
TWO = np.array(["low", "high"])[(Y > 0).astype(int)]
MAP = RandomFourier(40, random_state=0)

CASES = {
    "LSSVC": (LSSVC(features=MAP), Y, 1e-10),
    "LSSVC, two classes, no intercept": (LSSVC(kernel="linear", fit_intercept=False), TWO, 1e-10),
    "SVC, pairs": (SVC(features=MAP, tol=1e-5), Y, None),
    "SVC, rest": (SVC(kernel="linear", multi_class="ovr", tol=1e-5), Y, 0.02),
    "SVC, no intercept": (SVC(kernel="linear", fit_intercept=False, tol=1e-5), TWO, 0.02),
    "LinearSVC": (LinearSVC(features=Nystroem(30, random_state=0), tol=1e-5), TWO, 0.02),
    "LinearSVC, balanced": (LinearSVC(class_weight="balanced", tol=1e-5), TWO, 0.02),
    "OneClassSVM": (OneClassSVM(features=MAP, nu=0.2, tol=1e-5), None, None),
}


def fitted(estimator, X, y=None, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of tol=1e-5 in memory
        return clone(estimator).fit(X, y, **given)


@pytest.mark.parametrize("name", CASES)
def test_answers_of_memory_and_of_any_blocking(name):
    estimator, y, exact = CASES[name]
    whole = fitted(estimator, X, y)
    one = fitted(estimator, Blocks.from_arrays(X, y, rows=5000))
    cuts = [0, 1, 30, 400, 401, 900, 1150, 1200]

    def uneven():
        for a, b in pairwise(cuts):
            yield X[a:b], None if y is None else y[a:b], None

    seven = fitted(estimator, Blocks(uneven))
    scores = [model.decision_function(X) for model in (whole, one, seven)]
    np.testing.assert_allclose(scores[1], scores[2], atol=1e-9)
    assert one.certificate_.converged
    gap = one.certificate_.gap + whole.certificate_.gap
    difference = abs(one.certificate_.objective - whole.certificate_.objective)
    assert difference <= gap + 1e-8 * abs(whole.certificate_.objective)
    if exact is not None:
        np.testing.assert_allclose(scores[0], scores[1], atol=exact)
    parts = list(seven.predict(Blocks.from_arrays(X, rows=500)))
    assert [len(part) for part in parts] == [500, 500, 200]
    np.testing.assert_array_equal(np.concatenate(parts), seven.predict(X))


def test_gap_is_a_bound_where_stopped_early():
    blocks = Blocks.from_arrays(X, TWO, rows=300)
    best = fitted(LinearSVC(tol=1e-7), blocks).certificate_
    for tol in (0.5, 0.05, 1e-3):
        proof = fitted(LinearSVC(tol=tol), blocks).certificate_
        assert proof.objective - proof.gap <= best.objective + 1e-6 * abs(best.objective)
        assert best.objective - best.gap <= proof.objective


def test_weights_target_rows_and_marks_are_left_out_alike():
    rng = np.random.default_rng(0)
    domain, weight = rng.choice([1, -1], 1200), rng.choice([0.0, 1.0, 2.0], 1200)
    y = TWO.astype(object)
    y[domain < 0] = None
    whole = LSSVC(kernel="linear").fit(X, y, sample_domain=domain, sample_weight=weight)
    blocks = Blocks.from_arrays(X, y, domain, sample_weight=weight, rows=100)
    model = LSSVC(kernel="linear").fit(blocks)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-10)


def test_a_block_with_one_class_is_fine_and_one_class_in_all_is_not():
    order = np.argsort(TWO, kind="stable")
    blocks = Blocks.from_arrays(X[order], TWO[order], rows=100)
    whole = LSSVC(kernel="linear").fit(X, TWO)
    np.testing.assert_allclose(LSSVC(kernel="linear").fit(blocks).coef_, whole.coef_, atol=1e-10)
    with pytest.raises(ValueError, match="at least 2 classes"):
        LSSVC(kernel="linear").fit(Blocks.from_arrays(X[:5], TWO[:1].repeat(5)))


def test_what_cannot_be_done_is_said_at_once():
    blocks = Blocks.from_arrays(X, TWO)
    with pytest.raises(ValueError, match="needs all rows at once"):
        SVC().fit(blocks)
    with pytest.raises(ValueError, match="y comes with the blocks"):
        LSSVC(kernel="linear").fit(blocks, TWO)
    with pytest.raises(ValueError, match="has no y"):
        LSSVC(kernel="linear").fit(Blocks.from_arrays(X))
    model = LSSVC(kernel="linear")
    with pytest.raises(ValueError, match="block 1, row 0"):
        model.fit(Blocks(lambda: iter([(X, TWO, None), (X * np.nan, TWO, None)])))
    assert not hasattr(model, "classes_")


class Interrupted(Exception):
    pass


def walks(limit, seen):
    """Blocks that fail after ``limit`` walks, as a machine that goes down does."""

    def make():
        seen.append(1)
        if len(seen) > limit:
            raise Interrupted
        for i in range(0, 1200, 250):
            yield X[i : i + 250], TWO[i : i + 250], None

    return make


def test_an_interrupted_fit_goes_on_with_the_same_answer(tmp_path):
    estimator = LinearSVC(features=MAP)
    straight, seen = fitted(estimator, Blocks(walks(10_000, []))), []
    with pytest.raises(Interrupted):
        estimator.fit(Blocks(walks(9, seen), checkpoint=tmp_path / "kept"))
    assert len(list((tmp_path / "kept").glob("pass-*.npz"))) >= 5
    again = []
    model = estimator.fit(Blocks(walks(10_000, again), checkpoint=tmp_path / "kept"))
    np.testing.assert_array_equal(model.coef_, straight.coef_)
    assert not list((tmp_path / "kept").iterdir())
    full = []
    fitted(estimator, Blocks(walks(10_000, full), checkpoint=tmp_path / "other"))
    assert len(again) < len(full)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    with pytest.raises(Interrupted):
        LinearSVC().fit(Blocks(walks(6, []), checkpoint=tmp_path))
    with pytest.raises(ValueError, match="holds a fit with other parameters"):
        LinearSVC(C=2.0).fit(Blocks(walks(100, []), checkpoint=tmp_path))
    other = Blocks.from_arrays(X + 1, TWO, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="holds a fit with other data"):
        LinearSVC().fit(other)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.txt").write_text("precious")
    with pytest.raises(ValueError, match="holds other files"):
        LinearSVC().fit(Blocks.from_arrays(X, TWO, checkpoint=tmp_path / "elsewhere"))
    assert (tmp_path / "elsewhere" / "mine.txt").exists()
