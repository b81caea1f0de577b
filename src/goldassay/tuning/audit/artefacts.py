"""What makes a gain look larger than it is: leaks into the prompt, a metric without room, failures of one side.

A leak undoes a verdict: a gain on examples that the prompt shows says nothing about other examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import dspy
import numpy as np

from goldassay._dspy_compat import input_keys
from goldassay.exceptions import GoldassayError, LeakError
from goldassay.fields import clusters, identity, names
from goldassay.running.leaks import check_examples, find_leaks, leak_warning, text_of
from goldassay.statistics.evidence import Floats
from goldassay.tuning.audit.results import Result

SATURATED = 0.98  # of the largest score


def attach(result: Result, gold: Sequence[object], ids: Sequence[str]) -> list[object]:
    """The gold of the scored examples, by their ids or else in their order; texts and documents go to the result.

    Raises:
        GoldassayError: It is other gold.
    """
    by_id = {identity(example, index): example for index, example in enumerate(gold)}
    if set(ids) <= set(by_id):
        examples = [by_id[key] for key in ids]
    elif len(gold) == len(ids):
        examples = list(gold)
    else:
        raise GoldassayError(
            f"the gold has {len(gold)} examples, and {len(ids)} were scored; name the validation examples"
        )
    result.texts = {key: text_of(example) for key, example in zip(ids, examples, strict=True)}
    if groups := clusters(examples):
        result.documents = {key: group for key, group in zip(ids, groups, strict=True) if isinstance(group, str)}
    return examples


def leaks(result: Result, examples: Sequence[Any], train: Sequence[Any] = ()) -> list[str]:
    """Where the chosen program's prompts hold the examples that it was measured on, or train does."""
    texts = [{"id": key, "text": text} for key, text in result.texts.items()]
    gold: list[Any] = list(examples) or texts
    messages = []
    if result.state and gold:
        keys = input_keys(gold[0]) or [key for key in names(gold[0]) if key != "id"]
        warning = leak_warning(find_leaks(_stand_in(result.state, keys), gold), gold)
        messages += [warning] if warning else []
    if train:
        try:
            check_examples(train, {"validation": gold})
        except LeakError as error:
            messages.append(f"train stands in validation: {error}")
    return messages


def _stand_in(state: Mapping[str, Any], keys: Iterable[str]) -> dspy.Module:
    """A program with the instructions and demonstrations of a saved state, whatever its class was."""
    program: Any = dspy.Module()
    for index, part in enumerate(_predictors(state)):
        instructions = str((part.get("signature") or {}).get("instructions") or "")
        signature: Any = dspy.Signature
        predictor = dspy.Predict(signature(f"{', '.join(keys)} -> goldassay_output", instructions))
        predictor.demos = [dspy.Example(**demo) for demo in part["demos"] if isinstance(demo, dict)]
        setattr(program, f"predictor_{index}", predictor)
    return program  # type: ignore[no-any-return]


def _predictors(state: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(state, Mapping):
        if isinstance(state.get("demos"), list):
            yield state
        else:
            for part in state.values():
                yield from _predictors(part)


def of_scores(scores: Floats, names: Sequence[str], chosen: int, repeats: int = 0) -> list[str]:
    """What the scores themselves give away.

    Args:
        scores: A row an example, a column a candidate, the baseline first; NaN for an example that failed.
        names: The candidates.
        chosen: The column of the chosen candidate.
        repeats: How many scores were averaged into others of the same example.

    >>> of_scores(np.array([[1.0, 1.0], [1.0, 1.0]]), ["before", "after"], 1)
    ['the metric is constant: every score is 1, so it cannot show a difference']
    """
    notes = []
    failed = np.isnan(scores)
    values = np.where(failed, 0.0, scores)
    low, high = float(values.min()), float(values.max())
    if low == high:
        notes.append(f"the metric is constant: every score is {low:g}, so it cannot show a difference")
    elif values[:, 0].mean() >= SATURATED * max(high, 1.0):
        notes.append(f"the metric is saturated: {names[0]} has {values[:, 0].mean():.3f} already, so there is no room")
    counts = failed[:, 0].sum(), failed[:, chosen].sum()
    if (counts[0] == 0) != (counts[1] == 0):
        side = names[0] if counts[0] else names[chosen]
        notes.append(
            f"only {side} failed ({max(counts)} of {len(scores)} examples, scored 0): mend that and measure again"
        )
    if repeats:
        notes.append(
            f"{repeats} repeated scores of the same example count once, by their mean; cached answers add nothing"
        )
    return notes
