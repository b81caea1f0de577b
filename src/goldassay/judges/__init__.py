"""Judges: a language model (or one of inference) that gives verdicts no word count can, and how far to trust it.

* `questions`: what is asked, as data: signatures, closed labels and what they are worth;
* `judge`: a bound model that answers them, asked once for each input; its verdicts in a file;
* `panel`: several judges that vote, and votes on many items;
* `nli`: support without a language model;
* `measures`: those that only a judge gives; the others stand in `goldassay.measures.answering`;
* `labels` and `run_labels`: people's labels on items and on the answers of a run;
* `agreement`: judge beside people, corrected rates and means;
* `plan`: which items to label next, and how far two versions of a judge differ;
* `tuning`: a judge tuned on labels;
* `audit` and `probes`: planted faults and biases, with pass marks.
"""

from goldassay.judges.judge import Judge, Verdicts, named
from goldassay.measures.judged import Verdict

__all__ = ["Judge", "Verdict", "Verdicts", "named"]
