"""``goldassay explain``: which line of a prompt helps, the shortest prompt, and the proof beside the program."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import relpath
from typing import Annotated

from goldassay import workspace
from goldassay._support import options as use
from goldassay._support.exceptions import GoldassayError
from goldassay._support.options import shell_line
from goldassay.cli.options import FROM_CACHE, SetOptions, interruptible
from goldassay.core.fields import Fields
from goldassay.models.lm import for_program
from goldassay.reporting import terminal
from goldassay.results.view import Sentence
from goldassay.running.hashing import gold_hash
from goldassay.running.options import RunOptions
from goldassay.tuning.explain import Explanation, lm_name, model_change, prune
from goldassay.tuning.explain import explain as explain_program
from goldassay.tuning.patches import read, write
from goldassay.tuning.saved import TUNING_FILE, load_state, read_about
from goldassay.tuning.systems import examples, indexed
from goldassay.tuning.tuner import splits_of
from goldassay.tuning.units import check_proof, proof_places, write_proof
from goldassay.tuning.wrappers import saveable


@dataclass(frozen=True)
class ExplainOptions(SetOptions):
    """Options of explaining a program."""

    map: str | None = None
    metric: str | None = None
    limit: int | None = None
    lm: Annotated[
        list[str] | None, use.for_model("MODEL", "The model; repeat it (OLD, then NEW) to see what changes.")
    ] = None
    state: use.State = None
    threads: int = 1
    budget: str | None = None
    margin: Annotated[
        float, use.for_running("DIFFERENCE", "The largest difference that still counts as none.", min=0.001, max=1)
    ] = 0.05
    prune: Annotated[bool, use.flag("Write patches that cut what dev does not need, and prove them once on test.")] = (
        False
    )
    check: Annotated[
        bool, use.flag("Call no model: exit with status 1 if prompt, gold or model changed since the proof.")
    ] = False


def explain(program: use.Name, explaining: ExplainOptions, json: bool = False, seed: int = 0) -> None:
    """Show which line of a program's prompt helps, and write the proof next to it (PROGRAM.proof.json)."""
    asks = {"metric": explaining.metric, "budget": explaining.budget, "prune": explaining.prune}
    if explaining.check and (unused := next((name for name, value in asks.items() if value), None)):
        raise GoldassayError(f"explain --check calls no model and takes no --{unused}")
    target = workspace.target(program, explaining.task)
    module = target.tunable()
    if explaining.state is not None:
        module = load_state(module, explaining.state)
    file, patches = proof_places(target, explaining.state)
    models = [for_program(module, name, target.file) for name in explaining.lm or (None,)]
    data = examples(explaining.gold, target, "dev", map=explaining.map)
    gold = data.examples[: explaining.limit]
    if explaining.check:
        hashes = [gold_hash(gold)]
        about = file.with_name(TUNING_FILE)
        if about.is_file() and (data.train or not data.gold.splits):  # the proof of a tuning is on the dev that it took
            hashes.append(gold_hash(splits_of(data.gold, read_about(about)["seed"])["dev"][: explaining.limit]))
        checks = [check_proof(module, file, lm_name(model.lm), hashes) for model in models]
        changes = list(dict.fromkeys(change for check in checks for change in check))
        sentences = [*map(Sentence, changes or ["The proof holds."])]
        terminal.output({"proof": str(file), "changes": changes}, json, sentences)
        if changes:
            raise SystemExit(1)
        return
    if len(models) > 2 or (explaining.prune and len(models) > 1):
        raise GoldassayError("explain takes one model, or an old and a new one to compare; --prune takes one")
    module = indexed(module, data.gold)
    metric = workspace.metric(target, explaining.metric)
    origins = [read(written) for written in sorted(patches.glob("*.yaml"))]
    explanations: list[Explanation] = []
    for model in models:
        options = RunOptions(
            lm=model.lm, adapter=model.adapter, threads=explaining.threads, budget=explaining.budget, seed=seed
        )
        with interruptible(FROM_CACHE), terminal.working(f"the units of {target.label} on {len(gold)} examples"):
            explanation = explain_program(
                module,
                gold,
                metric,
                options,
                margin=explaining.margin,
                origins=origins,
                share=0.5 if explaining.prune else 1.0,
            )
        write_proof(explanation, file)
        explanations.append(explanation)
    first = explanations[0]
    view = [part for explanation in explanations for part in explanation.view()]
    more: Fields = {"proof": str(file)}
    if len(explanations) > 1:
        changes_view, change = model_change(first, explanations[1])
        view += changes_view
        more |= {"new": explanations[1].state(), "change": change}
    if explaining.prune:
        test = data.gold.split("test") if "test" in data.gold.splits else []
        with interruptible(FROM_CACHE), terminal.working("the shortest prompt"):
            pruned = prune(module, first, gold, metric, test, options)
        files = [write(patch, patches) for patch in pruned.patches]
        if files and patches != target.patches:  # `patch apply` edits the program of the file, not one that was saved
            files.append(file.with_name(file.name.replace(".proof.", ".pruned.")))
            saveable(pruned.program).save(str(files[-1]))
        more |= {"pruned": {**pruned.state(), "files": [*map(str, files)]}}
        view += pruned.view()
    if json:
        terminal.answer(first.state() | more)
        return
    terminal.show(view)
    shown = relpath(file)
    terminal.echo(f"Written: {shown}; its page: {shell_line('goldassay report', shown, out='prompt.html')}")
    for name in more.get("pruned", {}).get("files", ()):
        terminal.echo(f"Written: {name}")
