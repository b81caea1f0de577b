"""Pages to look at: one file each, offline, everything in it. `report` of runs, `history` of a folder of runs."""

from goldassay.reporting.pages.report import Sources, report, sources
from goldassay.reporting.pages.tuning import Tuning

__all__ = ["Sources", "Tuning", "report", "sources"]
