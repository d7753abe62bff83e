"""The conventions hold inside skada: its pipelines, splitters and scorers, with a machine of ours.

skada is no dependency; without it these tests are skipped.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domains.tiny import TinyMachine
from shiftlearn import DomainKFold, SourceTargetSplit, stack_domains
from shiftlearn.domains import split_domains

before = sklearn.get_config()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    skada = pytest.importorskip("skada", reason="skada is not installed")
    metrics = pytest.importorskip("skada.metrics")
    selection = pytest.importorskip("skada.model_selection")
sklearn.set_config(**before)  # importing skada switches metadata routing on for the process

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

SCORERS = [
    "PredictionEntropyScorer",
    "SoftNeighborhoodDensity",
    "ImportanceWeightedScorer",
    "DeepEmbeddedValidation",
    "CircularValidation",
    "MixValScorer",
    "MaNoScorer",
]
SPLITTERS = {
    "DomainKFold": lambda: DomainKFold(3, score_on="both"),
    "SourceTargetSplit": lambda: SourceTargetSplit(0.4, score_on="both", random_state=0),
    "SourceTargetShuffleSplit": lambda: selection.SourceTargetShuffleSplit(2, random_state=0),
    "DomainShuffleSplit": lambda: selection.DomainShuffleSplit(2, random_state=0),
    "StratifiedDomainShuffleSplit": lambda: selection.StratifiedDomainShuffleSplit(
        2, random_state=0
    ),
}


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def stacked():
    rng = np.random.default_rng(0)
    ys, yt = np.arange(60) % 2, np.arange(50) % 2
    Xs = rng.normal(size=(60, 2)) + 3.0 * ys[:, None]
    Xt = rng.normal(size=(50, 2)) + 3.0 * yt[:, None] + 1.0
    return stack_domains(Xs, ys, Xt, yt)


def test_stacked_data_pass_skadas_own_check(stacked):
    from skada.utils import check_X_y_domain, extract_source_indices

    _, _, d = check_X_y_domain(*stacked)
    assert np.array_equal(d, stacked[2])
    assert np.array_equal(extract_source_indices(d), d >= 0)


def test_skadas_packed_data_are_read_as_they_are():
    from skada.datasets import make_shifted_datasets

    X, y, d = make_shifted_datasets(20, 20, shift="covariate_shift", random_state=0)
    split = split_domains(y, d, len(X))
    assert split.domains.source.sum() == np.sum(d >= 0)
    assert TinyMachine().fit(X, y, sample_domain=d).score(X, y) > 0.5


def test_inside_a_pipeline_of_skada(stacked):
    X, y, d = stacked
    pipe = skada.make_da_pipeline(StandardScaler(), TinyMachine())
    pipe.fit(X, y.copy(), sample_domain=d)  # skada overwrites target labels in y
    assert np.mean(pipe.predict(X[d < 0]) == y[d < 0]) > 0.8
    predicted = pipe.predict(X, sample_domain=d, allow_source=True)
    assert np.mean(predicted == y) > 0.8


def test_labels_that_skada_hides_are_recognised(stacked):
    X, y, d = stacked
    seen = {}

    class NeedsTargetLabels(TinyMachine):
        def fit(self, X, y, *, sample_domain=None):
            seen["y"] = np.array(y)
            split_domains(y, sample_domain, len(X), target_labels="use")
            return super().fit(X, y, sample_domain=sample_domain)

    pipe = skada.make_da_pipeline(NeedsTargetLabels())
    with pytest.raises(ValueError, match="mask_target_labels=False"):
        pipe.fit(X, y.copy(), sample_domain=d)
    assert np.all(seen["y"][d < 0] == -1)
    pipe = skada.make_da_pipeline(NeedsTargetLabels(), mask_target_labels=False)
    pipe.fit(X, y.copy(), sample_domain=d)
    make_pipeline(StandardScaler(), NeedsTargetLabels()).fit(X, y, sample_domain=d)


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("pipeline", ["plain", "scikit-learn", "skada"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_scorer_with_every_splitter(stacked, scorer, splitter, pipeline):
    if pipeline == "plain" and scorer in ("DeepEmbeddedValidation", "MaNoScorer"):
        pytest.skip("skada takes everything that is not a pipeline for a neural network here")
    X, y, d = stacked
    y = np.where(d < 0, -1, y)  # as skada wants unlabelled target rows
    model = TinyMachine().set_score_request(sample_weight=True)
    if pipeline == "scikit-learn":
        model = make_pipeline(StandardScaler(), model)
    elif pipeline == "skada":
        model = skada.make_da_pipeline(StandardScaler(), model)
    result = cross_validate(
        model,
        X,
        y.copy(),
        cv=SPLITTERS[splitter](),
        params={"sample_domain": d},
        scoring=getattr(metrics, scorer)(),
        error_score="raise",
    )
    assert np.all(np.isfinite(result["test_score"]))


@pytest.mark.parametrize("splitter", ["DomainKFold", "SourceTargetShuffleSplit"])
def test_search_with_the_supervised_scorer(stacked, splitter):
    X, y, d = stacked
    search = GridSearchCV(
        TinyMachine(),
        {"share": [0.0, 1.0]},
        cv=SPLITTERS[splitter](),
        scoring=metrics.SupervisedScorer().set_score_request(
            sample_domain=True, target_labels=True
        ),
        error_score="raise",
    )
    search.fit(X, y, sample_domain=d, target_labels=y)
    assert search.best_params_ == {"share": 1.0}
    assert search.best_score_ > 0.8
