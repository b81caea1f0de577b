"""``goldassay patch`` and ``tune`` in a workspace of one's own, with a scripted model that learns from its prompt."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Any

import dspy
import pytest
import yaml
from tests.conftest import NAMES, Learner, build_names_gold
from tests.nightly import by_day
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.tuning.optimizers import Optimizer
from goldassay.workspace import own_root

METRIC = """
from goldassay import Metric
from goldassay.measures import extraction
metric = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})
def broken(gold, pred, trace=None):
    raise ZeroDivisionError("in the metric")
"""


def furnish(folder: Path) -> None:
    """Write a program, a metric and forty texts."""
    for file, text in (("programs/extraction.py", NAMES), ("metrics/extraction.py", METRIC)):
        (folder / file).parent.mkdir()
        (folder / file).write_text(text)
    gold = folder / "gold" / "names" / "extraction.jsonl"
    gold.parent.mkdir(parents=True)
    splits = ["train"] * 12 + ["dev"] * 20 + ["test"] * 8
    rows = [{**example.toDict(), "split": split} for example, split in zip(build_names_gold(), splits, strict=True)]
    gold.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, learner: Any) -> Path:
    """A workspace with a program, a metric and forty texts; every model is the scripted one."""
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    use(monkeypatch, learner)
    return tmp_path


def use(monkeypatch: pytest.MonkeyPatch, engine: Any) -> None:
    lm = dspy.LM("scripted/learner", engine=engine, cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: lm)


def run(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output or done.exception
    return done.output


def refused(*words: object) -> str:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert isinstance(done.exception, GoldassayError), done.output or done.exception
    assert "\n" not in str(done.exception)
    return str(done.exception)


def evaluated(split: str = "dev", *more: object) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(
        run("eval", "extraction", "--gold", "names", "--split", split, *more, "--json").strip().splitlines()[-1]
    )
    return body


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The patches that are proposed for the workspace's program, and the same when they were tested on dev."""
    folder, copy = (tmp_path_factory.mktemp("patches") for _ in range(2))
    patches = folder / "programs" / "patches"
    furnish(folder)
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        use(patch, Learner())
        run("patch", "propose", "extraction", evaluated("train")["folder"], "--n", 6)
        shutil.copytree(patches, copy / "proposed")
        run("patch", "test", "extraction", "--gold", "names")
    return copy / "proposed", patches


@pytest.fixture
def proposed(workspace: Path, templates: tuple[Path, Path]) -> Path:
    """The folder with the patches that are proposed for the workspace's program."""
    return shutil.copytree(templates[0], workspace / "programs" / "patches") / "extraction"


@pytest.fixture
def measured(workspace: Path, templates: tuple[Path, Path]) -> Path:
    """The same with what they change on dev."""
    return shutil.copytree(templates[1], workspace / "programs" / "patches") / "extraction"


def test_from_a_run_to_an_applied_patch_and_back(workspace: Path, proposed: Path) -> None:
    before = evaluated()
    output = run("patch", "patterns", before["folder"])
    assert "missed" in output
    assert "TMP" in output
    files = {file.stem: yaml.safe_load(file.read_text()) for file in proposed.glob("*.yaml")}
    assert len(files) == 6
    measured = run("patch", "test", "extraction", "--gold", "names")
    assert "kept" in measured
    files = {file.stem: yaml.safe_load(file.read_text()) for file in proposed.glob("*.yaml")}
    good = [name for name, body in files.items() if body["status"] == "kept"]
    for body in files.values():
        (effect,) = body["effects"]
        assert effect["split"] == "dev"
        assert (effect["n"], effect["calls"]) == (20, 20)
        assert effect["tokens"] > 0
        assert effect["low"] <= effect["difference"] <= effect["high"]
        assert (body["status"] == "kept") == (body["id"] in good)
    best = max(good, key=lambda name: float(files[name]["effects"][0]["difference"]))
    run("patch", "apply", "extraction", best)
    after = evaluated("dev", "--state", proposed)
    assert after["value"] == pytest.approx(files[best]["effects"][0]["after"])
    assert after["value"] > before["value"] + 0.1
    listed = run("patch", "show", "extraction")
    assert "applied" in listed
    assert best in listed
    diff = run("patch", "show", "extraction", best)
    assert "on dev:" in diff
    assert "\n+" in diff
    assert f"{best} is applied already" in refused("patch", "apply", "extraction", best)
    assert f"{best} is applied: revert it" in refused("patch", "test", "extraction", best, "--gold", "names")
    run("patch", "revert", "extraction", best)
    assert evaluated("dev", "--state", proposed)["value"] == before["value"]
    assert "is not applied" in refused("patch", "revert", "extraction", best)


def test_patches_come_off_in_any_order_and_leave_the_others_as_they_were(workspace: Path, proposed: Path) -> None:
    names = [file.stem for file in sorted(proposed.glob("add_instruction*"))][::-1][:3]
    states = []
    for name in names:
        run("patch", "apply", "extraction", name)
        states.append((proposed / "state.json").read_text())
    run("patch", "revert", "extraction", names[2])
    assert (proposed / "state.json").read_text() == states[1]  # the last one off: as before it
    run("patch", "revert", "extraction", names[0])
    run("patch", "revert", "extraction", names[1])
    run("patch", "apply", "extraction", names[0])
    assert (proposed / "state.json").read_text() == states[0]


def body_of(folder: Path, name: str) -> dict[str, Any]:
    body: dict[str, Any] = yaml.safe_load((folder / f"{name}.yaml").read_text())
    return body


def test_proposing_again_keeps_what_was_measured_and_brings_the_next(workspace: Path, measured: Path) -> None:
    before = {file.name: file.read_text() for file in measured.glob("*.yaml")}
    train = evaluated("train")["folder"]
    run("patch", "propose", "extraction", train, "--n", 1)
    after = {file.name: file.read_text() for file in measured.glob("*.yaml")}
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 1
    name = next(name for name in before if name.startswith("add_example"))
    for file in measured.glob("*.yaml"):  # as after a change of the program
        file.write_text(
            file.read_text().replace(f"program: {yaml.safe_load(before[name])['program']}", "program: older")
        )
    run("patch", "propose", "extraction", train)
    body = body_of(measured, name.removesuffix(".yaml"))
    assert (body["status"], body["effects"]) == ("proposed", [])


def test_dev_chooses_and_test_accepts_nothing_that_dev_rejected(workspace: Path, measured: Path) -> None:
    for split in ("train", "all"):
        assert "tested on dev, and on test" in refused(
            "patch", "test", "extraction", "--gold", "names", "--split", split
        )
    file = next(file for file in sorted(measured.glob("*.yaml")) if "status: kept" in file.read_text())
    name, text = file.stem, file.read_text().replace("status: kept", "status: rejected")
    file.write_text(re.sub("reason: .*", "reason: not shown on dev", text))
    output = run("patch", "test", "extraction", name, "--gold", "names", "--split", "test")
    body = body_of(measured, name)
    assert "test, 8 examples" in output
    assert (body["status"], body["effects"][-1]["split"]) == ("rejected", "test")
    assert body["effects"][-1]["difference"] > 0
    assert body["reason"].endswith("on test, but rejected on dev")


def test_a_patch_that_shows_or_copies_a_dev_text_is_refused(workspace: Path) -> None:
    folder = workspace / "programs" / "patches" / "extraction"
    folder.mkdir(parents=True)
    rows = [json.loads(line) for line in (workspace / "gold/names/extraction.jsonl").read_text().splitlines()]
    text = next(row["text"] for row in rows if row["split"] == "dev")
    patch = {"predictor": "extract", "action": "add_example", "example": {"text": text.upper(), "mentions": []}}
    (folder / "mine.yaml").write_text(yaml.safe_dump(patch))
    assert "exactly dev example" in refused("patch", "test", "extraction", "mine", "--gold", "names")


def test_a_patch_that_makes_the_program_fail_is_not_available(
    workspace: Path, proposed: Path, monkeypatch: pytest.MonkeyPatch, learner: Any
) -> None:
    class Short(type(learner)):  # type: ignore[misc]
        def complete(self, request: Any) -> Any:
            if len(request.messages) > 1:
                raise TimeoutError("the prompt is too long")
            return super().complete(request)

    use(monkeypatch, Short())
    output = run("patch", "test", "extraction", "--gold", "names")
    bodies = [yaml.safe_load(file.read_text()) for file in proposed.glob("*.yaml")]
    longer = {body["id"]: body for body in bodies if body["action"] == "add_example"}
    assert longer
    assert all(body["status"] == "proposed" and not body["effects"] for body in longer.values())
    assert all("not available on dev: the program failed on all 20" in body["reason"] for body in longer.values())
    assert all(body["effects"] for body in bodies if body["id"] not in longer)
    assert all(f"warning: {name} is not available on dev: the program failed" in output for name in longer)
    message = refused("patch", "test", "extraction", *longer, "--gold", "names")
    assert message.startswith(f"no patch could be measured; {next(iter(longer))} is not available on dev: the prog")


def test_a_file_of_ones_own_name_stays_one_file(workspace: Path) -> None:
    folder = workspace / "programs" / "patches" / "extraction"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("predictor: extract\naction: add_instruction\ntext: A number is TMP.\n")
    run("patch", "test", "extraction", "mine", "--gold", "names")
    run("patch", "apply", "extraction", "mine")
    assert [file.name for file in folder.glob("*.yaml")] == ["mine.yaml"]
    body = body_of(folder, "mine")
    assert (body["status"], len(body["effects"])) == ("applied", 1)
    run("patch", "revert", "extraction", body["id"])
    assert body_of(folder, "mine")["status"] == "reverted"


def test_what_was_applied_comes_off_though_its_file_is_gone_or_edited(workspace: Path, proposed: Path) -> None:
    first, second, third = (file.stem for file in sorted(proposed.glob("add_*"))[:3])
    run("patch", "apply", "extraction", first, second, third)
    edited = proposed / f"{second}.yaml"
    body = body_of(proposed, second)
    body["rationale"], body["example" if "example" in body else "text"] = "mine", {"text": "x", "mentions": []}
    edited.write_text(yaml.safe_dump(body))
    (proposed / f"{third}.yaml").unlink()
    run("patch", "revert", "extraction", first)
    run("patch", "revert", "extraction", second, third)
    assert json.loads((proposed / "applied.json").read_text()) == []


def test_a_patch_that_builds_on_another_comes_off_first(workspace: Path) -> None:
    folder = workspace / "programs" / "patches" / "extraction"
    folder.mkdir(parents=True)
    edits: dict[str, dict[str, Any]] = {
        "a": {"action": "add_instruction", "text": "A number is TMP."},
        "b": {"action": "replace_instruction", "old": "A number", "text": "Each number"},
        "c": {"action": "add_example", "example": {"text": "In Delft.", "mentions": []}},
        "d": {"action": "add_example", "example": {"text": "In Gouda.", "mentions": []}},
    }
    for name, edit in edits.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({"predictor": "extract", **edit}))
        run("patch", "apply", "extraction", name)
    state = (folder / "state.json").read_text()
    assert "it builds on what is taken back; take replace_instruction-" in refused("patch", "revert", "extraction", "a")
    assert (folder / "state.json").read_text() == state
    for name in ("c", "d", "b", "a"):
        run("patch", "revert", "extraction", name)
    demos, instructions = (
        json.loads((folder / "state.json").read_text())["extract"][key] for key in ("demos", "signature")
    )
    assert (demos, instructions["instructions"]) == ([], "Find names.")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("predictor: extract\naction: explode\n", "no action 'explode'; there are add_instruction"),
        ("predictor: extract\naction: add_instruction\n", "add_instruction needs text"),
        ("predictor: nobody\naction: add_instruction\ntext: x\n", "no predictor 'nobody'; the program has extract"),
        ("predictor: [extract\n", "not YAML"),
        ("just words\n", "a patch is a mapping"),
    ],
)
def test_a_patch_that_was_edited_into_nonsense_is_one_line(workspace: Path, body: str, says: str) -> None:
    folder = workspace / "programs" / "patches" / "extraction"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(body)
    for words in (["test", "extraction", "mine", "--gold", "names"], ["apply", "extraction", "mine"]):
        assert says in refused("patch", *words)
    assert not (folder / "state.json").exists()


def test_a_patch_for_another_version_of_the_program_says_so(workspace: Path, proposed: Path, names_source: str) -> None:
    name = next(file.stem for file in proposed.glob("add_instruction*"))
    other = names_source.replace("Find names.", "Find all names.")
    (workspace / "programs" / "other.py").write_text(other)
    (workspace / "programs" / "patches" / "extraction-program2").mkdir()
    changed = next(proposed.glob("add_instruction*"))
    body = yaml.safe_load(changed.read_text())
    changed.write_text(yaml.safe_dump({**body, "program": "0123456789abcdef"}))
    for words in (["test", "extraction", name, "--gold", "names"], ["apply", "extraction", name]):
        says = refused("patch", *words)
        assert "was made for version 0123456789abcdef of the program" in says
        assert "any version" in says
    run("patch", "apply", "extraction", name, "--any-version")
    assert [row["action"] for row in json.loads((proposed / "applied.json").read_text())] == ["add_instruction"]


def test_nothing_to_patch_and_nothing_there(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, names_source: str
) -> None:
    assert "No patches yet." in run("patch", "show", "extraction")
    assert "there are no patches in" in refused("patch", "test", "extraction", "--gold", "names")
    assert "no patch 'x'" in refused("patch", "apply", "extraction", "x")
    assert "no run at" in refused("patch", "patterns", workspace)
    dev = evaluated("dev")["folder"]
    assert "not in train" in refused("patch", "propose", "extraction", dev)
    (workspace / "programs" / "extraction.py").write_text(names_source.replace("Find names.", "A number, a museum."))
    monkeypatch.setattr("goldassay._support.workspace.load", fresh())
    right = evaluated("train")["folder"]
    assert "No errors." in run("patch", "patterns", right)
    assert "has no errors" in run("patch", "propose", "extraction", right)


def fresh() -> Any:
    """Workspace files are loaded once per path; this loads them again, as a new process does."""
    import runpy
    from types import SimpleNamespace

    return lambda file: SimpleNamespace(**runpy.run_path(str(file)))


class Engine:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        if isinstance(self.answer, Exception):
            raise self.answer
        parts = [TextPart(self.answer)]
        return Response(
            id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=Usage()
        )


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (TimeoutError("no answer in 60 s"), "no answer in 60 s"),
        pytest.param("lorem ipsum", "AdapterParseError", marks=pytest.mark.nightly),
    ],
)
def test_a_model_that_times_out_or_answers_rubbish_is_said(
    answer: Any, says: str, workspace: Path, proposed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, Engine(answer))
    for words in (
        ["patch", "test", "extraction", "--gold", "names"],
        ["tune", "extraction", "--gold", "names", "--optimizer", "patches"],
        ["tune", "extraction", "--gold", "names", "--optimizer", "bootstrap"],
    ):
        message = refused(*words)
        assert "the program failed on all" in message
        assert says in message


TUNE = ["tune", "extraction", "--gold", "names"]


@pytest.mark.parametrize("optimizer", by_day(("labeled", "bootstrap", "patches", "gepa"), "labeled", "patches"))
def test_a_metric_that_raises_is_said_with_the_example(optimizer: str, workspace: Path) -> None:
    message = refused(*TUNE, "--metric", "metrics/extraction.py:broken", "--optimizer", optimizer)
    assert "the metric raised ZeroDivisionError: in the metric" in message
    message = refused(*TUNE, "--metric", "metrics/extraction.py:nothing", "--optimizer", optimizer)
    assert "has no 'nothing'" in message


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--budget", "calls=0"], "a budget has positive calls"),
        (["--budget", "calls=many"], "a budget reads like calls=200"),
        (["--optimizer", "magic"], "no optimizer 'magic'"),
        (
            ["--optimizer", "simba", "--setting", "bsize=30"],
            "simba needs at least bsize=30 train examples; there are 12",
        ),
        (["--optimizer", "mipro", "--setting", "nonsense=1"], "MIPROv2 has no option .nonsense.; it has "),
        (["--setting", "rounds"], "--setting expects NAME=VALUE such as rounds=5"),
        (["--setting", "guarded=strict_f1"], "guarded is for the optimizer patches"),
        (
            ["--optimizer", "patches", "--setting", "guarded=bleu"],
            "'bleu' cannot be guarded: the metric has strict_f1, partial",
        ),
        (["--optimizer", "patches", "--setting", "rounds=0"], "at least one round"),
        (["--optimizer", "labeled", "--resume", "runs/x"], "labeled keeps no state"),
        (["--optimizer", "gepa", "--resume", "runs/x"], "no tuning at .*runs/x"),
    ],
)
def test_what_cannot_be_tuned_is_one_line(more: list[str], says: str, workspace: Path) -> None:
    import re

    message = refused(*TUNE, *more)
    assert re.search(says, message), message


def test_an_interrupted_gepa_says_how_to_go_on(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(
        "goldassay.tuning.optimizers.OPTIMIZERS",
        {"gepa": Optimizer("gepa", interrupted, resumes=True), "knn": Optimizer("knn", interrupted)},
    )
    message = CliRunner().invoke(app, [*TUNE, "--optimizer", "gepa", "--out", "t"]).output
    assert "continue with the same command and --resume t" in message
    assert json.loads((workspace / "t" / "tuning.json").read_text())["status"] == "interrupted"
    assert "--resume" not in CliRunner().invoke(app, [*TUNE, "--optimizer", "knn"]).output


def test_tune_with_patches_shows_and_saves_its_ledger(workspace: Path) -> None:
    output = run(
        *TUNE, "--optimizer", "patches", "--out", "t", "--setting", "rounds=2", "--setting", "guarded=partial_f1"
    )
    assert "tuned with patches" in output
    assert "Kept: +" in output
    assert "proven on test" in output
    entries = [json.loads(line) for line in (workspace / "t" / "ledger.jsonl").read_text().splitlines()]
    assert "kept" in {entry["status"] for entry in entries}
    about = json.loads((workspace / "t" / "tuning.json").read_text())
    assert about["options"] == {"rounds": "2", "guarded": "{'partial_f1': 0.0}"}
    assert about["dev"]["difference"]["difference"] > 0
    assert evaluated("dev", "--state", "t")["values"] == about["dev"]["after"]


def test_what_tuning_brought_reads_in_eighty_columns(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = run(*TUNE, "--optimizer", "labeled", "--out", "t")
    assert max(map(len, output.splitlines())) <= 80
    about = json.loads((workspace / "t" / "tuning.json").read_text())
    for split in ("dev", "test"):
        body = about[split]["difference"]
        (line,) = (line for line in output.splitlines() if line.startswith(f"{split:<5}0."))
        assert f"{body['difference']:+.4f} [{body['interval']['low']:+.3f}, {body['interval']['high']:+.3f}]" in line
        assert line.endswith(f"n {body['n']}, detectable {body['smallest_detectable']:.3f}")


@pytest.mark.nightly
def test_a_train_split_smaller_than_a_minibatch_still_tunes(workspace: Path) -> None:
    for optimizer in ("simba", "bootstrap", "mipro"):
        message = run(*TUNE, "--limit", 2, "--optimizer", optimizer, "--out", f"small-{optimizer}")
        assert f"tuned with {optimizer}" in message
    assert "4 examples to choose on and 2 of test" in refused(*TUNE, "--limit", 2, "--optimizer", "patches")


def test_patches_of_a_program_of_the_installation_are_kept_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of a workspace nothing is written into the installation."""
    monkeypatch.chdir(tmp_path)
    assert f"no patches in {tmp_path}/programs/patches/extraction-prompted" in refused(
        "patch", "test", "extraction:prompted"
    )
    for folder in ("programs", "metrics", "programs/patches"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "programs" / "patches")
    assert own_root() == tmp_path
