"""``goldassay patch test``: patches measured against the program as it is, paired and corrected for their number.

A patch that is applied already is measured against the program without it. Dev chooses; test may confirm what dev
accepted, or take it back, but it accepts nothing that dev rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from goldassay import workspace
from goldassay.cli.patch_commands import current, find, fitting, place
from goldassay.cli.patch_state import applied, built
from goldassay.exceptions import GoldassayError
from goldassay.lm import for_program

if TYPE_CHECKING:
    from goldassay.running import Run
    from goldassay.tuning.patch_files import Effect, Patch


def test(
    program: str, names: list[str], *, gold: str, split: str, lm: str | None, threads: int, any_version: bool = False
) -> None:
    """Measure patches on a split; the effect and the verdict are written into each file."""
    from goldassay.cli.evaluate import examples
    from goldassay.reporting import tuning as tables
    from goldassay.statistics import holm
    from goldassay.tuning.leaks import check_patch
    from goldassay.tuning.patch_files import read, read_all, rewrite
    from goldassay.tuning.racing import clusters, evaluated, failure

    if split not in ("dev", "test"):
        raise GoldassayError(f"patches are measured on dev, and on test for the final proof, not on {split}")
    target = workspace.target(program)
    made, metric = current(target), workspace.metric(target.task)
    data = examples(gold, target.task, split)
    files = [find(target, name) for name in names] or [file for file, _ in read_all(place(target))]
    if not files:
        raise GoldassayError(f"there are no patches in {place(target)}; goldassay patch propose makes some")
    patches = [read(file) for file in files]
    for patch in patches:
        check_patch(patch, {split: data.asked})
    on = applied(place(target))
    others = [
        built(target, [one for one in on if one != patch.id])
        if patch.id in on
        else fitting(target, made, patch, any_version)
        for patch in patches
    ]
    model = for_program(made, lm)

    def run(program: Any, name: str) -> Run:
        searching = program.index(data.passages) if data.passages and hasattr(program, "index") else program
        options: dict[str, Any] = {"lm": model.lm, "adapter": model.adapter, "threads": threads, "folder": None}
        return evaluated(searching, data.asked, metric, name=name, **options)

    base = run(made.deepcopy(), "as it is")
    if failure(base):
        raise GoldassayError(f"the program {failure(base)}")
    measured = []
    for patch, other in zip(patches, others, strict=True):
        found = run(other, patch.id)
        patch.effects = [effect for effect in patch.effects if effect.split != split]
        if failure(found):
            patch.reason = f"not available on {split}: the program {failure(found)}"
            continue
        before, after = (found, base) if patch.id in on else (base, found)
        patch.effects.append(_effect(before, after, found.cost, split, clusters(data.asked)))
        measured.append(patch)
    for patch, p in zip(measured, holm([patch.effects[-1].p for patch in measured]), strict=True):
        _judge(patch, p, split)
    for file, patch in zip(files, patches, strict=True):
        rewrite(patch, file)
    tables.patches(list(zip(files, patches, strict=True)))


def _effect(before: Run, after: Run, cost: dict[str, Any], split: str, clusters: Sequence[Any] | None) -> Effect:
    """The paired difference of two runs on a split, and what measuring it cost."""
    from goldassay.statistics import compare
    from goldassay.tuning.patch_files import Effect

    found = compare(after.evidence, before.evidence, before.zero, clusters=clusters)
    return Effect(
        split=split,
        before=before.value,
        after=after.value,
        difference=found.difference,
        low=found.interval.low,
        high=found.interval.high,
        p=found.p,
        n=len(after.rows),
        calls=int(cost.get("calls", 0)),
        tokens=int(cost.get("prompt_tokens", 0) + cost.get("completion_tokens", 0)),
        seconds=float(cost.get("seconds", 0.0)),
    )


def _judge(patch: Patch, p: float, split: str) -> None:
    """Accepted or rejected; what dev rejected, test does not accept."""
    patch.reason = f"corrected p {p:.4f} on {split}"
    if patch.status == "applied":
        return
    better = patch.effects[-1].difference > 0 and p <= 0.05
    if better and split == "test" and patch.status == "rejected":
        patch.reason += ", but rejected on dev"
    else:
        patch.status = "accepted" if better else "rejected"
