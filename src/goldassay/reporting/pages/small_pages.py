"""The page of one result: the stages of a pipeline."""

from __future__ import annotations

from goldassay.reporting.pages import charts
from goldassay.reporting.pages.document import page
from goldassay.running.waterfall import Waterfall


def waterfall(stages: Waterfall, title: str) -> str:
    """The page of a pipeline's stages (`goldassay eval --stages`)."""
    steps = [(share.stage, share.cost, share.low, share.high) for share in stages.shares]
    figure = charts.waterfall(stages.value, stages.rest, steps)
    return page("waterfall.html", {"title": f"What each stage costs: {title}", "stages": stages, "cascade": figure})
