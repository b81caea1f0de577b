"""``goldassay audit``: did an optimizer help? From what it left, or by running two programs on fresh examples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError
from goldassay.reporting import terminal

if TYPE_CHECKING:
    from goldassay.running import Run
    from goldassay.tuning.verdict import Audit


@dataclass(frozen=True)
class AuditOptions(use.GoldOptions):
    """What is audited, and what becomes of the verdict."""

    split: str | None = use.for_gold("NAME", "The split of --gold (default: test with --program, else dev).")
    program: str | None = use.for_model("TASK|FILE", "The program whose saved states are run on --gold.")
    baseline: str | None = use.for_gold("NAME", "The candidate that was there before.")
    threads: use.Threads = 1
    repeats: use.Repeats = 1
    resume: use.Resume = None
    out: Path | None = use.for_result("FILE", "Write the verdict as an HTML page here.")
    fail_unless_better: bool = use.flag("--fail-unless-better", 'Exit with status 1 unless the verdict is "helped".')


def audit(
    results: Annotated[
        list[Path],
        use.argument(
            "RESULT... | [BEFORE] AFTER --program FILE",
            "What an optimizer left (goldassay.audit.save, GEPA's to_dict(), a tuning folder, a CSV "
            "example,candidate,score); two or more runs or files of dspy.Evaluate, the baseline first; or the saved "
            "states of a program.",
        ),
    ],
    options: AuditOptions,
    models: use.ModelOptions,
    force: bool = False,
    json: bool = False,
    seed: int = 0,
) -> None:
    """Did the optimizer help? The gain corrected for luck, leaks, and what would settle it."""
    from goldassay.reporting import tuning as tables

    use.new_place(options.out, force)
    audit, runs = _proven(results, options, models, seed) if options.program else (_audited(results, options), [])
    if options.out is not None:
        from goldassay.files import save
        from goldassay.reporting.pages import report

        save(options.out, report(runs, audit=audit, title="Did the optimizer help?"))
    terminal.output(audit, json, tables.audit)
    if options.fail_unless_better and not audit.better:
        raise SystemExit(1)


def _audited(results: list[Path], options: AuditOptions) -> Audit:
    """The verdict on what is there."""
    from goldassay.tuning.audit import audit

    gold: dict[str, Any] = {}
    if options.gold:
        from goldassay.gold import load

        source = load(options.gold, task=options.task, **options.reading())
        part = source.task(options.task or next(iter(source.tasks)))
        chosen = part.split(options.split or "dev") if part.splits else part.all
        gold = {"gold": list(chosen[: options.limit]), "train": list(part.train) if "train" in part.splits else []}
    return audit(results[0], *results[1:], baseline=options.baseline, **gold)


def _proven(results: list[Path], options: AuditOptions, models: use.ModelOptions, seed: int) -> tuple[Audit, list[Run]]:
    """The verdict on two states of a program, run once on fresh examples, and the runs."""
    from goldassay.cli.evaluate import examples, prepared, run_folder
    from goldassay.running import Run
    from goldassay.tuning.audit import prove
    from goldassay.tuning.tuner import TuneOptions

    if len(results) > 2:
        raise GoldassayError("fresh proof takes one state, which is held against the program as it is, or two")
    target = workspace.target(str(options.program), options.task)
    data = examples(options.gold, target, options.split or "test", **options.reading())
    states = [models.state, results[0]] if len(results) == 1 else results
    before, after = (prepared(target, data.train, state, data.passages) for state in states)
    model = models.model(before)
    names = [str(state) if state else "the program as it is" for state in states]
    about = {"baseline": names[0], "chosen": names[1], "source": f"fresh examples of {data.name}"}
    work: dict[str, Any] = {"threads": options.threads, "repeats": options.repeats, "seed": seed, "progress": False}
    label = f"audit-{target.label.replace(':', '-')}"
    chosen = data.examples[: options.limit]
    with run_folder(options.resume, Path("runs"), label, model.name) as folder:
        metric, _ = models.metric(target.task, options.metric, folder)
        work |= {"lm": model.lm, "adapter": model.adapter, "folder": folder, "resume": options.resume is not None}
        settings = TuneOptions(**work)
        with terminal.working("both programs on fresh examples"):
            audit = prove(before, after, chosen, metric, settings, **about)
    return audit, [Run.load(place) for place in audit.details["runs"]]
