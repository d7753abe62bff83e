"""The shift report: measured facts as a dictionary, and pages made of it."""

from __future__ import annotations

from shiftlearn.report.report import shift_report, summarize
from shiftlearn.report.write import to_html, to_json, to_markdown, write_report

__all__ = ["shift_report", "summarize", "to_html", "to_json", "to_markdown", "write_report"]
