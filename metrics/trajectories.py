"""How the agent is judged: by its calls and by its answer, half and half, with whole trajectories and tools beside it.

F1 of calls says how near a wrong way was, and rises with every call that a patch puts right. What a tool is asked in
free text (the ``query`` of a search) is not in gold, so an argument that gold lacks may be there: ``superset``. A
right way without its answer is worth half, and so is a right answer that was guessed. Whole trajectories and tools by
name weigh nothing: they are for the report and the targets. A demonstration must be all right. The project's design
names no targets for trajectories; these are ours.
"""

from typing import Any

from goldassay import Metric
from goldassay.measures import answering, trajectories

OPTIONS: dict[str, Any] = {"arguments": "superset", "compare": {"name": "normalised"}}

metric = Metric(
    {
        trajectories.CallF1(**OPTIONS): 0.5,
        answering.ExactMatch(): 0.25,
        answering.F1(): 0.25,
        trajectories.TrajectoryMatch(**OPTIONS): 0.0,
        trajectories.ToolF1(**OPTIONS): 0.0,
    },
    targets={"call_f1": 0.80, "trajectory_exact_match": 0.60},
    pass_mark=1.0,
)
