"""Views: maps between domains, fitted without labels, for any classifier behind them."""

from __future__ import annotations

from shiftlearn.views.gaussian import CoralMapper, MongeMapper
from shiftlearn.views.self_training import SelfTrainingAdapter
from shiftlearn.views.standardizer import DomainStandardizer

__all__ = ["CoralMapper", "DomainStandardizer", "MongeMapper", "SelfTrainingAdapter"]
