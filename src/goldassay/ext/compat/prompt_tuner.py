"""``PromptTuner``: from a run's errors to a report with patterns and prompt patches, each with its measured lift.

The report has the fields of the first specification: ``false_positive_patterns``, ``false_negative_patterns`` and
``prompt_patches``. A false negative is a missed answer; a false positive is any wrong answer, a wrong type or boundary
among them. In place of an estimated gain a patch has the effect that was measured on dev, with its interval and p
(corrected for the number of patches by Holm), or none if it was not measured.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from goldassay._support import files
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import JsonObject
from goldassay.core.metric import AnyMetric
from goldassay.running import Run
from goldassay.tuning.edits import Diagnosis, Edit, propose_patches
from goldassay.tuning.measuring import QUIET_OPTIONS
from goldassay.tuning.patches import Patch, apply, check_patch
from goldassay.tuning.patterns import Pattern, find
from goldassay.tuning.service import WORD_EDITS, check_train, measure
from goldassay.tuning.wrappers import Examples, demonstrations

if TYPE_CHECKING:
    from dspy import Module

MISSED = "missed"


@dataclass(frozen=True)
class TuningReport:
    """Patterns of errors and patches that may fix them, most costly first.

    >>> from goldassay.tuning.patches import Patch
    >>> TuningReport([], [], [Patch(predictor="extract", action="add_instruction", text="Be brief.")]).state()[
    ...     "prompt_patches"
    ... ][0]["measured_lift"] is None
    True
    """

    false_positive_patterns: list[Pattern]
    false_negative_patterns: list[Pattern]
    prompt_patches: list[Patch]
    corrected: dict[str, float] = field(default_factory=dict)
    """The corrected p of each measured patch, by its id."""

    def state(self) -> JsonObject:
        """As JSON."""
        patches = []
        for patch in self.prompt_patches:
            lift = patch.effects[-1].model_dump() if patch.effects else None
            if lift is not None:
                lift["corrected_p"] = self.corrected.get(patch.id)
            body = patch.model_dump(exclude_none=True, exclude={"effects"})
            patches.append({"id": patch.id, "section": patch.section, **body, "measured_lift": lift})
        return {
            "false_positive_patterns": [pattern.reported() for pattern in self.false_positive_patterns],
            "false_negative_patterns": [pattern.reported() for pattern in self.false_negative_patterns],
            "prompt_patches": patches,
        }

    def save(self, file: Path) -> Path:
        """Write the report; the parent folders are made."""
        files.save(file, f"{json.dumps(self.state(), ensure_ascii=False, indent=1)}\n")
        return file


class PromptTuner:
    """Analyses runs of ``program`` on ``train``, proposes patches, and measures them on dev.

    ``analyse`` reads a run that was made already and calls no model (unless an edit does); ``measure`` runs each
    patched program on dev. Patches are only proposed and measured here; `Patches` accepts and combines them.
    """

    def __init__(self, program: Module, train: Examples, *, edits: Sequence[Edit] = WORD_EDITS, most: int = 12) -> None:
        self.program = program
        self.train = demonstrations(program, train)
        self.most = most
        self.edits = list(edits)

    def analyse(self, run: Run) -> TuningReport:
        """The patterns of a run on train, and patches for them: at most ``most``, each edit once."""
        check_train(run.cases, self.train)
        patterns = find(run.cases) if run.rows else []
        patches = propose_patches(Diagnosis(patterns, self.program, self.train), self.edits, self.most)
        return TuningReport(
            [pattern for pattern in patterns if pattern.kind != MISSED],
            [pattern for pattern in patterns if pattern.kind == MISSED],
            patches,
        )

    def measure(self, report: TuningReport, dev: Examples, metric: AnyMetric, *, threads: int = 1) -> TuningReport:
        """The report with every patch measured on dev, each alone and paired."""
        patches = [patch.model_copy(deep=True) for patch in report.prompt_patches]
        candidates: list[tuple[Patch, Module]] = []
        for patch in patches:
            try:
                check_patch(patch, {"dev": dev})
                candidates.append((patch, apply(self.program, patch)))
            except GoldassayError as error:  # it copies dev, or does not fit: the others are measured all the same
                patch.reject(str(error))
        adjusted = measure(self.program, candidates, dev, metric, "dev", QUIET_OPTIONS.changed(threads=threads))
        return TuningReport(report.false_positive_patterns, report.false_negative_patterns, patches, adjusted)
