"""Judges: a language model, or one of inference, that says what no word count can; and what it is worth beside people.

Read in this order:

* ``ask``: `questions` (what is asked, the closed labels and what they are worth), `model` (bound, asked once, its
  verdict may be unknown), `judge` (and its verdicts in a file), `panel` (several that vote, and the votes on many
  items);
* `nli`: support without a language model;
* `measures`: those that only a judge gives; the others stand in `goldassay.measures.answering`;
* ``people``: their `labels`, `agreement` with the judge and how many more are needed, `rates` (corrected by labels,
  and calibrated) and `grades`, `preferences`, `run_labels`, and `tuning` a judge on labels;
* ``audit``: the `checks` that a judge is put to, planted faults among them, and the report that they make.
"""

from goldassay.judges.ask.judge import Judge, Verdicts, named
from goldassay.measures.judged import Verdict

__all__ = ["Judge", "Verdict", "Verdicts", "named"]
