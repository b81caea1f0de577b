"""Planted units: how often a verdict of ``goldassay explain`` is wrong, and how often an effect is found.

A prompt has ten statements: three useful, three useless, two harmful, and two that say the same. A scripted model obeys
the statements that it finds in its prompt. Each example belongs to one statement (or to none), and is answered rightly
if that statement is there (a useful one), is not there (a harmful one), or one of the two is there. So the true effects
are known: the share of examples of each kind. `World` draws outcomes without a model, by the same rule, so that many
sets are explained in minutes; the tests run the scripted model through DSPy.

``python -m benchmarks.explain --draws 500`` makes the table of docs/how-to/explain.md.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from goldassay.tuning.explain import Ablation
from goldassay.tuning.units import Unit, UnitVerdict

USEFUL = ("Numbers of four digits are years.", "Museums are places.", "A name begins with a capital letter.")
USELESS = ("Take a deep breath.", "You are a world-class expert.", "Think about what matters.")
HARMFUL = ("Answer in capital letters.", "If in doubt, leave it out.")
REDUNDANT = ("Give the label in English.", "Write every label as an English word.")
LINES = (*USEFUL, *USELESS, *HARMFUL, *REDUNDANT)
KINDS = ("useful",) * 3 + ("useless",) * 3 + ("harmful",) * 2 + ("redundant",) * 2
PAIR = (8, 9)
EASY = 0.7  # of the examples that belong to no statement, those that are answered rightly
CHURN = 0.1  # of these, those that are answered anew whenever the prompt changes, as models do


def right(kind: int, present: Sequence[bool], easy: bool) -> bool:
    """Whether an example is answered rightly: ``kind`` is the statement that it belongs to, −1 for none."""
    if kind in PAIR:
        return present[8] or present[9]
    if kind < 0:
        return easy
    return present[kind] if kind < len(USEFUL) else not present[kind]


@dataclass(frozen=True)
class World:
    """Examples of a prompt whose useful, harmful and redundant statements have an effect of this size each."""

    size: float
    n: int
    seed: int

    def kinds(self) -> list[int]:
        """The statement of each example."""
        draw = random.Random(self.seed)
        active = [0, 1, 2, 6, 7, 8]
        shares = [self.size] * len(active)
        return draw.choices([*active, -1], [*shares, 1 - sum(shares)], k=self.n)

    def ablation(self, **how: Any) -> Ablation:
        """The outcomes of the prompt without any set of its statements."""
        kinds = self.kinds()
        whole = np.random.default_rng([self.seed, len(LINES) + 1]).random(self.n) < EASY

        @cache
        def every(removed: frozenset[int]) -> list[float]:
            draw = np.random.default_rng([self.seed, *(index + 1 for index in sorted(removed))])
            churned = (draw.random(self.n) < CHURN) & bool(removed)
            easy = np.where(churned, draw.random(self.n) < EASY, whole)
            present = [index not in removed for index in range(len(LINES))]
            return [float(right(kind, present, bool(is_easy))) for kind, is_easy in zip(kinds, easy, strict=True)]

        def measure(removed: frozenset[int], positions: range) -> list[float]:
            return every(removed)[positions.start : positions.stop]

        return Ablation(measure, self.n, **how)


class Obedient:
    """An engine of ``dspy.LM`` that answers with the true label if the statements of its prompt let it."""

    def complete(self, request: Any) -> Any:
        """The answer to a request."""
        from dspy.lm15 import Message, Response, TextPart, Usage

        turn = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)][-1]
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        _, kind, easy, label = re.findall(r"item (\d+) (-?\d+) (\w+) (\w+)", turn)[-1]
        present = [line in system for line in LINES]
        answer = label if right(int(kind), present, easy == "easy") else "other"
        parts = [TextPart(f"[[ ## label ## ]]\n{answer}\n\n[[ ## completed ## ]]")]
        usage = Usage(input_tokens=len(system.split()), output_tokens=1, total_tokens=len(system.split()) + 1)
        message = Message.assistant(parts)
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


def examples(world: World) -> list[Any]:
    """The examples of a world for `Obedient`, whose texts say what they belong to."""
    import dspy

    rows = []
    for index, kind in enumerate(world.kinds()):
        text = f"item {index} {kind} {'easy' if index % 10 < 7 else 'hard'} {'yes' if index % 2 else 'no'}"
        rows.append(dspy.Example(id=str(index), text=text, label=text.split()[-1]).with_inputs("text"))
    return rows


def wrong(kind: str, verdict: UnitVerdict, size: float, bound: float) -> bool:
    """Whether a verdict on a statement of this kind is false."""
    truth = {"useful": size, "harmful": -size}.get(kind, 0.0)
    if verdict == UnitVerdict.HELPS:
        return truth <= 0
    if verdict == UnitVerdict.HURTS:
        return truth >= 0
    return verdict == UnitVerdict.NOTHING and abs(truth) > bound


def simulate(size: float, n: int, draws: int, budget: bool = False) -> dict[str, float]:
    """Rates over draws: of sets with any false verdict of a kind, and of the statements whose effect is found.

    Under a budget the examples are 4 n, and the runs those of 10 statements and the whole on n of them.
    """
    counts = Counter[str]()
    statements = [Unit(text, "sentence", "self", i, 8) for i, text in enumerate(LINES)]
    for seed in range(draws):
        ablation = World(size, 4 * n if budget else n, seed).ablation(resamples=2000, seed=seed)
        if budget:
            spent = 0
            last = len(LINES), 0

            def affordable(count: int, seen: int) -> int:
                nonlocal spent, last
                spent += (seen - last[1]) * (last[0] + 1)
                last = count, seen
                return seen + ((len(LINES) + 1) * n - spent) // (count + 1)

            ablation, units = ablation.looked(statements, affordable)
            counts["examples"] += ablation.n
        else:
            units = ablation.judged(statements)
        errors = {
            unit.verdict.value
            for kind, unit in zip(KINDS, units, strict=True)
            if wrong(kind, unit.verdict, size, max(-unit.low, unit.high))
        }
        counts.update(f"false {name}" for name in errors)
        for kind, unit in zip(KINDS, units, strict=True):
            counts[f"{kind} {unit.verdict}"] += 1
        groups = [group.units for group in ablation.groups(units)]
        counts["pair"] += PAIR in groups
        counts["false group"] += any(not set(group) & {0, 1, 2} and group != PAIR for group in groups)
    sizes = Counter(KINDS)
    rates = {name: counts[name] / draws for name in ("false helps", "false hurts", "false nothing", "false group")}
    rates |= {f"{kind} {v}": counts[f"{kind} {v}"] / draws / sizes[kind] for kind in sizes for v in UnitVerdict}
    return rates | {"pair": counts["pair"] / draws, "examples": counts["examples"] / draws}
