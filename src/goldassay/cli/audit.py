"""``goldassay audit``: did an optimizer help? It reads what an optimizer left, or runs two states of a program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from goldassay import workspace
from goldassay._support import files
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay.cli.evaluate import run_folder
from goldassay.cli.options import SetOptions
from goldassay.ext.labelling.proof import prove_by_labels
from goldassay.gold import load
from goldassay.models.lm import for_program
from goldassay.reporting import terminal
from goldassay.reporting.pages import report
from goldassay.running import Run
from goldassay.tuning import TuneOptions
from goldassay.tuning.audit import audit as audit_results
from goldassay.tuning.audit import prove
from goldassay.tuning.systems import examples, prepared
from goldassay.tuning.verdict import LUCK_WARNING


@dataclass(frozen=True)
class AuditOptions(SetOptions):
    """Options of an audit."""

    metric: str | None = None
    lm: use.Lm = None
    split: str | None = None
    program: Annotated[str | None, use.for_model("TASK|FILE", "The program whose saved states are run on --gold.")] = (
        None
    )
    baseline: Annotated[
        str | None, use.for_gold("NAME", "The candidate to compare with: the program before tuning.")
    ] = None
    threads: int = 1
    repeats: int = 1
    resume: Path | None = None
    out: Annotated[Path | None, use.for_result("FILE", "Write the verdict as an HTML page here.")] = None
    unlabelled: use.Unlabelled = None
    map: str | None = None
    draft: Annotated[
        Path | None,
        use.for_gold("FILE", "What to label; once labelled, it gives the verdict (default: draft.jsonl)."),
    ] = None
    fresh: Annotated[
        bool, use.flag("Declare that the examples of the two runs had no part in choosing the program.")
    ] = False
    fail_unless_better: Annotated[
        bool, use.flag('Exit with status 1 unless the verdict is "better"; two runs need --fresh, too.')
    ] = False


NEEDS = {**dict.fromkeys(("lm", "metric", "threads", "repeats", "resume"), "program"), "split": "gold", "map": "gold"}
"""Options that nothing uses without another one."""


def audit(
    results: Annotated[
        list[Path],
        use.argument(
            "RESULT... | [BEFORE] AFTER --program FILE",
            "The result of an optimizer (goldassay.save_result, GEPA's to_dict(), a tuning folder, a CSV "
            "example,candidate,score); two or more runs or files of dspy.Evaluate, the baseline first; or the saved "
            "states of a program.",
        ),
    ],
    options: AuditOptions,
    force: bool = False,
    json: bool = False,
    seed: int = 0,
) -> None:
    """Did the optimizer help? The gain, corrected for luck and leaks, and what would settle it."""
    use.check_new(options.out, force)
    runs: list[Run] = []
    if not (options.program or options.unlabelled or options.draft):
        for name, needed in NEEDS.items():
            if use.first_set(options, name) and not getattr(options, needed):
                raise GoldassayError(f"--{name} needs --{needed}: results that exist are audited as they are")
        gold: dict[str, Any] = {}
        if options.gold:
            task_set = next(iter(load(options.gold, task=options.task, map=options.map).tasks.values()))
            chosen = task_set.split(options.split or "dev") if task_set.splits else task_set.all
            gold = {"gold": list(chosen), "train": list(task_set.train) if "train" in task_set.splits else []}
        audit = audit_results(*results, baseline=options.baseline, fresh=options.fresh, **gold)
    else:  # two states of a program, on fresh gold or by labels of what they answer otherwise
        if unused := options.program and use.first_set(options, "fresh", "baseline"):
            raise GoldassayError(f"--{unused} is for results that exist; --program runs the fresh examples itself")
        if not options.program:
            raise GoldassayError("--unlabelled and --draft need --program, whose states are run on the inputs")
        if len(results) > 2:
            raise GoldassayError("a fresh proof takes one state, which is compared with the program as it is, or two")
        states = [None, *results][-2:]
        names = [str(state or "the program as it is") for state in states]
        target = workspace.target(options.program, options.task)
        draft = options.draft or Path("draft.jsonl")
        if draft.suffix != ".jsonl" and not draft.is_dir():
            raise GoldassayError(f"--draft expects a .jsonl file, got {draft}")
        labels = options.unlabelled or options.draft
        data = None if labels else examples(options.gold, target, options.split or "test", map=options.map)
        before = prepared(target, data, states[0])
        after = prepared(target, data, states[1])
        model = for_program(before, options.lm, target.file)
        metric = workspace.metric(target, options.metric) if data or options.metric else None
        with run_folder(options.resume, Path("runs"), f"audit-{target.slug}", model.name) as folder:
            settings = TuneOptions(
                lm=model.lm,
                adapter=model.adapter,
                threads=options.threads,
                repeats=options.repeats,
                seed=seed,
                progress=False,
                folder=folder,
                resume=options.resume is not None,
            )
            if data is None or metric is None:
                programs = {"before": before, "after": after}
                inputs = options.unlabelled
                proof = prove_by_labels(target, programs, draft, inputs, settings, map=options.map, metric=metric)
                audit = proof.audit(*names)
            else:
                about = {"baseline": names[0], "chosen": names[1], "source": f"fresh examples of {data.name}"}
                with terminal.working("both programs on fresh examples"):
                    audit = prove(before, after, data.examples, metric, settings, **about)
                runs = [Run.load(folder) for folder in audit.details["runs"]]
    if options.out is not None:
        files.save(options.out, report(runs, views=[audit.view()], title="Did the optimizer help?"))
    terminal.output(audit, json)
    if options.fail_unless_better and not audit.better:
        if LUCK_WARNING in audit.findings:
            terminal.warn("--fail-unless-better passes two runs only with --fresh")
        raise SystemExit(1)
