"""The embedded model (or any other) as a judge of preferences, beside people: what it is worth, as measured.

``python -m benchmarks.judging [PAIRS] [LM]``. Every pair is asked about in both orders; answers are cut to 600
characters, so that a small context holds two of them.
"""

from __future__ import annotations

import logging
import sys
import time
from dataclasses import replace

from tests.simulations.preferences import DATA, prefer, read_preferences

from goldassay.judges.judge import Judge
from goldassay.judges.labels import LabelFile
from goldassay.models import lm as models
from goldassay.statistics.intervals import Interval

LONGEST = 600


def cut(labels: LabelFile) -> LabelFile:
    """The same pairs with their answers cut."""
    items = [replace(i, inputs={name: text[:LONGEST] for name, text in i.inputs.items()}) for i in labels.items]
    return replace(labels, items=items)


def shown(found: Interval | None) -> str:
    return "not known" if found is None else f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}], n {found.n}"


def main() -> None:
    logging.disable(logging.CRITICAL)
    named = [word for word in sys.argv[1:] if "/" in word or ":" in word]
    pairs = next((int(word) for word in sys.argv[1:] if word.isdigit()), 20)
    model = models.resolve(named[0] if named else None)
    labels = read_preferences(DATA / "ragchecker" / "human_labeled_data.json", limit=pairs)
    judge = Judge(model, adapter=models.adapter(model))
    began = time.perf_counter()
    preferences = prefer(judge, cut(labels))
    seconds = time.perf_counter() - began
    print(f"{preferences.judge} on {preferences.pairs} pairs, both orders: {judge.calls} calls, {seconds:.0f} s")
    chance = f"most frequent label {preferences.chance:.3f}"
    print(f"  agrees with people (first, second, tie)   {shown(preferences.three_way)}; {chance}")
    print(f"  agrees where people prefer one            {shown(preferences.decided)}")
    print(f"  both orders name the same winner          {shown(preferences.consistent)}")
    print(f"  names the answer in the first place       {shown(preferences.first)}")
    print(f"  alpha of people among themselves          {shown(preferences.people)}")
    print(f"  pairs without a verdict {preferences.unknown}, without a majority of people {preferences.no_majority}")


if __name__ == "__main__":
    main()
