"""Pages to look at, one HTML file each: runs, a tuning, judges; the stages of a pipeline."""

from __future__ import annotations

from goldassay.reporting.pages.report_page import report
from goldassay.reporting.pages.report_sources import sources
from goldassay.reporting.pages.small_pages import waterfall
from goldassay.reporting.tuning import Tuning

__all__ = ["Tuning", "report", "sources", "waterfall"]
