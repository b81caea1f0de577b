"""Pages to look at, one HTML file each: runs, a tuning, judges; the stages of a pipeline; drafted gold to correct."""

from __future__ import annotations

from goldassay.reporting.pages.report_page import report
from goldassay.reporting.pages.report_sources import sources
from goldassay.reporting.pages.small_pages import correcting, waterfall
from goldassay.reporting.tuning import Tuning

__all__ = ["Tuning", "correcting", "report", "sources", "waterfall"]
