"""``Patches``: an optimizer that patches prompts from their errors, in bundles, and says what it could prove.

The order of a campaign is fixed, and what moves models most comes first (see docs/how-to/tuning.md): the nearest
demonstrations for each input; a few that are the same for all, chosen in a race; the other form of the answer; the
demonstrations that cover the most costly errors; edits in words; the whole instruction as a model writes it. With a
reviewer's notes the edits made from these are first.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import dspy
from dspy import Example, Module

from goldassay._support.dspy_compat import Teleprompter
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.metric import AnyMetric
from goldassay.tuning import instructions
from goldassay.tuning.campaign import Campaign, PatchOptions
from goldassay.tuning.edits import Edit, counter_example, covering, nearest_examples, selected_examples
from goldassay.tuning.patches import Ledger


def strongest_first(nearest: int = 4, reflection_lm: dspy.BaseLM | None = None) -> list[list[Edit]]:
    """The bundles in the order in which they are tested; no result changes it."""
    phrases: list[Edit] = [
        partial(instructions.rules, patterns=3, each=1),
        partial(instructions.tool_descriptions, patterns=3),
        instructions.definitions,
        instructions.list_length,
    ]
    if reflection_lm is not None:
        phrases.insert(0, partial(instructions.reflection, lm=reflection_lm, patterns=2, each=1))
    sets: list[list[Edit]] = [[partial(nearest_examples, k=nearest)], [partial(selected_examples, k=nearest)]]
    bundles: list[list[Edit]] = [
        *(sets if nearest else []),
        [instructions.answer_form],
        [covering, counter_example],
        phrases,
    ]
    if reflection_lm is not None:
        bundles.append([partial(instructions.rewritten, lm=reflection_lm)])
    return bundles


class Patches(Teleprompter):  # type: ignore[misc]
    """Patch a program's prompts from its errors.

    Args:
        metric: a `goldassay.Metric`, or any function of (gold, prediction) that DSPy takes.
        options: `PatchOptions`; ``changes`` replace fields of it.

    After `compile`, ``ledger`` holds every edit with its effect and verdict, the patterns, and ``ledger.verdict``.
    """

    def __init__(self, metric: AnyMetric, options: PatchOptions | None = None, **changes: Any) -> None:
        super().__init__()
        self.metric = metric
        self.options = replace(options or PatchOptions(), **changes)
        default = strongest_first(self.options.nearest, self.options.reflection_lm)
        if self.options.notes is not None:
            default.insert(0, self.options.notes.edits(self.options.reflection_lm))
        self.bundles = [list(bundle) for bundle in self.options.bundles or default]
        self.ledger = Ledger()

    def compile(
        self,
        student: Module,
        *,
        trainset: list[Example],
        valset: list[Example] | None = None,
        **_: object,
    ) -> Module:
        """The student with the edits that are kept; without ``valset`` everything is learnt from ``trainset``.

        Raises:
            DataError: There are no train examples, or too few examples to show anything.
            GoldassayError: The program has no predictor.
        """
        if not trainset:
            raise DataError("patching needs train examples to learn from")
        if not student.named_predictors():
            raise GoldassayError("this program has no predictor, so there is no prompt to patch")
        self.ledger = Ledger()
        campaign = Campaign(student, self.metric, self.bundles, self.options, self.ledger, trainset, list(valset or []))
        try:
            return campaign.run()
        finally:
            campaign.close()
