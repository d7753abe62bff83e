"""shiftlearn: classifiers that keep working when the data move.

Every public name is imported on first use (PEP 562), so that ``import shiftlearn`` itself loads
neither SciPy nor scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# Public name -> module that defines it. Adding a method adds one line here.
_HOME = {
    "Blocks": "statistics",
    "CovariateShiftLogisticRegression": "covariate.joint",
    "covariate_shift_path": "covariate.path",
    "ExemplarSVC": "prototypes.svc",
    "PrototypeSVC": "prototypes.svc",
    "LMProjSVC": "alignment.lmproj",
    "LocallyWeightedEnsemble": "alignment.ensemble",
    "CDCSClassifier": "alignment.spectral",
    "AdaptCV": "adaptation.search",
    "AdaptLogisticRegression": "adaptation.logistic",
    "AdaptSVC": "adaptation.svc",
    "DAKSVC": "alignment.daksvc",
    "LSDAKSVC": "alignment.lsdaksvc",
    "select_queries": "adaptation.queries",
    "adapt_many": "adaptation.concepts",
    "alignment_path": "alignment.path",
    "ScoreEnsemble": "adaptation.ensemble",
    "AggregateSVC": "adaptation.aggregate",
    "Certificate": "certificates",
    "DomainKFold": "domains",
    "DomainWhitener": "alignment.whitener",
    "LinearSVC": "machines.linear",
    "Nystroem": "features",
    "RandomFourier": "features",
    "SourceTargetSplit": "domains",
    "stack_domains": "domains",
    "LSSVC": "machines.lssvc",
    "OneClassDisplay": "plot",
    "OneClassSVM": "machines.oneclass",
    "SVC": "machines.svc",
    "TransductiveSVC": "alignment.transductive",
    "UncertainOneClassTransferSVM": "oneclass.uoct",
    "svc_path": "machines.svc",
    "DecisionRegionDisplay": "plot",
    "WeightsDisplay": "plot",
    "FeatureShiftDisplay": "plot",
    "LabellingCurveDisplay": "plot",
    "ConvergenceDisplay": "plot",
    "OffsetsDisplay": "plot",
    "PrototypeMapDisplay": "plot",
    "CoralMapper": "views",
    "DomainStandardizer": "views",
    "MongeMapper": "views",
    "SelfTrainingAdapter": "views",
    "KDERatio": "covariate.density",
    "KLIEPRatio": "covariate.kliep",
    "LogisticRatio": "covariate.logistic_ratio",
    "PriorShiftCorrector": "covariate.prior_shift",
    "ReweightedClassifier": "covariate.reweighted",
    "ULSIFRatio": "covariate.least_squares_ratio",
    "KernelMeanMatching": "covariate.matching",
    "SelectionBiasRatio": "covariate.logistic_ratio",
    "load": "files.archive",
    "save": "files.archive",
    "shift_report": "report.report",
    "tabular_preprocessor": "tabular.preprocessor",
    "ShiftCommittee": "trust.committee",
    "ShiftSearchCV": "trust.search",
    "AccuracyEstimator": "trust.accuracy",
}

if TYPE_CHECKING:
    from shiftlearn.adaptation.aggregate import AggregateSVC as AggregateSVC
    from shiftlearn.adaptation.concepts import adapt_many as adapt_many
    from shiftlearn.adaptation.ensemble import ScoreEnsemble as ScoreEnsemble
    from shiftlearn.adaptation.logistic import AdaptLogisticRegression as AdaptLogisticRegression
    from shiftlearn.adaptation.queries import select_queries as select_queries
    from shiftlearn.adaptation.search import AdaptCV as AdaptCV
    from shiftlearn.adaptation.svc import AdaptSVC as AdaptSVC
    from shiftlearn.alignment.daksvc import DAKSVC as DAKSVC
    from shiftlearn.alignment.ensemble import LocallyWeightedEnsemble as LocallyWeightedEnsemble
    from shiftlearn.alignment.lmproj import LMProjSVC as LMProjSVC
    from shiftlearn.alignment.lsdaksvc import LSDAKSVC as LSDAKSVC
    from shiftlearn.alignment.path import alignment_path as alignment_path
    from shiftlearn.alignment.spectral import CDCSClassifier as CDCSClassifier
    from shiftlearn.alignment.transductive import TransductiveSVC as TransductiveSVC
    from shiftlearn.alignment.whitener import DomainWhitener as DomainWhitener
    from shiftlearn.certificates import Certificate as Certificate
    from shiftlearn.covariate.density import KDERatio as KDERatio
    from shiftlearn.covariate.joint import (
        CovariateShiftLogisticRegression as CovariateShiftLogisticRegression,
    )
    from shiftlearn.covariate.kliep import KLIEPRatio as KLIEPRatio
    from shiftlearn.covariate.least_squares_ratio import ULSIFRatio as ULSIFRatio
    from shiftlearn.covariate.logistic_ratio import LogisticRatio as LogisticRatio
    from shiftlearn.covariate.logistic_ratio import SelectionBiasRatio as SelectionBiasRatio
    from shiftlearn.covariate.matching import KernelMeanMatching as KernelMeanMatching
    from shiftlearn.covariate.path import covariate_shift_path as covariate_shift_path
    from shiftlearn.covariate.prior_shift import PriorShiftCorrector as PriorShiftCorrector
    from shiftlearn.covariate.reweighted import ReweightedClassifier as ReweightedClassifier
    from shiftlearn.domains import DomainKFold as DomainKFold
    from shiftlearn.domains import SourceTargetSplit as SourceTargetSplit
    from shiftlearn.domains import stack_domains as stack_domains
    from shiftlearn.features import Nystroem as Nystroem
    from shiftlearn.features import RandomFourier as RandomFourier
    from shiftlearn.files.archive import load as load
    from shiftlearn.files.archive import save as save
    from shiftlearn.machines.linear import LinearSVC as LinearSVC
    from shiftlearn.machines.lssvc import LSSVC as LSSVC
    from shiftlearn.machines.oneclass import OneClassSVM as OneClassSVM
    from shiftlearn.machines.svc import SVC as SVC
    from shiftlearn.machines.svc import svc_path as svc_path
    from shiftlearn.oneclass.uoct import (
        UncertainOneClassTransferSVM as UncertainOneClassTransferSVM,
    )
    from shiftlearn.plot import ConvergenceDisplay as ConvergenceDisplay
    from shiftlearn.plot import DecisionRegionDisplay as DecisionRegionDisplay
    from shiftlearn.plot import FeatureShiftDisplay as FeatureShiftDisplay
    from shiftlearn.plot import LabellingCurveDisplay as LabellingCurveDisplay
    from shiftlearn.plot import OffsetsDisplay as OffsetsDisplay
    from shiftlearn.plot import OneClassDisplay as OneClassDisplay
    from shiftlearn.plot import PrototypeMapDisplay as PrototypeMapDisplay
    from shiftlearn.plot import WeightsDisplay as WeightsDisplay
    from shiftlearn.prototypes.svc import ExemplarSVC as ExemplarSVC
    from shiftlearn.prototypes.svc import PrototypeSVC as PrototypeSVC
    from shiftlearn.report.report import shift_report as shift_report
    from shiftlearn.statistics import Blocks as Blocks
    from shiftlearn.tabular.preprocessor import tabular_preprocessor as tabular_preprocessor
    from shiftlearn.trust.accuracy import AccuracyEstimator as AccuracyEstimator
    from shiftlearn.trust.committee import ShiftCommittee as ShiftCommittee
    from shiftlearn.trust.search import ShiftSearchCV as ShiftSearchCV
    from shiftlearn.views import CoralMapper as CoralMapper
    from shiftlearn.views import DomainStandardizer as DomainStandardizer
    from shiftlearn.views import MongeMapper as MongeMapper
    from shiftlearn.views import SelfTrainingAdapter as SelfTrainingAdapter

__all__ = [*_HOME, "metrics"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"shiftlearn.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name == "metrics":
        return importlib.import_module("shiftlearn.metrics")
    raise AttributeError(f"module 'shiftlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
