"""Running programs over gold: evaluate, the run and its folder."""

from goldassay.running.evaluate import aevaluate, evaluate
from goldassay.running.folder import new_folder
from goldassay.running.options import RunOptions
from goldassay.running.run import Run

__all__ = ["Run", "RunOptions", "aevaluate", "evaluate", "new_folder"]
