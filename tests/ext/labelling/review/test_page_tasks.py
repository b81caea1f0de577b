"""Every other task on the page: keys alone make the gold that was intended, from nothing and from suggestions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.ext.labelling.review.desk import Desk
from tests.nightly import by_day

TEXT = "Het museum in Delft kreeg in 1985 een psalter 😀 van Galerie Morel."
KNOWLEDGE = [
    {"id": "Q690", "label": "Delft", "description": "city in South Holland", "ids": {"wikidata": ["Q690"]}},
    {"id": "7", "label": "Delft Blue", "description": "pottery", "ids": {"viaf": ["7"]}},
]


def find(screen: Any, key: str, words: str) -> None:
    """Open a finder with a key, type words, and take the first option."""
    screen.page.keyboard.press(key)
    screen.page.wait_for_selector("#finder[open]")
    screen.write(words)
    screen.page.wait_for_selector("#finder li")
    screen.press("Enter")
    screen.page.wait_for_selector("#finder:not([open])", state="attached")


def place(words: str, **more: Any) -> dict[str, Any]:
    start = TEXT.index(words)
    return {"start": start, "end": start + len(words), "text": words, **more}


def linking() -> Desk:
    def links(delft: str) -> dict[str, Any]:
        candidates = [{**entry, "score": 0.5} for entry in KNOWLEDGE]
        found = [place("Delft", ids={"wikidata": [delft]}), place("Galerie Morel", ids={})]
        return {"links": [{**link, "candidates": candidates if link["text"] == "Delft" else []} for link in found]}

    def gold(value: dict[str, Any]) -> dict[str, Any]:
        return {"links": [{k: v for k, v in link.items() if k != "candidates"} for link in value["links"]]}

    records = [
        {"id": "nothing", "text": TEXT, "suggestions": {}},
        {"id": "one", "text": TEXT, "suggestions": {"a": links("Q690")}},
        {"id": "two", "text": TEXT, "suggestions": {"a": links("Q690"), "b": links("Q1")}},
    ]
    desk = Desk("linking", records, ["links"], knowledge=KNOWLEDGE)
    plain = desk.record

    def record(item: str) -> dict[str, Any]:
        shown = plain(item)
        return {**shown, "suggestions": [{**each, "value": gold(each["output"])} for each in shown["suggestions"]]}

    desk.record = record  # type: ignore[method-assign]
    return desk


def test_mentions_are_linked_by_keys(show: Any) -> None:
    screen = show(linking())
    screen.press(*["ArrowRight"] * 4)  # Delft
    find(screen, "/", "Delft")
    find(screen, "w", "Galerie Morel")
    find(screen, "/", "Q42")
    screen.press("0", "Enter")
    screen.press("ArrowUp", "0", "ArrowUp", "1", "Enter")  # NIL at the second, the first candidate at the first
    screen.press("Enter")  # the systems differ on Delft
    assert "Not decided: Delft" in screen.page.inner_text("#message")
    screen.press("2", "Backspace", "Enter")
    screen.decided(3)
    nothing, one, two = screen.desk.gold()
    assert nothing == {"links": [place("Delft", ids={"wikidata": ["Q690"]}), place("Galerie Morel", ids={})]}
    assert one == nothing
    assert two == {"links": [place("Delft", ids={"viaf": ["7"]})]}
    assert screen.console == []


def answering(n: int, **systems: str) -> Desk:
    suggestions = {name: {"answers": [answer]} for name, answer in systems.items()}
    records = [
        {"id": f"q{number}", "question": "Van wie kreeg het museum iets?", "context": TEXT, "suggestions": suggestions}
        for number in range(n)
    ]
    return Desk("answering", records, ["answers", "supporting_facts"])


def test_an_answer_is_right_partly_wrong_typed_or_absent(show: Any) -> None:
    screen = show(answering(6, only="Morel"))
    screen.press("1", "2", "3", "0", "Enter", "i")
    screen.write("Galerie Morel | Morel")
    screen.press("Enter")
    find(screen, "/", "van Galerie Morel")
    screen.press("v", "1")
    screen.decided(6)
    lines = [(line["value"], line["good"], line["modes"]) for line in screen.desk.lines]
    assert lines == [
        ({"answers": ["Morel"]}, True, []),
        (None, False, ["partly right"]),
        (None, False, []),
        ({"answers": []}, None, []),
        ({"answers": ["Galerie Morel", "Morel"]}, None, []),
        ({"answers": ["Morel"], "supporting_facts": ["van Galerie Morel"]}, True, []),
    ]


def test_answers_of_two_systems_and_of_none(show: Any) -> None:
    screen = show(answering(2, a="Delft", b="Morel"))
    screen.press("Enter")
    assert "Choose" in screen.page.inner_text("#message")
    screen.press("b", "Enter", "a", "u", "i")
    screen.write("1985")
    screen.press("Enter")
    screen.decided(2)
    assert [value["answers"] for value in screen.desk.gold()] == [["Morel"], ["1985"]]
    empty = show(answering(1))
    empty.press("i")
    empty.write("j k u 1")
    empty.press("Enter")
    empty.decided(1)
    assert empty.desk.gold() == [{"answers": ["j k u 1"]}]


def test_passages_are_graded_by_digits(show: Any) -> None:
    results = {
        name: [{"doc_id": f"d{number}", "text": TEXT} for number in order]
        for name, order in (("a", (0, 1)), ("b", (2, 0)))
    }
    suggestions = {name: {"relevant": {}, "results": each} for name, each in results.items()}
    records = [{"id": "q", "query": "psalters", "suggestions": suggestions}]
    records.append({"id": "r", "query": "none", "passages": {"p": "one", "r": "two"}, "suggestions": {}})
    screen = show(Desk("retrieval", records, ["relevant"]))
    screen.press("3", "0", "2", "ArrowUp", "ArrowUp", "1", "u", "Enter")
    screen.press("Enter")
    assert "Grade a passage" in screen.page.inner_text("#message")
    screen.press("1", "2", "ArrowUp", "Backspace", "Enter")
    screen.decided(2)
    assert screen.desk.gold() == [{"relevant": {"d0": 3, "d2": 0, "d1": 2}}, {"relevant": {"r": 2}}]


def test_statements_are_picked_from_the_text_taken_and_refused(show: Any) -> None:
    first = {"subject": "museum", "predicate": "P131", "object": "Delft", "object_type": "item"}
    second = {"subject": "psalter", "predicate": "P571", "object": "1985"}
    suggestions = {"a": {"triples": [first]}, "b": {"triples": [first, second]}}
    records: list[dict[str, Any]] = [{"id": "none", "text": TEXT, "suggestions": {}}]
    records += [{"id": f"t{number}", "text": TEXT, "suggestions": suggestions} for number in range(3)]
    screen = show(Desk("triples", records, ["triples"], predicates=["P131", "P571"]))
    screen.press("ArrowRight", "ArrowRight", "1", "ArrowRight", "ArrowRight", "3")
    find(screen, "2", "131")
    screen.press("Enter")
    screen.press("Enter")  # what both say
    screen.press("b", "ArrowDown", "Backspace", "Enter")
    screen.press("ArrowDown", "ArrowDown", " ")
    find(screen, "2", "made in")
    find(screen, "/", "een psalter")
    screen.press("1", "Enter")
    screen.decided(4)
    made = {"subject": "museum", "predicate": "P131", "object": "Delft"}
    third = {"subject": "een psalter", "predicate": "made in", "object": "1985"}
    assert [value["triples"] for value in screen.desk.gold()] == [[made], [first], [second], [first, third]]


def test_a_half_statement_is_not_accepted(show: Any) -> None:
    screen = show(Desk("triples", [{"id": "t", "text": TEXT, "suggestions": {}}], ["triples"]))
    screen.press("ArrowRight", "1", "Enter")
    assert "lacks a part" in screen.page.inner_text("#message")
    screen.press("ArrowDown", "Backspace", "Enter")
    screen.decided(1)
    assert screen.desk.gold() == [{"triples": []}]


RECORD = {
    "place": "Delft",
    "year": 1985,
    "price": {"amount": 10.5, "currency": "EUR"},
    "objects": [{"title": "psalter", "number": "1"}],
    "public": True,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "place": {"type": "string"},
        "year": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "price": {"$ref": "#/$defs/Price"},
        "objects": {"type": "array", "items": {"type": "object", "properties": {"title": {"type": "string"}}}},
        "public": {"type": "boolean"},
    },
    "$defs": {
        "Price": {
            "type": "object",
            "properties": {"amount": {"type": "number"}, "currency": {"enum": ["EUR", "USD"]}},
        }
    },
}


def test_a_record_is_filled_from_a_schema(show: Any) -> None:
    screen = show(Desk("records", [{"id": "r", "text": TEXT, "suggestions": {}}], ["record"], schema=SCHEMA))
    keyboard = screen.page.keyboard
    screen.press("i")
    screen.write("Delft")
    keyboard.press("Tab")
    screen.write("many")
    keyboard.press("Escape")
    assert "a integer is needed" in screen.page.inner_text("#message") or "integer" in screen.page.inner_text(
        "#message"
    )
    screen.press("i")
    keyboard.press("Control+A")
    screen.write("1985")
    keyboard.press("Escape")
    screen.press("ArrowDown", "ArrowDown", "i")
    screen.write("10.5")
    keyboard.press("Escape")
    screen.press("ArrowDown", "1", "ArrowDown", "i", "ArrowDown", "ArrowDown", "i")
    screen.write("psalter")
    keyboard.press("Escape")
    screen.press("ArrowDown", "Enter")
    screen.decided(1)
    assert screen.desk.gold() == [
        {
            "record": {
                "place": "Delft",
                "year": 1985,
                "price": {"amount": 10.5, "currency": "EUR"},
                "objects": [{"title": "psalter"}],
            }
        }
    ]


def test_fields_in_which_systems_differ_are_decided_one_by_one(show: Any) -> None:
    other = {**RECORD, "place": "Gouda", "year": 1958, "objects": [{"title": "book", "number": "1"}]}
    both = {"a": {"record": RECORD}, "b": {"record": other}}
    records = [{"id": f"r{number}", "text": TEXT, "suggestions": both} for number in range(3)]
    screen = show(Desk("records", records, ["record"]))
    assert "Delft" in screen.page.inner_text(".form")
    screen.press("Enter")
    assert "Still to decide: place, year, objects 1 title" in screen.page.inner_text("#message")
    screen.press("a", "b", "a", "Enter")
    screen.press("B", "Enter")
    screen.press("A", "u", "a", "Backspace", "i")
    screen.write("diptych")
    screen.press("Enter")
    screen.decided(3)
    first, second, third = (value["record"] for value in screen.desk.gold())
    assert first == {**RECORD, "year": 1958}
    assert second == other
    assert third == {
        **{k: v for k, v in RECORD.items() if k != "year"},
        "objects": [{"number": "1", "title": "diptych"}],
    }


def test_digits_choose_the_value_of_a_field_that_is_true_or_false(show: Any) -> None:
    both = {"a": {"urgent": True}, "b": {"urgent": False}}
    fields = [{"name": "urgent", "type": "bool", "description": "", "choices": []}]
    screen = show(Desk("ticket", [{"id": "t", "text": TEXT, "suggestions": both}], ["urgent"], fields=fields))
    screen.press("2", "Enter")
    screen.decided(1)
    assert screen.desk.gold() == [{"urgent": False}]


def test_the_value_of_a_field_is_marked_in_the_source(show: Any) -> None:
    screen = show(Desk("records", [{"id": "r", "text": TEXT, "suggestions": {"a": {"record": RECORD}}}], ["record"]))
    assert screen.page.inner_text(".source mark") == "Delft"
    screen.press("ArrowDown")
    assert screen.page.inner_text(".source mark") == "1985"


FIELDS = [
    {"name": "urgency", "type": "str", "description": "How urgent", "choices": ["low", "high"]},
    {"name": "reply", "type": "str", "description": "", "choices": []},
    {"name": "days", "type": "int", "description": "", "choices": []},
]


def test_a_task_of_your_own_has_a_form_and_plain_good_or_bad(show: Any) -> None:
    output = {"urgency": "low", "reply": "Thanks."}
    records = [
        {"id": f"o{number}", "ticket": "The lift is broken", "suggestions": {"a": output}} for number in range(4)
    ]
    records.append({"id": "none", "ticket": "No lift", "suggestions": {}})
    screen = show(Desk("ticket", records, ["urgency", "reply", "days"], fields=FIELDS))
    screen.press("+", "-", "2", "Enter", "Enter", "1", "ArrowDown", "i")
    screen.write("Soon.")
    screen.page.keyboard.press("Tab")
    screen.write("3")
    screen.press("Enter")
    screen.decided(5)
    assert screen.desk.gold() == [
        output,
        None,
        {**output, "urgency": "high"},
        output,
        {"urgency": "low", "reply": "Soon.", "days": 3},
    ]
    assert [line["good"] for line in screen.desk.lines] == [True, False, None, None, None]


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_a_picture_is_shown_and_its_address_is_not_opened(show: Any) -> None:
    picture = f"data:image/png;base64,{PIXEL}"
    texts = {
        "link": "https://example.org/scans/of/the/archive/1.png",
        "drawing": "data:image/svg+xml,<svg onload='f()'/>" * 2,
    }
    record = {"id": "p", "scan": picture, "back": {"url": picture}, **texts, "suggestions": {}}
    screen = show(Desk("scans", [record], ["reply"], fields=FIELDS[1:2]))
    screen.page.wait_for_function(
        "[...document.querySelectorAll('.input img')].filter((img) => img.naturalWidth).length === 2"
    )
    assert screen.page.locator(".input .plain").all_inner_texts() == list(texts.values())


HOSTILE = "<img src=x onerror=alert(1)>"
OUTPUTS: dict[str, dict[str, Any]] = {
    "answering": {"answers": [HOSTILE]},
    "linking": {"links": [{"start": 0, "end": 28, "text": HOSTILE, "ids": {"wikidata": [HOSTILE]}}]},
    "retrieval": {"relevant": {HOSTILE: 1}, "results": [{"doc_id": HOSTILE, "text": HOSTILE}]},
    "triples": {"triples": [{"subject": HOSTILE, "predicate": HOSTILE, "object": HOSTILE}]},
    "records": {"record": {HOSTILE: HOSTILE, "items": [{"a": HOSTILE}]}},
    "ticket": {"answer": HOSTILE},
}
FIELD = {"ticket": "answer", "triples": "triples", "records": "record", "retrieval": "relevant", "linking": "links"}


def page_of(task: str, mode: str = "label") -> Desk:
    output = OUTPUTS[task]
    other = {name: type(value)() for name, value in output.items()} if mode == "compare" else output
    fields = {"text": f"{HOSTILE} x", "question": HOSTILE, "query": HOSTILE, "context": HOSTILE}
    record = {"id": HOSTILE, **fields, "suggestions": {HOSTILE: output, "b": other}}
    return Desk(task, [record], [FIELD.get(task, "answers")], mode=mode, knowledge=[])


@pytest.mark.parametrize(
    ("task", "mode"),
    [
        pytest.param(task, mode, marks=() if number % 2 == (mode == "compare") else pytest.mark.nightly)
        for number, task in enumerate(OUTPUTS)
        for mode in ("label", "compare")
    ],
)
def test_hostile_values_stay_text_in_every_task(show: Any, task: str, mode: str) -> None:
    screen = show(page_of(task, mode))
    screen.press("ArrowDown")
    assert screen.page.query_selector("img") is None
    assert HOSTILE in screen.page.inner_text("main")
    screen.press("Enter" if mode == "label" else "1")
    screen.decided(1)
    assert screen.console == []


@pytest.mark.parametrize("task", by_day(OUTPUTS))
def test_axe_finds_nothing(show: Any, task: str) -> None:
    screen = show(page_of(task))
    screen.press("ArrowDown")
    assert screen.violations() == []
