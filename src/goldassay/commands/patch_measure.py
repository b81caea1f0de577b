"""``goldassay patch test``: patches measured against the program as it is, paired and corrected for their number."""

from __future__ import annotations

from typing import Any

from goldassay import workspace
from goldassay.commands.evaluate import language_model
from goldassay.commands.patch import current, find, fitting, place
from goldassay.exceptions import GoldassayError


def test(
    program: str, names: list[str], *, gold: str, split: str, lm: str | None, threads: int, any_version: bool = False
) -> None:
    """Measure patches on a split; the effect and the verdict are written into each file."""
    from goldassay.commands.evaluate import examples
    from goldassay.reporting import tuning as tables
    from goldassay.statistics import compare, holm
    from goldassay.tuning.patches import Effect, read, write
    from goldassay.tuning.racing import clusters, evaluated

    target = workspace.target(program)
    made, metric = current(target), workspace.metric(target.task)
    data = examples(gold, target.task, split).asked
    files = [find(target, name) for name in names] or sorted(place(target).glob("*.yaml"))
    if not files:
        raise GoldassayError(f"there are no patches in {place(target)}; goldassay patch propose makes some")
    patches = [read(file) for file in files]
    programs = [fitting(target, made, patch, any_version) for patch in patches]
    model = language_model(made, lm)
    options: dict[str, Any] = {"lm": model.lm, "adapter": model.adapter, "threads": threads, "folder": None}
    before = evaluated(made, data, metric, name="as it is", **options)
    errors = [row["error"] for row in before.rows if row.get("error")]
    if len(errors) == len(data):
        raise GoldassayError(f"the program failed on all {len(data)} examples; the first: {errors[0]}")
    for patch, patched in zip(patches, programs, strict=True):
        after = evaluated(patched, data, metric, name=patch.id, **options)
        found = compare(after.evidence, before.evidence, before.zero, clusters=clusters(data))
        effect = Effect(
            split=split,
            before=before.value,
            after=after.value,
            difference=found.difference,
            low=found.interval.low,
            high=found.interval.high,
            p=found.p,
            n=len(data),
            calls=int(after.cost.get("calls", 0)),
            tokens=int(after.cost.get("prompt_tokens", 0) + after.cost.get("completion_tokens", 0)),
            seconds=float(after.cost.get("seconds", 0.0)),
        )
        patch.effects = [*(e for e in patch.effects if e.split != split), effect]
    corrected = holm([patch.effects[-1].p for patch in patches])
    for file, patch, p in zip(files, patches, corrected, strict=True):
        better = patch.effects[-1].difference > 0 and p <= 0.05
        if patch.status != "applied":
            patch.status = "accepted" if better else "rejected"
        patch.reason = f"corrected p {p:.4f} on {split}"
        write(patch, file.parent)
    tables.patches([(file, read(file)) for file in files])
