"""Real gold (HIPE-2022, commentaries on Sophocles) and a scripted reader with planted, systematic errors.

The reader knows the gold. It overlooks every person in German texts; of the references ("Phil. 134") it calls the
number a date when it follows a work; it leaves the full stop out of the names of works. And it is not quite steady: one
answer in 25 is lost, another one for every prompt. It is taught by rules that say the right thing, and by examples.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric
from goldassay.gold.reading import read
from goldassay.measures import extraction
from goldassay.running.hashing import fingerprint
from goldassay.tuning import Patches, tune
from goldassay.tuning.edits import Diagnosis, by_pattern
from goldassay.tuning.instructions import rules
from goldassay.tuning.patches import Patch, apply
from goldassay.tuning.wrappers import demonstrations

METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})


class Reader:
    """The scripted reader, as an engine."""

    def __init__(self, examples: Sequence[Any]) -> None:
        self.known = {example["text"]: example for example in examples}

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        turns = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        text = turns[-1].split("[[ ## text ## ]]\n")[-1].split("\n\nRespond with")[0]
        result = self.mentions(self.known[text], system.split("objective is:")[-1], "".join(turns[:-1]))
        parts = [TextPart(f"[[ ## mentions ## ]]\n{json.dumps(result)}\n[[ ## completed ## ]]")]
        return Response(
            id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=Usage()
        )

    def mentions(self, example: Any, rules: str, demos: str) -> list[dict[str, str]]:
        examples = [entry for text, entry in self.known.items() if demos and text in demos]
        german = "language de" in rules or any(item["language"] == "de" for item in examples)
        numbers = "What looks like date is scope" in rules or '"scope"' in demos
        stops = "final full stop belongs to work" in rules or re.search(r'\\.", "type": "work"', demos)
        before, out = "", []
        for entity in example["entities"]:
            name, kind = entity["text"], entity["type"]
            coin = hashlib.sha256(f"{name}{entity['start']}{rules}{demos}".encode()).digest()[0]
            lost = coin < 256 / 25
            if kind == "pers" and (("Leave out persons" in rules) or (example["language"] == "de" and not german)):
                lost = True
            if kind == "scope" and before == "work" and not numbers:
                kind = "date"
            if kind == "work" and not stops:
                name = name.rstrip(".")
            before = entity["type"]
            if not lost:
                out.append({"text": name, "type": "loc" if "type loc" in rules else kind})
        return out[:1] if "only the first" in rules else out


@pytest.fixture(scope="module")
def hipe(shared_data: Path) -> dict[str, list[Any]]:
    """Train and dev, English and German, with the pages cut at 700 characters, and what they hold."""
    out: dict[str, list[Any]] = {}
    for split, most in (("train", 8), ("dev", 14), ("test", 6)):
        pages = [
            record
            for language in ("en", "de")
            for record in read(
                shared_data / "hipe2022" / f"ajmc-{split}-{language}.tsv",
                format="hipe",
                task="extraction",
            )[:most]
        ]
        out[split] = [
            dspy.Example(
                id=page["id"],
                language=page["language"],
                text=page["text"][:700],
                entities=[entity for entity in page["entities"] if entity["end"] <= 700],
            ).with_inputs("text")
            for page in pages
        ]
    return out


@pytest.fixture
def reader(hipe: dict[str, list[Any]]) -> Any:
    return dspy.LM("scripted/reader", engine=Reader([item for part in hipe.values() for item in part]), cache=False)


@pytest.mark.nightly
def test_rules_for_the_planted_errors_are_found_accepted_and_taken_back(
    hipe: dict[str, list[Any]], reader: Any, names_program: Any
) -> None:
    with dspy.context(lm=reader):
        optimizer = Patches(METRIC, bundles=[[partial(rules, patterns=6, each=1)]])
        program = optimizer.compile(
            names_program, trainset=demonstrations(names_program, hipe["train"]), valset=hipe["dev"]
        )
    texts = [patch.text or "" for patch in optimizer.ledger.kept]
    assert any("pers in texts of the language de too" in text for text in texts)  # a language missed
    assert any(text.startswith("What looks like date is scope") for text in texts)  # a type confused in one context
    assert any(text.startswith("The final full stop belongs to work") for text in texts)  # a boundary rule
    patched = names_program  # the accepted patches lead from the first program to the last
    for patch in optimizer.ledger.kept:
        patched = apply(patched, patch)
    assert fingerprint(patched) == fingerprint(program) != fingerprint(names_program)


USELESS = ["Be careful.", "Take your time.", "This is important.", "Names matter.", "Do not hurry."]
HARMFUL = ["Leave out persons.", "Give only the first name.", "Every name is of type loc."]


@by_pattern("planted", each=1)
def planted(diagnosis: Diagnosis, pattern: Any, text: str) -> list[Patch]:
    """An edit that nobody should keep."""
    return [diagnosis.draft(pattern, "planted", action="add_instruction", text=text)]


@pytest.mark.nightly
def test_five_useless_and_three_harmful_edits_are_rejected_and_the_good_one_among_them_is_kept(
    hipe: dict[str, list[Any]], reader: Any, names_program: Any
) -> None:
    with dspy.context(lm=reader):
        parts = [
            *(partial(planted, text=text, patterns=1) for text in HARMFUL + USELESS),
            partial(rules, patterns=3, each=1),
        ]
        optimizer = Patches(METRIC, bundles=[parts], singles=20)
        optimizer.compile(names_program, trainset=demonstrations(names_program, hipe["train"]), valset=hipe["dev"])
    tried = {patch.text: patch for patch in optimizer.ledger.patches if patch.proposer == "planted"}
    assert set(tried) == {*USELESS, *HARMFUL}
    assert {patch.status for patch in tried.values()} == {"rejected"}
    assert all(tried[text].effects[0].difference < 0 for text in HARMFUL)
    assert any(tried[text].effects[0].difference != 0 for text in USELESS)  # they change answers, to no avail
    assert {patch.proposer for patch in optimizer.ledger.kept} == {"rules"}


@pytest.mark.nightly
@pytest.mark.parametrize(("optimizer", "options"), [("labeled", {"k": 3}), ("knn", {})])
def test_optimizers_raise_the_dev_value_on_real_gold(
    optimizer: str, options: dict[str, Any], hipe: dict[str, list[Any]], reader: Any, names_program: Any
) -> None:
    tuned = tune(names_program, hipe, METRIC, optimizer, lm=reader, settings=options, progress=False)
    assert tuned.dev.after.value > tuned.dev.before.value + 0.1
    assert tuned.dev.difference.interval.low > 0
    assert tuned.test is not None
    assert tuned.verdict == "proven on test"
