"""Judges: language models that give verdicts no word count can, and how far to trust them.

* `questions`: what is asked, as data: signatures, closed labels and what they are worth; votes;
* `judge`: a bound model that answers them, asked once for each input; its verdicts in a file; panels;
* `measures`: those that only a judge gives; the others are in `goldassay.measures.answering`;
* `labels`: people's labels on items and on the answers of a run, and a judge's votes on the same items;
* `agreement`: judge against people, corrected rates and means, which items to label next;
* `tuning`: a judge tuned on labels;
* `modes`: a judge for a kind of failure that a reviewer named;
* `audit`: planted faults and biases, with pass marks.
"""

from goldassay.judges.judge import Judge, Verdicts, named
from goldassay.measures.judged import Verdict

__all__ = ["Judge", "Verdict", "Verdicts", "named"]
