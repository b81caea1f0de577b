"""The shortest prompt: the program without as many units as dev allows, blocks first, proven once on test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dspy import Module

from goldassay._support.display import Displayed
from goldassay._support.dspy_compat import serialize_for_json, signature_of
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields
from goldassay.core.metric import AnyMetric
from goldassay.results.view import Sentence, Table, View, signed
from goldassay.running.hashing import fingerprint
from goldassay.running.options import RunOptions
from goldassay.tuning.acceptance import Effect, Status
from goldassay.tuning.explain import Explanation
from goldassay.tuning.measuring import QUIET_OPTIONS, Bench, effect
from goldassay.tuning.patches import Patch
from goldassay.tuning.units import UnitVerdict, omit, short
from goldassay.tuning.wrappers import Examples, Wrapped, predictors


@dataclass(frozen=True, repr=False)
class Pruned(Displayed):
    """The shortest prompt that dev allows: ``program``, and the patches that make it; what test says of it, once.

    On dev, which chose it, the difference has no interval. It is proven if test shows that it is worse by no more than
    the margin.
    """

    program: Module
    patches: list[Patch]
    tokens: tuple[int, int]
    margin: float
    dev: Effect
    test: Effect | None = None

    @property
    def proven(self) -> bool:
        """Whether test shows that nothing larger than the margin is lost."""
        return self.test is not None and (self.test.low or 0.0) >= -self.margin

    @property
    def sentence(self) -> str:
        """The result in one line."""
        before, after = self.tokens
        if not self.patches:
            return f"Nothing can go: without any of {before} tokens dev is worse by more than half of {self.margin:g}."
        saved = f"{before} tokens become {after} ({(after - before) / before:+.0%}), dev {self.dev.difference:+z.3f}"
        if self.test is None:
            return f"{saved}, not tested."
        verdict = f"{'proven' if self.proven else 'not proven'} to lose no more than {self.margin:g}"
        return f"{saved}, test {signed(self.test.difference, self.test)}: {verdict}."

    def __repr__(self) -> str:
        return f"Pruned({self.sentence!r})"

    def view(self) -> View:
        """The sentence, and the patches."""
        rows = [[patch.id, patch.action, str(patch.status), patch.reason] for patch in self.patches]
        return [Sentence(self.sentence, "head"), Table(None, ["patch", "action", "status", "why"], rows, left=4)]

    def state(self) -> Fields:
        """As JSON."""
        return {
            "sentence": self.sentence,
            "tokens": {"before": self.tokens[0], "after": self.tokens[1]},
            "margin": self.margin,
            "dev": self.dev.model_dump(),
            "test": self.test.model_dump() if self.test else None,
            "proven": self.proven,
            "patches": [patch.model_dump(mode="json", exclude_none=True) for patch in self.patches],
        }


def prune(
    program: Module,
    explanation: Explanation,
    gold: Examples,
    metric: AnyMetric,
    test: Examples = (),
    options: RunOptions | None = None,
    **changes: Any,
) -> Pruned:
    """The program without the units that dev can spare, proven once on test.

    Units that are shown to help stay. The harmful ones are left out first, then the others in blocks, the least helpful
    first; a block without which dev is worse than the best so far by more than half the margin is halved.

    Args:
        program: The program that was explained.
        explanation: What its units are worth on dev.
        gold: The examples of dev.
        metric: A `Metric`, or any function of (gold, prediction).
        test: Held-out examples.
        options: How the program is run.
        changes: Fields of the options to change.

    Raises:
        GoldassayError: The explanation is of another program.
    """
    ablation = explanation.ablation
    units = explanation.units
    if ablation is None or explanation.program != fingerprint(program):
        raise GoldassayError("this explanation is of another version of the program; explain it again")
    use = (options or QUIET_OPTIONS).changed(**changes).resolved()
    harmful = [index for index, unit in enumerate(units) if unit.verdict == UnitVerdict.HURTS]
    spare = [i for i, unit in enumerate(units) if unit.verdict in (UnitVerdict.NOTHING, UnitVerdict.OPEN)]
    shed: list[int] = []
    best = 0.0
    for block in filter(None, (harmful, sorted(spare, key=lambda index: units[index].effect))):
        shed, best = ablation.shed(block, shed, best)
    removed = frozenset(shed)
    pruned = omit(program, units, removed)
    before = sum(unit.tokens for unit in units)
    tokens = before, before - sum(units[index].tokens for index in removed)
    loss = ablation.without(sorted(removed))
    dev = Effect(split="dev", difference=-loss.difference, p=loss.p, n=loss.n, chosen=True)
    # what leaves units out: a patch for each instruction and demonstration, one for examples that all predictors show
    patches: list[Patch] = []
    after = predictors(pruned)
    about: Fields = {"proposer": "explain", "program": fingerprint(program)}
    for name, predictor in predictors(program).items():
        old = signature_of(predictor).instructions
        new = signature_of(after[name]).instructions
        gone = [units[index] for index in sorted(removed) if units[index].predictor == name]
        if old != new:
            text = f"dev can spare: {'; '.join(short(unit.text, 60) for unit in gone)}"
            edit: Fields = {"action": "replace_instruction", "old": old, "text": new, "rationale": text}
            patches.append(Patch(predictor=name, **edit, **about))
        for unit in gone:
            if unit.kind == "demonstration":
                demo = serialize_for_json(dict(predictor.demos[unit.index]))
                patches.append(Patch(predictor=name, action="remove_example", example=demo, **about))
    gone = [units[index] for index in sorted(removed) if units[index].kind == "example"]
    if gone and isinstance(pruned, Wrapped):
        nearest = {"k": pruned.k, "keys": pruned.keys, "examples": serialize_for_json(pruned.examples)}
        text = f"dev can spare: {'; '.join(short(unit.text, 60) for unit in gone)}"
        first = next(iter(after))
        patches.append(Patch(predictor=first, action="show_nearest", example=nearest, rationale=text, **about))
    proof = None
    if test and patches:
        bench = Bench(test, metric, options=use.changed(progress=False, max_failures=1.0, folder=None, budget=None))
        after_cases = bench.base(pruned).cases
        proof = effect(after_cases, bench.base(program).cases, test, "test", bench.cost, zero=bench.zero)
    result = Pruned(pruned, patches, tokens, explanation.margin, dev, proof)
    alone = len(patches) == 1
    for patch in patches:
        patch.effects = [dev] if proof is None else [dev, proof]
        patch.status = Status.PROVEN if result.proven and alone else Status.KEPT
        patch.reason = "proven" if result.proven else "not proven"
        patch.reason += f" to lose no more than {explanation.margin:g}{'' if alone else ', with the others'}"
    return result
