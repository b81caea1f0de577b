"""Errors in words: wrong, missing, repeated calls, wrong arguments and order, errors that nobody looked at.

Each names the step at which it was made, by its number among the calls, as tables and pages count them, and the
predictor that made it where that is known: feedback goes to the one that is to blame.
"""

from __future__ import annotations

import re
from dataclasses import replace

from goldassay.core.measure import Error, Review
from goldassay.core.steps import Step
from goldassay.measures.trajectories.matching import CallPair
from goldassay.text.words import json_text


def review(pair: CallPair) -> Review:
    """The errors of a pair in the order of its steps, and the calls that are right.

    >>> from goldassay.measures.trajectories.matching import CallComparison
    >>> from goldassay.measures.trajectories.records import reference, trajectory
    >>> gold = reference({"calls": [{"name": "search", "args": {"q": "Delft"}}, {"name": "read", "args": {"id": 7}}]})
    >>> pred = trajectory({"calls": [{"name": "search", "args": {"q": "Gouda"}}]})
    >>> errors, right = review(CallPair(gold, pred, CallComparison()))
    >>> [(error.kind, error.step, error.message) for error in errors]
    [('wrong_argument', 0, 'search: q is "Delft", not "Gouda".'), ('missing_call', 1, 'read(id=7) was not called.')]
    """
    if pair.trajectory.failure:
        return (Error("not_finished", f"the program failed: {pair.trajectory.failure}", field="trajectory"),), ()
    best = pair.best
    errors: list[Error] = []
    unassigned_gold = [i for i in range(len(best.gold)) if i not in best.by_name]
    unassigned_pred = [j for j in range(len(best.pred)) if j not in set(best.by_name.values())]
    for i, j in best.by_name.items():
        if i not in best.right:
            gold = best.gold[i]
            pred = best.pred[j]
            for name in pair.comparing.wrong_arguments(gold.name, gold.args, pred.args):
                if name not in gold.args:
                    message = f"{gold.name}: {name} was given as {json_text(pred.args[name])}, but it is not needed."
                elif name not in pred.args:
                    message = f"{gold.name}: {name} was left out: it is {json_text(gold.args[name])}."
                else:
                    message = f"{gold.name}: {name} is {json_text(gold.args[name])}, not {json_text(pred.args[name])}."
                errors.append(_error("wrong_argument", message, j, gold, pred, f"{gold.name}.{name}"))
    # what is left on both sides, in order, is a call of another tool in the place of gold's
    spare = [j for j in unassigned_pred if j not in pair.repeated]
    for i, j in zip(unassigned_gold, spare, strict=False):
        expected = best.gold[i]
        call = best.pred[j]
        message = f"{expected.name} was to be called, not {call.name}."
        errors.append(_error("wrong_tool", message, j, expected, call))
    for i in unassigned_gold[len(spare) :]:
        message = f"{in_words(best.gold[i])} was not called."
        step = min(i, len(best.pred)) if best.ordered else len(best.pred)
        errors.append(_error("missing_call", message, step, best.gold[i]))
    for j in unassigned_pred:
        call = best.pred[j]
        if j in pair.repeated:
            errors.append(_error("repeated_call", f"{in_words(call)} was called again.", j, None, call))
        elif j in spare[len(unassigned_gold) :]:
            errors.append(_error("spurious_call", f"{in_words(call)} was not needed.", j, None, call))
    if best.ordered and not best.keeps_order:
        first = min(best.first_wrong or 0, len(best.pred) - 1)
        order = ", ".join(best.gold[i].name for i in best.right)
        message = f"{'the' if best.any_order else 'some'} calls are right, their order is not: {order}."
        errors.append(_error("wrong_order", message, first, None, best.pred[first]))
    for j in pair.unrecovered:
        call = best.pred[j]
        # ReAct gets a traceback of a tool that failed: what was raised is at its end
        raised = re.findall(r"Traceback \(most recent call last\):\n(?:\s.*\n)+(\S.*)", call.error)
        reason = " ".join((raised[-1] if raised else call.error).split())[:80]
        message = f"{call.name} failed ({reason}), and the program went on without it."
        errors.append(_error("ignored_error", message, j, None, call))
    if not pair.trajectory.finished:
        message = f"the program stopped after {pair.trajectory.steps} steps without an end."
        errors.append(_error("not_finished", message, len(best.pred)))
    errors.sort(key=lambda error: error.step or 0)
    # what no call shows is due to the predictor that made the last one before
    makers = [call.predictor for call in best.pred if call.predictor] or [pair.trajectory.predictor]
    for number, error in enumerate(errors):
        before = [call.predictor for call in best.pred[: (error.step or 0) + 1] if call.predictor] or makers[:1]
        errors[number] = replace(error, predictor=error.predictor or before[-1])
    return tuple(errors), tuple(in_words(best.gold[i]) for i in best.right)


def _error(
    kind: str, message: str, step: int, gold: Step | None = None, pred: Step | None = None, field: str = "trajectory"
) -> Error:
    return Error(
        kind,
        message,
        gold=in_words(gold) if gold else "",
        pred=in_words(pred) if pred else "",
        gold_type=gold.name if gold else "",
        pred_type=pred.name if pred else "",
        field=field,
        step=step,
        predictor=pred.predictor if pred else "",
    )


def in_words(call: Step) -> str:
    """A call as a person writes it: ``search(query="Delft", n=3)``."""
    return f"{call.name}({', '.join(f'{name}={json_text(value)}' for name, value in call.args.items())})"
