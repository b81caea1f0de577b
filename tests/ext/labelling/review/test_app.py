"""The HTTP interface of a review: what a page is shown, what it decides, what is refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.ext.labelling.review.conftest import (
    LABELS,
    Client,
    Start,
    classification,
    decision,
    extraction,
    write_draft,
)

from goldassay.ext.labelling.review import review as open_review

HOSTILE = ['"><script>alert(1)</script>', "../../etc/passwd", "a\u202eb", "%00", "0", "né 🙂", "__proto__"]


def lines(review: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (review.folder / "labels.jsonl").read_text().splitlines()]


def test_setup_names_the_task_its_labels_and_the_first_records(start: Start) -> None:
    page = Client(start(classification()).url)
    setup = page.get("setup")
    assert (setup["task"], setup["mode"], setup["outputs"]) == ("classification", "compare", ["label"])
    assert setup["labels"] == sorted(LABELS)
    assert setup["next"] == [str(index) for index in range(8)]
    assert setup["index"][:2] == [["0", "r0"], ["1", "r1"]]
    assert setup["systems"] is None, "the names are hidden until the end"
    assert setup["progress"]["left"] == 40


def test_a_decision_is_a_line_and_brings_the_next_record(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    first = page.record("1")
    assert first["suggestions"][0]["value"] == {"entities": [{"start": 0, "end": 6, "type": "ORG", "text": "Museum"}]}
    answer = page.decide("1", value=first["suggestions"][0]["value"], note="sure")
    assert answer["next"][0] == "0"
    assert "1" not in answer["next"]
    (line,) = lines(review)
    assert (line["record"], line["who"], line["seconds"], line["note"]) == ("d1", "ann", 1.5, "sure")
    assert line["shown"] == ["a"]
    assert page.record("1")["decision"]["value"] == line["value"]


def test_a_value_that_is_no_gold_is_refused_and_not_written(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    span = {"start": 0, "end": 6, "type": "ORG", "text": "Archiv"}
    status, answer = page.send("POST", "decisions", decision("0", value={"entities": [span]}))
    assert status == 422
    assert "not 'Archiv'" in answer["error"]
    assert answer["field"] == "entities[0]"
    for value in ({"entities": [{**span, "end": 999}]}, {"label": "x"}, {"entities": "x"}, {"id": "other"}):
        assert page.send("POST", "decisions", decision("0", value=value))[0] == 422
    assert page.send("POST", "decisions", decision("0"))[0] == 422, "a label without a value"
    assert lines(review) == []


def test_the_same_decision_twice_is_one_line(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    sent = decision("0", value={"entities": []})
    assert page.post("decisions", sent) == page.post("decisions", sent)
    undo = decision("", kind="undo")
    assert page.post("decisions", undo)["undone"]["decision"] == sent["decision"]
    assert page.post("decisions", undo)["undone"]["decision"] == sent["decision"]
    assert [line["kind"] for line in lines(review)] == ["label", "undo"]


def test_undo_goes_back_to_the_beginning_and_brings_back_what_was_decided_before(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    page.decide("0", value={"entities": []})
    page.decide("1", kind="skip")
    changed = {"entities": [{"start": 0, "end": 6, "type": "ORG"}]}
    page.decide("0", value=changed)
    answer = page.undo()
    assert answer["next"][0] == answer["item"] == "0"
    assert answer["undone"]["value"] == changed
    assert page.record("0")["decision"]["value"] == {"entities": []}
    assert [page.undo()["item"], page.undo()["item"]] == ["1", "0"]
    page.decide("0", value={"entities": []})
    other = Client(review.url, "bo")
    for who, undoes in ((other, None), (other, lines(review)[-1]["decision"]), (page, lines(review)[0]["decision"])):
        assert who.send("POST", "decisions", decision("", kind="undo", undoes=undoes))[0] == 409
    page.undo()
    assert page.get("progress")["done"] == 0


def test_a_choice_of_a_side_is_that_system_s_value(start: Start) -> None:
    review = start(classification())
    page = Client(review.url)
    orders = set()
    for number, (item, name) in enumerate(page.get("setup")["index"]):
        record = page.record(item)
        if record["blind"]:
            assert record["suggestions"] == []
            continue
        assert [side["system"] for side in record["suggestions"]] == [None, None]
        page.decide(item, choice="1")
        line = lines(review)[-1]
        orders.add(tuple(line["shown"]))
        step = ("a", "b").index(line["shown"][0])
        assert line["value"] == {"label": LABELS[(number + step) % 3]} == record["suggestions"][0]["value"], name
    assert orders == {("a", "b"), ("b", "a")}
    assert sum(page.record(str(index))["blind"] for index in range(40)) == 4
    assert page.send("POST", "decisions", decision("0", choice="7"))[0] == 422
    page.decide("0", choice="neither")
    assert "value" not in lines(review)[-1]
    assert page.post("reveal", {}) == {"systems": ["a", "b"]}
    assert page.get("progress")["systems"] == ["a", "b"]


def test_of_errors_no_answer_is_hidden(start: Start) -> None:
    """Who is asked what goes wrong has to see it; a hidden answer would count as one without failure."""
    opened = start(classification(40, question="errors"))
    page = Client(opened.url)
    records = [page.record(str(index)) for index in range(40)]
    assert opened.session.queue.blind
    assert not any(record["blind"] for record in records)
    assert all(record["suggestions"] for record in records)


def test_the_names_of_the_sides_do_not_reach_the_page_before_the_end(start: Start) -> None:
    records = json.loads(json.dumps(classification(20)).replace('"a"', '"prompt-old"').replace('"b"', '"prompt-new"'))
    page = Client(start(records).url)
    answers = [
        page.get("setup"),
        page.decide("0", choice="both"),
        page.decide("0", value={"label": "museum"}),
        page.undo(),
    ]
    answers += [page.record("0"), page.record("0:repeat"), page.get("progress"), page.post("export", {})]
    assert "prompt-" not in json.dumps(answers)
    for index in range(20):
        page.decide(str(index), value={"label": "museum"})
    assert page.get("progress")["systems"] == ["prompt-old", "prompt-new"]


@pytest.mark.parametrize("item", ["40", "-1", "x", "1:other", "1:repeat:x", "٣", "9" * 5000, "../1"])
def test_an_item_that_does_not_exist_is_refused(start: Start, item: str) -> None:
    page = Client(start(extraction()).url)
    assert page.send("POST", "decisions", decision(item, value={"entities": []}))[0] in (400, 422)
    assert page.send("POST", "records", {"items": [item]})[0] == 422


@pytest.mark.parametrize(
    "sent",
    [
        [],
        "x",
        {},
        {"decision": "1"},
        {**decision("0"), "extra": 1},
        {**decision("0"), "kind": "drop"},
        {**decision("0"), "seconds": -1},
    ],
)
def test_a_request_of_another_shape_is_refused(start: Start, sent: Any) -> None:
    review = start(extraction())
    assert Client(review.url).send("POST", "decisions", sent)[0] == 400
    assert lines(review) == []


def test_requests_of_other_pages_are_refused(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    sent = decision("0", value={"entities": []})
    assert page.send("POST", "decisions", sent, Origin="http://evil.example")[0] == 403
    assert page.send("POST", "decisions", sent, Host="evil.example")[0] == 403
    assert page.send("POST", "decisions", sent, **{"Content-Type": "text/plain"})[0] == 415
    assert page.send("POST", "decisions", {**sent, "note": "x" * 5_000_000})[0] == 413
    assert page.send("GET", "decisions")[0] == 405
    stranger = Client(review.url.replace(review.server.token, "x" * 24))
    assert stranger.send("POST", "decisions", sent)[0] == 403
    assert lines(review) == []


@pytest.mark.parametrize("name", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "", "tasks", "none.js"])
def test_only_the_files_of_the_page_are_served(start: Start, name: str) -> None:
    page = Client(start(extraction()).url)
    assert page.send("GET", f"assets/{name}")[0] == 404
    assert page.send("GET", "assets/report.css")[0] == 200


def test_hostile_ids_texts_and_names_come_back_as_they_are(start: Start) -> None:
    records = [
        {**record, "id": name, "text": name * 3} for name, record in zip(HOSTILE, classification(7), strict=True)
    ]
    review = start(records)
    page = Client(review.url, who=HOSTILE[0])
    for item, name in page.get("setup")["index"]:
        record = page.record(item)
        assert (record["id"], record["fields"]["text"]) == (name, name * 3)
        page.decide(item, value={"label": name}, note=name)
    assert [line["record"] for line in lines(review)] == HOSTILE
    assert {line["who"] for line in lines(review)} == {HOSTILE[0]}
    assert review.export()["records"] == 7


def test_guidelines_are_written_unless_somebody_else_wrote_them_meanwhile(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    before = page.get("guidelines")
    assert before["text"] == ""
    status, saved = page.send("PUT", "guidelines", {**before, "text": "Towns are no organisations 🙂"})
    assert (status, saved["text"]) == (200, "Towns are no organisations 🙂")
    assert (review.folder / "guidelines.md").read_text("utf-8") == saved["text"]
    status, answer = page.send("PUT", "guidelines", {**before, "text": "Mine"})
    assert (status, answer["text"]) == (409, saved["text"])
    assert page.send("PUT", "guidelines", {**saved, "text": "é" * 40_000})[0] == 422
    more = {**saved, "text": f"{saved['text']}\nYears are times", "record": "r 1"}
    status, saved = page.send("PUT", "guidelines", more)
    assert (status, saved["text"]) == (200, "Towns are no organisations 🙂\nYears are times (record r 1)")


def test_links_are_searched_in_the_knowledge_base(start: Start) -> None:
    link = {"start": 0, "end": 5, "text": "Delft", "candidates": [{"id": "Q690", "score": 0.4}]}
    draft = [{"id": "a", "text": "Delft", "suggestions": {"s": {"links": [link]}}}]
    review = start(draft)
    (review.folder / "knowledge.jsonl").write_text('{"id": "Q690", "label": "Delft", "description": "a town"}\n')
    page = Client(review.url)
    assert page.get("search?q=delt")["results"] == [
        {"id": "Q690", "ids": {"wikidata": ["Q690"]}, "label": "Delft", "description": "a town"}
    ]
    (suggestion,) = page.record("0")["suggestions"]
    assert suggestion["output"]["links"][0]["candidates"][0]["description"] == "a town"
    assert suggestion["value"]["links"] == [{"start": 0, "end": 5, "text": "Delft", "ids": {"wikidata": ["Q690"]}}]
    page.decide("0", value=suggestion["value"])
    assert review.export()["records"] == 1


def test_half_of_a_character_shifts_no_span_and_stops_no_page(start: Start) -> None:
    """Tools in JavaScript write it; `json.dumps` writes the same escapes."""
    draft = extraction(3)
    span = {"start": 3, "end": 9, "type": "ORG", "text": "Museum"}
    draft[0] |= {"text": "a\ud83d Museum", "suggestions": {"a": {"entities": [span]}}}
    review = start(draft)
    page = Client(review.url)
    record = page.record("0")
    assert record["fields"]["text"] == "a\ufffd Museum"
    assert record["suggestions"][0]["value"]["entities"][0]["text"] == "Museum"
    page.decide("0", value={"entities": [span]}, note="a \ud83d", modes=["m\udc00"])
    page.send("PUT", "guidelines", {**page.get("guidelines"), "text": "g \ud83d"})
    assert page.get("guidelines")["text"] == "g \ufffd"
    assert page.get("setup")["modes"][0]["name"] == page.get("modes")["modes"][0]["name"] == "m\ufffd"
    assert review.export()["records"] == 1
    review.close()
    journal = review.folder / "labels.jsonl"
    journal.write_text(journal.read_text().replace("a \ufffd", "a \\ud83d"))
    assert Client(start().url).record("0")["decision"]["note"] == "a \ufffd"


def test_traces_with_half_of_a_character_are_drafted_with_it_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": str(number), "text": f"a\ud83d Museum {number}"} for number in range(30)]
    monkeypatch.chdir(tmp_path)
    spans = [{"start": 3, "end": 9, "type": "ORG", "text": "Museum"}]
    traces = write_draft(tmp_path / "traces.jsonl", [{**row, "entities": spans} for row in rows])
    with open_review(traces, task="extraction", question="errors", n=5) as review:
        record = Client(review.url).record("0")
    (entity,) = record["suggestions"][0]["value"]["entities"]
    assert record["fields"]["text"][entity["start"] : entity["end"]] == "Museum"


def test_what_cannot_be_answered_says_what_to_do(start: Start) -> None:
    review = start(extraction())
    (review.folder / "guidelines.md").write_bytes(b"\xff")
    status, answer = Client(review.url).send("GET", "guidelines")
    assert (status, "guidelines.md" in answer["error"]) == (422, True)


SECRET = "sk-abcdef1234567890"


def test_no_secret_is_written_to_the_folder(start: Start) -> None:
    draft = extraction(3)
    span = {"start": 24, "end": 30, "type": "ORG", "text": "Museum"}
    draft[0] |= {"text": f"key {SECRET} Museum", "suggestions": {"a": {"entities": [span]}}}
    review = start(draft, who=f"ann {SECRET}")
    page = Client(review.url, f"bo {SECRET}")
    page.sitting = SECRET
    assert page.record("0")["fields"]["text"] == f"key {'*' * len(SECRET)} Museum"
    page.send("PUT", "guidelines", {**page.get("guidelines"), "text": f"use {SECRET}", "record": "0"})
    labelled = {"entities": [{**span, "type": SECRET}]}
    page.decide("0", value=labelled, note=SECRET, modes=[SECRET])
    page.post("modes", {"change": "1", "kind": "describe", "mode": "a", "description": SECRET})
    for place, sent in (
        ("decisions", decision("1", value={"entities": []}) | {"decision": SECRET}),
        ("decisions", decision("", kind="undo", undoes=SECRET)),
        ("modes", {"change": SECRET, "kind": "describe", "mode": "a", "description": ""}),
    ):
        assert page.send("POST", place, sent)[0] in (400, 409)
    review.export()
    review.close()
    leaks = [file.name for file in review.folder.iterdir() if SECRET.encode() in file.read_bytes()]
    assert leaks == []
    assert (review.folder / "guidelines.md").read_text() == "use [hidden] (record 0)"
    assert start().session.journal.lines, "the same draft goes on"


def test_a_review_that_has_a_secret_from_before_goes_on(start: Start) -> None:
    draft = classification(20)
    draft[0]["text"] = f"key {SECRET}"
    review = start(draft)
    review.close()
    file = review.folder / "draft.jsonl"
    file.write_text(file.read_text().replace("*" * len(SECRET), SECRET))
    assert Client(start().url).get("setup")["records"] == 20


def test_a_line_twice_in_the_journal_is_one_and_an_undo_takes_it_back(start: Start) -> None:
    review = start(classification(20))
    page = Client(review.url)
    page.decide("0", value={"label": LABELS[0]})
    review.close()
    journal = review.folder / "labels.jsonl"
    journal.write_text(2 * journal.read_text())
    page = Client(start().url)
    assert page.get("progress")["done"] == 1
    page.undo()
    assert page.get("progress")["done"] == 0


def test_an_id_is_of_a_decision_or_of_a_change_of_modes(start: Start) -> None:
    page = Client(start(classification(20)).url)
    change = {"change": "1", "kind": "describe", "mode": "a", "description": "b"}
    page.post("modes", change)
    assert page.send("POST", "decisions", decision("0", value={"label": "x"}) | {"decision": "1"})[0] == 422
    page.post("decisions", decision("0", value={"label": LABELS[0]}) | {"decision": "2"})
    assert page.send("POST", "modes", change | {"change": "2"})[0] == 422


def test_after_a_restart_two_people_do_not_get_one_record(start: Start) -> None:
    review = start(classification(40))
    ann, bob = Client(review.url, "ann"), Client(review.url, "bob")
    fetched = [set(page.get("setup")["next"]) for page in (ann, bob)]
    assert not fetched[0] & fetched[1]
    review.close()
    again = start()
    for page in (ann, bob):
        page.parts = urlsplit(again.url)
    assert set(bob.get("setup")["next"]) == fetched[1], "before ann's page was heard of again"


@pytest.mark.parametrize("host", ["127.0.0.2", "0.0.0.0"])
def test_colleagues_label_at_once_at_another_address_of_this_machine(start: Start, host: str) -> None:
    review = start(classification(40), host=host)
    place = urlsplit(review.url)
    assert place.hostname != "127.0.0.1"

    def label(who: str) -> list[str]:
        page = Client(review.url, who)
        items = page.get("setup")["next"]
        labelled = []
        while items:
            labelled.append(page.record(items[0])["id"])
            items = page.decide(items[0], value={"label": labels[labelled[-1]]})["next"]
        return labelled

    labels = {f"r{number}": LABELS[number % 3] for number in range(40)}
    with ThreadPoolExecutor(3) as people:
        done = dict(zip(("ann", "bob", "eve"), people.map(label, ("ann", "bob", "eve")), strict=True))
    lines = [json.loads(line) for line in (review.folder / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {who: [line["record"] for line in lines if line["who"] == who] for who in done} == done
    assert {line["record"] for line in lines} == {*labels}
    assert review.export()["records"] == 40
    gold = [json.loads(line) for line in (review.folder / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["id"]: row["label"] for row in gold} == labels
