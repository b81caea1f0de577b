"""When GEPA may keep a proposal: a paired test on the minibatch instead of a bare comparison of sums.

What `goldassay.tune` adds to GEPA: selection on the corpus value, and going on safely where a tuning stopped.

GEPA picks its best candidate by the mean of the examples' scores; a corpus value such as micro-F1 is not that mean.
`CorpusPolicy` picks by the value that DSPy's ``Evaluate`` reported for the candidate on the whole dev split.

GEPA keeps its state in ``gepa/gepa_state.bin``, a pickle. `check_state` reads it with an unpickler that knows no class
but plain containers, so that a file from elsewhere is refused before anything in it can run.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gepa.strategies.eval_policy import FullEvaluationPolicy

from goldassay import jsonl
from goldassay._dspy_compat import signature_of
from goldassay.exceptions import DataError

if TYPE_CHECKING:
    import dspy
    from gepa.core.data_loader import DataLoader
    from gepa.proposer.base import CandidateProposal


def sign_flip_p(before: Sequence[float], after: Sequence[float]) -> float:
    """The one-sided exact sign-flip p-value of the paired differences; 1.0 when none differs.

    All 2^n signs are tried (n is a minibatch, at most 16 differing pairs; beyond that the first 16 decide).

    >>> sign_flip_p([0, 0, 0, 0], [1, 1, 1, 1])     # 1 of 16 sign patterns is as good
    0.0625
    >>> sign_flip_p([0.5, 0.5], [0.5, 0.5])
    1.0
    """
    differences = [y - x for x, y in zip(before, after, strict=True) if y != x][:16]
    if not differences:
        return 1.0
    seen = sum(differences)
    sizes = [abs(d) for d in differences]
    as_good = sum(
        sum(s * d for s, d in zip(signs, sizes, strict=True)) >= seen - 1e-12
        for signs in product((1, -1), repeat=len(sizes))
    )
    return float(as_good / 2 ** len(sizes))


class PairedAcceptance:
    """Accepts a proposal when the minibatch speaks for it: sign-flip p at most ``alpha`` (one-sided).

    The level is loose by intent: a minibatch only decides whether a candidate is worth an evaluation on the whole dev
    split, where it is chosen; the proof of the result is the paired test of `goldassay.tune` on dev and test.
    """

    def __init__(self, alpha: float = 0.25) -> None:
        self.alpha = alpha

    def should_accept(self, proposal: Any, state: object) -> bool:
        """Called by GEPA with the proposal's scores on the minibatch before and after."""
        before, after = proposal.subsample_scores_before or [], proposal.subsample_scores_after or []
        return (
            len(before) == len(after) and sign_flip_p(list(map(float, before)), list(map(float, after))) <= self.alpha
        )

    def reject_reason(self, proposal: CandidateProposal[Any], state: object) -> str:
        """For GEPA's log."""
        return f"the paired difference on the minibatch is not shown at {self.alpha:g}"


STATE = "gepa_state.bin"
PLAIN = {("builtins", name) for name in ("set", "frozenset", "dict", "list", "tuple", "int", "float", "str")}


class CorpusPolicy(FullEvaluationPolicy[Any, Any]):  # type: ignore[misc]
    """GEPA's candidates by their corpus value on dev; those without one by the mean of their examples' scores.

    ``kept`` gives the instructions that were evaluated on dev so far with their values; ``file`` keeps the candidates'
    values, for a tuning that goes on later.
    """

    def __init__(self, kept: Callable[[], list[tuple[dict[str, str], float]]], file: Path | None = None) -> None:
        self.kept, self.file = kept, file
        self.values: dict[str, tuple[dict[str, str], float]] = {}
        for candidate, value in read(file) if file is not None and file.is_file() else []:
            self.values[_key(candidate)] = candidate, value

    def get_seed_eval_batch(self, loader: DataLoader[Any, Any]) -> list[object]:
        """What the program as it is is evaluated on at the start: dev, or (GEPA wants some) one example to go on."""
        known = list(loader.all_ids())
        return known[:1] if self.file is not None and (self.file.parent / STATE).is_file() else known

    def get_best_program(self, state: Any) -> int:
        """The candidate of the highest value; the first of equals."""
        self.hear()
        scores = [self.get_valset_score(index, state) for index in range(len(state.program_candidates))]
        return max(range(len(scores)), key=lambda index: (scores[index], -index))

    def get_valset_score(self, program_idx: int, state: Any) -> float:
        """The candidate's corpus value on dev."""
        self.hear()
        found = self.values.get(_key(state.program_candidates[program_idx]))
        return float(super().get_valset_score(program_idx, state)) if found is None else found[1]

    def hear(self) -> None:
        """Take the values that became known, and keep them in the file."""
        before = len(self.values)
        for candidate, value in self.kept():
            self.values[_key(candidate)] = candidate, value
        if self.file is not None and len(self.values) > before:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(list(self.values.values()), ensure_ascii=False, indent=1), encoding="utf-8")


def with_instructions(program: dspy.Module, candidate: dict[str, str]) -> dspy.Module:
    """A copy of the program with a candidate's instructions."""
    copy = program.deepcopy()
    for name, predictor in copy.named_predictors():
        if name in candidate:
            predictor.signature = signature_of(predictor).with_instructions(candidate[name])
    return copy


def read(file: Path) -> list[tuple[dict[str, str], float]]:
    """The candidates and values of an earlier part of this tuning."""
    try:
        return [(dict(candidate), float(value)) for candidate, value in jsonl.value(file.read_bytes(), file=file)]
    except (ValueError, TypeError) as error:
        raise DataError(f"not the values of GEPA's candidates: {error}", file=file) from None


def check_state(folder: Path) -> bool:
    """Whether GEPA's state is there; a DataError if it holds anything but plain data."""
    file = folder / STATE
    if not file.is_file():
        return False
    try:
        with file.open("rb") as stream:
            _Plain(stream).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, ValueError) as error:
        raise DataError(f"not the state of a GEPA tuning: {error}", file=file) from None
    return True


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in PLAIN:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it holds {module}.{name}, and only plain data is read")


def _key(candidate: dict[str, str]) -> str:
    return json.dumps(sorted(candidate.items()))
