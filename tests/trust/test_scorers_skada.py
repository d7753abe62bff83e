"""Our scorers beside skada's splitters and pipelines; without skada these tests are skipped."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from domains.tiny import TinyMachine
from shiftlearn import stack_domains
from shiftlearn.metrics import (
    CircularValidationScorer,
    DeepEmbeddedScorer,
    ImportanceWeightedScorer,
    PredictionEntropyScorer,
    SoftNeighborhoodDensityScorer,
)

before = sklearn.get_config()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    skada = pytest.importorskip("skada", reason="skada is not installed")
    selection = pytest.importorskip("skada.model_selection")
    theirs = pytest.importorskip("skada.metrics")
sklearn.set_config(**before)  # importing skada switches metadata routing on for the process

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

SCORERS = [
    CircularValidationScorer,
    DeepEmbeddedScorer,
    ImportanceWeightedScorer,
    PredictionEntropyScorer,
    SoftNeighborhoodDensityScorer,
]
MODELS = {
    "ours": lambda: make_pipeline(StandardScaler(), TinyMachine()),
    "skada": lambda: skada.make_da_pipeline(StandardScaler(), TinyMachine()),
    "skada, theirs": lambda: skada.make_da_pipeline(
        StandardScaler(), skada.CORALAdapter(), LogisticRegression()
    ),
}


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def stacked():
    rng = np.random.default_rng(0)
    ys, yt = np.arange(60) % 2, np.arange(50) % 2
    Xs = rng.normal(size=(60, 2)) + 3.0 * ys[:, None]
    Xt = rng.normal(size=(50, 2)) + 3.0 * yt[:, None] + 1.0
    X, y, d = stack_domains(Xs, ys, Xt, yt)
    return X, np.where(d < 0, -1, y), d  # as skada wants unlabelled target rows


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("splitter", ["SourceTargetShuffleSplit", "StratifiedDomainShuffleSplit"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_with_skadas_splitters(scorer, splitter, model):
    X, y, d = stacked()
    result = cross_validate(
        MODELS[model](),
        X,
        y,
        cv=getattr(selection, splitter)(2, random_state=0),
        params={"sample_domain": d},
        scoring=scorer(),
        error_score="raise",
    )
    assert np.all(np.isfinite(result["test_score"]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_same_figures_as_skadas_where_the_definition_is_the_same():
    X, y, d = stacked()
    model = skada.make_da_pipeline(TinyMachine()).fit(X, y.copy(), sample_domain=d)
    ours = PredictionEntropyScorer()(model, X, y, sample_domain=d)
    entropy = theirs.PredictionEntropyScorer()(model, X, y, sample_domain=d)
    assert 2 * entropy == pytest.approx(ours, rel=1e-4)  # theirs also averages over both classes
    ours = CircularValidationScorer()(model, X, y, sample_domain=d)
    circular = theirs.CircularValidation(
        source_scorer=lambda a, b: float(np.mean(np.asarray(a) == np.asarray(b)))
    )
    assert circular(model, X, y, sample_domain=d) == pytest.approx(ours)
