"""The extraction program: names from a model, offsets from code; and the baseline that knows patterns."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay import workspace
from goldassay.measures.extraction import SpanF1

WORDS = ["Het", "Museum", "of", "Gent", "1904", "in", "NL-HaNA", "Archives", "d'Or", ",", ".", "19e", "eeuw"]


@pytest.fixture(scope="module")
def programs(root: Path) -> ModuleType:
    return workspace.load(root / "programs" / "extraction.py")


@pytest.fixture(scope="module")
def heritage(root: Path) -> dict[str, list[dspy.Example]]:
    lines = (root / "gold" / "heritage" / "extraction.jsonl").read_text(encoding="utf-8").splitlines()
    splits: dict[str, list[dspy.Example]] = {}
    for record in map(json.loads, lines):
        splits.setdefault(record["split"], []).append(dspy.Example(**record).with_inputs("text"))
    return splits


class Engine:
    """Says what it was told to say."""

    def __init__(self, mentions: list[tuple[str, str]]) -> None:
        self.text = json.dumps({"mentions": [{"text": text, "type": kind} for text, kind in mentions]})

    def complete(self, request: Any) -> Response:
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        message = Message.assistant([TextPart(self.text)])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


class AsyncEngine(Engine):
    async def complete(self, request: Any) -> Response:
        return super().complete(request)


@pytest.fixture
def says(programs: ModuleType) -> Callable[..., list[dict[str, Any]]]:
    """The entities that the program makes of what a model says about a text."""

    def ask(text: str, *mentions: tuple[str, str], program: Any = programs.program) -> list[dict[str, Any]]:
        lm = dspy.LM("scripted/model", engine=Engine(list(mentions)), cache=False)
        with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
            entities: list[dict[str, Any]] = program(text=text).entities
        return entities

    return ask


def test_offsets_are_found_in_the_order_of_mention(says: Callable[..., list[dict[str, Any]]]) -> None:
    #       0         1         2         3
    #       0123456789012345678901234567890123
    text = "Gent: het museum in Gent, sinds 1904"
    assert says(text, ("Gent", "TOP"), ("Gent", "TOP"), ("1904", "TMP")) == [
        {"start": 0, "end": 4, "type": "TOP", "text": "Gent"},
        {"start": 20, "end": 24, "type": "TOP", "text": "Gent"},
        {"start": 32, "end": 36, "type": "TMP", "text": "1904"},
    ]


def test_the_text_of_an_entity_is_the_documents_whatever_the_model_made_of_it(
    says: Callable[..., list[dict[str, Any]]],
) -> None:
    (entity,) = says("Au musée d’Orsay", ("MUSÉE D'ORSAY", "GRP.HER.MUS"))
    assert entity == {"start": 3, "end": 16, "type": "GRP.HER.MUS", "text": "musée d’Orsay"}


def test_a_name_that_is_not_in_the_text_is_kept_and_counted(says: Callable[..., list[dict[str, Any]]]) -> None:
    entities = says("In Gent", ("Gent", "TOP"), ("Louvre", "GRP.HER.MUS"), ("louvre", "GRP.HER.MUS"))
    assert entities[1:] == [{"start": None, "end": None, "type": "GRP.HER.MUS", "text": "Louvre"}]
    gold = {"text": "In Gent", "entities": [{"start": 3, "end": 7, "type": "TOP", "text": "Gent"}]}
    assessed = SpanF1()(gold, dspy.Prediction(entities=entities))
    assert [error.kind for error in assessed.errors] == ["not_in_text"]
    assert (assessed.tally.tp, assessed.tally.fp, assessed.tally.fn) == (1, 1, 0)


def test_a_name_said_too_often_counts_once_unless_its_type_is_another(
    says: Callable[..., list[dict[str, Any]]],
) -> None:
    entities = says("In Gent", ("Gent", "TOP"), ("Gent", "TOP"), ("Gent", "GRP.HER.SOC"))
    assert [(entity["start"], entity["type"]) for entity in entities] == [(3, "TOP"), (3, "GRP.HER.SOC")]


def test_no_names_are_no_entities(says: Callable[..., list[dict[str, Any]]]) -> None:
    assert says("In Gent") == []


def test_async(programs: ModuleType) -> None:
    lm = dspy.LM("s/m", engine=Engine([]), async_engine=AsyncEngine([("Gent", "TOP")]), cache=False)

    async def main() -> Any:
        with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
            return await programs.Extraction().acall(text="In Gent")

    assert asyncio.run(main()).entities[0]["start"] == 3


def test_gold_shown_and_said_again_is_gold_again(
    programs: ModuleType, heritage: dict[str, list[dspy.Example]], says: Callable[..., list[dict[str, Any]]]
) -> None:
    """Names in gold's order lead back to gold's offsets, but where gold skips an earlier place of the same name."""
    wrong = 0
    for example in heritage["dev"]:
        mentions = programs.program.to_demo(example)["mentions"]
        entities = says(example.text, *[(mention["text"], mention["type"]) for mention in mentions])
        wrong += len(
            {tuple(entity.items()) for entity in entities} ^ {tuple(span.items()) for span in example.entities}
        )
    assert wrong <= 2


def test_the_state_is_saved_and_loaded(programs: ModuleType, tmp_path: Path) -> None:
    program = programs.Extraction()
    program.extract.demos = [dspy.Example(text="In Gent", mentions=[{"text": "Gent", "type": "TOP"}])]
    program.save(str(tmp_path / "state.json"))
    again = programs.Extraction()
    again.load(str(tmp_path / "state.json"))
    assert again.extract.demos[0]["mentions"] == [{"text": "Gent", "type": "TOP"}]


def found(baseline: Any, text: str, kind: str) -> list[str]:
    return [entity["text"] for entity in baseline(text=text).entities if entity["type"] == kind]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Opened in 1895, closed in 1920.", ["1895", "1920"]),
        ("op 3 maart 1911 en in de 19e eeuw", ["3 maart 1911", "19e eeuw"]),
        ("on March 3, 1911 and in the 19th century", ["March 3, 1911", "19th century"]),
        ("am 3. März 1911 und im 18. Jahrhundert", ["3. März 1911", "18. Jahrhundert"]),
        ("le 15 avril 2019, au XVIIIe siècle, en décembre 2024", ["15 avril 2019", "XVIIIe siècle", "décembre 2024"]),
        ("1914-1918, de jaren zestig, the 1960s, 3000 BC", ["1914-1918", "jaren zestig", "1960s", "3000 BC"]),
        ("12.000 boeken, 1,911 items, nr. 1.04.02, 1911.5", []),
    ],
)
def test_dates(programs: ModuleType, text: str, wanted: list[str]) -> None:
    assert found(programs.baseline, text, "TMP") == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ISIL NL-HaNA en DE-101", ["NL-HaNA", "DE-101"]),
        ("painting SK-C-5, papyrus EA 24", ["SK-C-5", "EA 24"]),
        ("Q190804 on Wikidata", ["Q190804"]),
        ("World Heritage site 373; inscrit sous le numéro 344", ["373", "344"]),
        ("A man, I said, of 24", []),
    ],
)
def test_identifiers(programs: ModuleType, text: str, wanted: list[str]) -> None:
    assert found(programs.baseline, text, "IDENTIFIER") == wanted


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("GRP.HER.MUS", "Het Museum Boijmans Van Beuningen is dicht", ["Museum Boijmans Van Beuningen"]),
        ("GRP.HER.MUS", "au musée d'Orsay, près du musée du quai Branly", ["musée d'Orsay", "musée du quai Branly"]),
        ("GRP.HER.ARC", "Das Stadtarchiv Köln verwahrt Urkunden", ["Stadtarchiv Köln"]),
        ("GRP.HER.ARC", "conservé aux Archives nationales", ["Archives nationales"]),
        ("GRP.HER.LIB", "la Bibliothèque nationale de France", ["Bibliothèque nationale de France"]),
        ("GRP.HER.LIB", "lent by the British Library in 1990", ["British Library"]),
        ("GRP.HER.SOC", "the Royal Asiatic Society", ["Royal Asiatic Society"]),
        ("GRP.HER.ARC", "Het archief en das Archiv", []),  # no name of anything
        ("TOP", "gevestigd te Gouda, born near Kew, à Lyon", ["Gouda", "Kew", "Lyon"]),
    ],
)
def test_institutions_and_places(programs: ModuleType, kind: str, text: str, wanted: list[str]) -> None:
    assert found(programs.baseline, text, kind) == wanted


def test_names_seen_in_training_are_known(programs: ModuleType) -> None:
    span = {"start": 0, "end": 11, "type": "GRP.HER.MUS", "text": "Mauritshuis"}
    plain = programs.PatternExtraction()
    fitted = plain.fit([dspy.Example(text="Mauritshuis", entities=[span])])
    assert found(fitted, "Kom naar het Mauritshuis", "GRP.HER.MUS") == ["Mauritshuis"]
    assert found(fitted, "Kom naar het Mauritshuisje", "GRP.HER.MUS") == []
    assert plain.names == {}  # what was fitted is another program


def test_the_baseline_asks_no_model(programs: ModuleType) -> None:
    assert programs.baseline.predictors() == []


@drawn(200)
@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_spans_of_the_baseline_do_not_overlap_and_say_their_text(programs: ModuleType, words: list[str]) -> None:
    text = " ".join(words)
    entities = programs.baseline(text=text).entities
    assert all(text[entity["start"] : entity["end"]] == entity["text"] for entity in entities)
    assert all(span["end"] <= other["start"] for span, other in pairwise(entities))


def test_the_baseline_is_worth_something(programs: ModuleType, heritage: dict[str, list[dspy.Example]]) -> None:
    """On dev, whose names it has not seen; 0.80 when this was written."""
    fitted = programs.baseline.fit(heritage["train"])
    total = SpanF1().zero
    for example in heritage["dev"]:
        total = total + SpanF1()(example, fitted(text=example.text)).tally
    assert total.value > 0.75


def test_prompted_patterns_obey_rules_and_demonstrations(programs: ModuleType) -> None:
    text = "Het Stadsarchief te Delft, near Breda."
    plain = programs.PromptedPatterns()
    assert [span["text"] for span in plain(text=text).entities] == ["Breda"]
    ruled = programs.PromptedPatterns()
    rules = 'Mind "places": TOP after te, bei. Also: GRP.HER.ARC also archief; nothing else.'
    ruled.extract.signature = ruled.extract.signature.with_instructions(rules)
    names = [(span["text"], span["type"]) for span in ruled(text=text).entities]
    assert names == [("Stadsarchief", "GRP.HER.ARC"), ("Delft", "TOP"), ("Breda", "TOP")]
    shown = programs.PromptedPatterns()
    shown.extract.demos = [
        dspy.Example(text="", **shown.to_demo({"entities": [{"start": 0, "end": 5, "type": "TOP", "text": "Delft"}]}))
    ]
    assert [span["text"] for span in shown(text=text).entities] == ["Delft", "Breda"]
