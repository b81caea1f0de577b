"""Which folder a source has, and the gold that is written of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.ext.labelling.review.conftest import LABELS, Client, Start, classification, extraction, write_draft
from tests.processes import run
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.cli import app
from goldassay.ext.labelling.review import review
from goldassay.ext.labelling.review.folder import Folder
from goldassay.gold import read, write
from goldassay.gold.audit import audit

CLI = CliRunner()


def test_a_folder_goes_on_with_its_settings(start: Start) -> None:
    first = start(classification(20), who="ann", overlap=0.5)
    first.close()
    again = review(first.folder)
    assert again.session.folder.settings == first.session.folder.settings
    again.close()


def test_another_draft_is_refused(start: Start, tmp_path: Path) -> None:
    start(classification(20)).close()
    with pytest.raises(DataError, match="of another draft"):
        start(classification(30))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "a", "suggestions": [1]}', "a record of a draft is an object"),
        ('{"id": "a", "suggestions": {"s": 1}}', "a record of a draft is an object"),
        ('{"text": "a", "suggestions": {"s": {"label": "M"}}}', "needs an id"),
        ('{"id": "a", "suggestions": {"s": {"label": "M"}}}\n' * 2, "duplicate"),
        ('{"id": "a", "suggestions": {"s": {"colour": "M"}}}', "name the task"),
        ('{"id": "a", "sampling": {"question": "x"}, "suggestions": {"s": {"label": "M"}}}', "sampling.question"),
        ('{"id": "a"}', "is not a draft; name the task"),
        ('{"id": "a", "meta": "x", "suggestions": {"s": {"label": "M"}}}', "meta"),
        ('{"id": "a", "text": "x", "suggestions": {"s": {"entities": ["M"]}}}', "record a: the answer of s is not one"),
    ],
)
def test_a_broken_draft_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "draft.jsonl"
    file.write_text(f"{text}\n")
    with pytest.raises(GoldassayError, match=message):
        review(file)


def test_a_draft_that_was_continued_keeps_its_labels(start: Start) -> None:
    first = start(classification(40)[:20])
    Client(first.url).decide("3", value={"label": LABELS[0]})
    blind = first.session.queue.blind
    first.close()
    page = Client(start(classification(40)).url)
    assert page.get("setup")["records"] == 40
    assert page.record("3")["decision"]["value"] == {"label": LABELS[0]}
    assert all(page.record(str(index))["blind"] for index in blind)


LINE = {
    "decision": "x",
    "kind": "label",
    "item": "0",
    "record": "r0",
    "who": "ann",
    "when": "",
    "value": {"label": "museum"},
}


@pytest.mark.parametrize(
    "line",
    [
        '{"decision": "x", "kind": "undo", "undoes": "y", "who": "ann", "when": ""}',
        '{"decision": "x", "kind": "label", "item": "z", "who": "ann", "when": ""}',
        '{"decision": "x", "kind": "drop", "item": "0", "who": "ann", "when": ""}',
        '["x"]',
        "x",
        *(
            json.dumps(LINE | change)
            for change in (
                {"item": "20"},
                {"item": "-5"},
                {"item": "1"},
                {"record": ""},
                {"value": {"x": 1}},
                {"value": [1]},
            )
        ),
        json.dumps({k: v for k, v in LINE.items() if k != "record"}),
        json.dumps(LINE) + "\n" + json.dumps({"change": "x", "kind": "describe", "mode": "m", "who": "a", "when": ""}),
        json.dumps(LINE) + "\n" + json.dumps(LINE | {"note": "other"}),
    ],
)
def test_a_damaged_journal_is_one_line(start: Start, line: str) -> None:
    first = start(classification(20))
    first.close()
    (first.folder / "labels.jsonl").write_text(f"{line}\n")
    for _ in range(2):  # the folder is free again
        with pytest.raises(DataError, match="labels.jsonl"):
            review(first.folder)


def test_a_port_that_is_taken_leaves_the_folder_free(start: Start) -> None:
    first = start(classification(20))
    port = first.server.port
    other = write_draft(first.folder / "other.jsonl", classification(20))
    with pytest.raises(GoldassayError, match=f"port {port}"):
        review(other, port=port)
    review(other).close()


@pytest.mark.parametrize("name", ["draft.csv", "draft.tsv", "draft.json"])
def test_a_draft_as_a_table_or_for_label_studio_is_reviewed(tmp_path: Path, name: str) -> None:
    records = classification(20)
    write(tmp_path / name, records, task="classification", format="label-studio" if name.endswith("json") else None)
    with review(tmp_path / name, task="classification") as opened:
        page = Client(opened.url)
        setup = page.get("setup")
        assert (setup["mode"], setup["outputs"], setup["records"]) == ("compare", ["label"], 20)
        record = page.record("3")
        assert record["fields"] == {"text": records[3]["text"]}
        page.decide("3", value={"label": LABELS[0]})
        assert opened.export()["records"] == 1
    rows = [json.loads(line) for line in (opened.folder / "draft.jsonl").read_text().splitlines()]
    assert rows == records
    with review(tmp_path / name, task="classification") as again:
        assert Client(again.url).record("3")["decision"]["value"] == {"label": LABELS[0]}


def test_a_schema_in_the_folder_is_that_of_the_form(start: Start) -> None:
    opened = start([{"id": "a", "text": "7 cups", "suggestions": {"s": {"record": {"n": 7}}}}])
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert Client(opened.url).get("setup")["schema"] is None
    (opened.folder / "schema.json").write_text(json.dumps(schema))
    assert Client(opened.url).get("setup")["schema"] == schema


PROGRAM = """
from typing import Literal
import dspy
from pydantic import BaseModel

class Cup(BaseModel):
    n: int
    glaze: Literal["red", "blue"] | None = None

class Count(dspy.Signature):
    text: str = dspy.InputField()
    record: Cup = dspy.OutputField(desc="the cups")
    year: int = dspy.OutputField(desc="when they were made")

program = dspy.ChainOfThought(Count)
"""
CUPS = [{"id": str(number), "text": "7 cups", "suggestions": {"s": {"record": {"n": 7}}}} for number in range(3)]


def properties(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: field.get("type") or field.get("$ref") for name, field in schema["properties"].items()}


def test_the_form_is_what_the_program_of_the_workspace_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("programs", "metrics"):
        (tmp_path / folder).mkdir()
    (tmp_path / "programs" / "cups.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    own = [{**record, "suggestions": {"s": {"record": {"n": 7}, "year": 1650}}} for record in CUPS]
    with review(write_draft(tmp_path / "own.jsonl", own), task="cups") as opened:
        setup = Client(opened.url).get("setup")
        assert properties(setup["schema"]) == {"record": "#/$defs/Cup", "year": "integer"}
        assert setup["schema"]["properties"]["year"]["description"] == "when they were made"
        assert setup["outputs"] == ["record", "year"]
    with review(opened.folder) as again:  # it stays, whatever becomes of the program
        assert Client(again.url).get("setup")["schema"] == setup["schema"]
    assert again.folder == opened.folder


def test_the_form_of_records_is_the_model_of_a_named_program(tmp_path: Path) -> None:
    file = tmp_path / "records.py"
    file.write_text(PROGRAM)
    with review(write_draft(tmp_path / "a.jsonl", CUPS), task=str(file)) as opened:
        setup = Client(opened.url).get("setup")
    assert (setup["task"], properties(setup["schema"])) == ("records", {"n": "integer", "glaze": None})
    other = [{**record, "suggestions": {"s": {"record": {"price": 7}}}} for record in CUPS]
    with review(write_draft(tmp_path / "b.jsonl", other), task=str(file)) as opened:
        assert Client(opened.url).get("setup")["schema"] is None, "the model is that of other records"
    with review(write_draft(tmp_path / "c.jsonl", CUPS)) as opened:
        assert Client(opened.url).get("setup")["schema"] is None, "no program of the workspace"
    done = CLI.invoke(app, ["review", "a.jsonl", "--task", "none.py", "--no-browser"])
    assert "no such file: none.py" in str(done.exception)


def test_predictions_are_drafted_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inputs = [{"id": str(number), "text": f"letter {number}"} for number in range(100)]
    files = [write_draft(tmp_path / "inputs.jsonl", inputs)]
    for name, share in (("a", 0), ("b", 30)):
        rows = [{"id": str(number), "label": LABELS[number < share]} for number in range(100)]
        files.append(write_draft(tmp_path / f"{name}.jsonl", rows))
    with review(*files, task="classification", n=20) as opened:
        setup = Client(opened.url).get("setup")
    assert (opened.folder, setup["question"], setup["records"]) == (Path("inputs.review"), "compare", 20)


def labelled(start: Start, records: list[dict[str, Any]], label: Any) -> Any:
    opened = start(records)
    page = Client(opened.url)
    for item, _ in page.get("setup")["index"]:
        page.decide(item, value=label(int(item)))
    return opened


def test_exported_gold_is_valid_and_keeps_how_it_was_chosen(start: Start) -> None:
    opened = labelled(start, classification(40), lambda index: {"label": LABELS[index % 3]})
    assert opened.export()["records"] == 40
    done = CLI.invoke(app, ["review", str(opened.folder), "--export", "--json"])
    assert json.loads(done.stdout)["records"] == 40
    for place in (opened.folder, opened.folder / "gold.jsonl"):
        assert audit(str(place), task="classification").clean
    rows = [json.loads(line) for line in (opened.folder / "gold.jsonl").read_text().splitlines()]
    assert [row["sampling"] for row in rows] == [row["sampling"] for row in classification(40)]
    answers = []
    for name in ("a", "b"):
        predictions = [{"id": row["id"], **row["suggestions"][name]} for row in rows]
        predictions += [{"id": f"r{number}", "label": LABELS[0]} for number in range(40, 400)]
        answers += ["--pred", str(write_draft(opened.folder / f"{name}.jsonl", predictions))]
    gold = str(opened.folder / "gold.jsonl")
    compared = CLI.invoke(app, ["compare", "classification", "--gold", gold, *answers, "--json"])
    assert compared.exit_code == 0, compared.output
    assert "-0.1" in compared.stdout, "40 of 400 inputs: a is right on all, b on none"
    card = (opened.folder / "card.yaml").read_text()
    assert "anchoring:" in card
    assert "hidden: 4" in card


def test_exported_spans_are_gold_that_scores_take(start: Start, tmp_path: Path) -> None:
    span = {"start": 0, "end": 6, "type": "ORG", "text": "Museum"}
    opened = labelled(start, extraction(20), lambda index: {"entities": [span] if index % 2 else []})
    opened.export()
    rows = [{"id": f"d{number}", "entities": [span]} for number in range(20)]
    pred = write_draft(tmp_path / "pred.jsonl", rows)
    gold = str(opened.folder / "gold.jsonl")
    done = CLI.invoke(app, ["score", "extraction", "--gold", gold, "--pred", str(pred), "--json"])
    assert done.exit_code == 0, done.output
    counts = json.loads(done.stdout)["counts"]["strict"]
    assert (counts["tp"], counts["fp"], counts["fn"]) == (10, 10, 0)


def test_exported_gold_with_wrong_steps_is_gold_that_scores_take(start: Start) -> None:
    steps = [{"kind": "tool", "name": "read", "args": {"id": 9}}]
    draft = [{"id": "t", "question": "where", "suggestions": {"a": {"answer": "Gouda", "trajectory": steps}}}]
    opened = start(draft, task="trajectories")
    calls = [{"name": "read", "args": {"id": 7}}]
    Client(opened.url).decide("0", value={"calls": calls, "answers": ["Delft"]}, modes=["wrong passage"], step=0)
    opened.export()
    (record,) = read(opened.folder / "gold.jsonl", "trajectories")
    assert [(error["mode"], error["step"]) for error in record["errors"]] == [("wrong passage", 0)]


def test_a_draft_goes_on_with_its_task_and_no_other(tmp_path: Path) -> None:
    file = write_draft(tmp_path / "draft.jsonl", classification(20))
    Folder.open([file], "urgency")
    assert Folder.open([file]).task == "urgency"
    for place in (file, file.with_suffix(".review")):
        with pytest.raises(DataError, match="its labels are for urgency, not for extraction"):
            Folder.open([place], "extraction")
        for option in ({"question": "errors"}, {"n": 5}, {"seed": 0}, {"map": "text=body"}):
            with pytest.raises(GoldassayError, match="is for a new draft"):
                Folder.open([place], **option)


def test_a_source_that_is_not_there_or_settings_that_are_broken_are_one_line(tmp_path: Path) -> None:
    for name in ("nothing.jsonl", "nothing.review"):
        with pytest.raises(DataError, match="no such file"):
            Folder.open([tmp_path / name])
    (tmp_path / "review.json").write_text("{}")
    with pytest.raises(DataError, match=r"review\.json.*task"):
        Folder.open([tmp_path])


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(
    "options", [["--who", "bob"], ["--overlap", ".5"], ["--export", "--overlap", ".5"], ["--show-judge"]]
)
def test_a_refused_call_writes_nothing(start: Start, options: list[str]) -> None:
    """Another process is at work: what it goes by stays what it is."""
    opened = start(classification(40)[:20])
    before = bytes_of(opened.folder)
    done = run("review", opened.folder, "--no-browser", *options)
    assert done.returncode == 2
    assert "is being reviewed by another process" in done.stderr
    assert bytes_of(opened.folder) == before
    more = write_draft(opened.folder.with_suffix(".jsonl"), classification(40))
    with pytest.raises(GoldassayError, match="another process"):
        Folder.open([more])
    assert bytes_of(opened.folder) == before


def test_gold_is_exported_while_somebody_labels(start: Start) -> None:
    opened = start(classification(20))
    Client(opened.url).decide("3", value={"label": LABELS[0]})
    done = CLI.invoke(app, ["review", str(opened.folder), "--export", "--json"])
    assert json.loads(done.stdout)["records"] == 1


def test_a_draft_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "draft.jsonl"
    file.write_text('{"id": "a", "suggestions": {"s": {"label": "M"}}}\n' * 2)
    with pytest.raises(DataError, match=r"draft.jsonl.*duplicate"):
        review(file)
    assert not file.with_suffix(".review").exists()


def test_a_draft_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    file = tmp_path / "draft.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + write_draft(file, classification(20)).read_bytes())
    for _ in range(2):
        review(file).close()


REACT = """
from typing import Literal
import dspy

def tool(word: str) -> str:
    return word

program = dspy.ReAct(dspy.Signature("text -> team: Literal['billing', 'returns', 'legal']"), tools=[tool])
"""


def test_the_form_of_a_react_agent_offers_what_its_signature_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "desk.py").write_text(REACT)
    monkeypatch.chdir(tmp_path)
    notes = {"trajectory": {"thought_0": "a parcel"}, "reasoning": "it is broken"}
    own = [{**record, "suggestions": {"s": {"team": "returns", **notes}}} for record in CUPS]
    with review(write_draft(tmp_path / "own.jsonl", own), task="desk") as opened:
        client = Client(opened.url)
        setup = client.get("setup")
        assert setup["schema"]["properties"]["team"]["enum"] == ["billing", "returns", "legal"]
        assert (setup["outputs"], [field["name"] for field in setup["fields"]]) == (["team"], ["team"])
        answer = client.record("0")["suggestions"][0]
        assert answer["value"] == {"team": "returns"}
        assert answer["output"] == {"team": "returns", **notes}  # shown, folded


def test_a_blinded_page_shows_inputs_alone(start: Start) -> None:
    """Any other column of the user's file may hold an old answer."""
    more = {"meta": {"old label": "museum"}, "rationale": "it says so", "note": "by lee"}
    first = start([{**record, **more} for record in classification(20)])
    assert Client(first.url).record("0")["fields"].keys() == {"text"}
    first.close()
    (first.folder.parent / "draft.review").rename(first.folder.parent / "compared.review")
    labelled = [{**record, **more} for record in classification(40)]
    level = [{**record, "sampling": {**record["sampling"], "question": "level"}} for record in labelled]
    session = start(level).session
    shown = {session.queue.blind >= {index}: session.record(str(index), "ann")["fields"] for index in range(40)}
    assert shown[True].keys() == {"text"}
    assert shown[False].keys() == {"text", "old label", "note"}


def test_a_blinded_page_names_no_model_among_the_steps(start: Start) -> None:
    records = classification(20)
    for record in records:
        for name, answer in record["suggestions"].items():
            answer["trajectory"] = [{"kind": "model", "name": f"maker/{name}"}, {"kind": "tool", "name": "search"}]
    page = Client(start(records).url)
    shown = json.dumps([page.record(item) for item, _ in page.get("setup")["index"]])
    assert '"search"' in shown
    assert "maker" not in shown


def test_what_is_known_beside_the_inputs_is_no_input_of_the_gold(start: Start) -> None:
    own = [
        {"id": f"r{n}", "body": f"letter {n}", "meta": {"old": "x"}, "suggestions": {"a": {"tone": "x"}}}
        for n in range(4)
    ]
    first = start(own, task="tone")
    page = Client(first.url)
    assert page.record("0")["fields"] == {"body": "letter 0", "old": "x"}
    page.decide("0", value={"tone": "y"})
    first.export()
    assert "inputs:\n- body\n" in (first.folder / "card.yaml").read_text()
