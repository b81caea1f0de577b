"""Running programs over gold: evaluate, the run and its folder.

What reads runs needs no DSPy; what runs programs does, so it is imported from its own module
(`goldassay.running.evaluate`, `goldassay.running.evaluate`).
"""

from goldassay.running.folder import new_folder
from goldassay.running.run import Run

__all__ = ["Run", "new_folder"]
