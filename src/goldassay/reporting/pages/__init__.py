"""Pages to look at, one HTML file each: runs, a tuning, judges."""

from __future__ import annotations

from goldassay.reporting.pages.report_page import report, sources
from goldassay.reporting.tuning import Tuning

__all__ = ["Tuning", "report", "sources"]
