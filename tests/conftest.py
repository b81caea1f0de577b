"""What all tests share."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("GOLDASSAY_LM_THREADS", "1")  # tests share the processors
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # without a net, litellm waits eight seconds for prices
# a busy machine has no deadlines; of the cases that a law draws a quarter is tried each day (tests/nightly.py)
NIGHT = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
settings.register_profile("untimed", deadline=None, max_examples=100 if NIGHT else 25)
settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    """Leave the thousands of collected tests out of garbage collection, which every library may ask for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Where the real data are, beside the checkout or in ``GOLDASSAY_DATA``; a clean clone has nothing there.

    A test that has own cases takes this, and looks at the real files too where they are.
    """
    return Path(os.environ.get("GOLDASSAY_DATA") or ROOT.parent / "shared" / "data")


@pytest.fixture(scope="session")
def shared_data(real_data: Path) -> Path:
    """The same for a test of which the real data are the point: it is skipped where they are absent."""
    if not real_data.is_dir():
        pytest.skip("the real data (../shared/data, or GOLDASSAY_DATA) are not on this machine")
    return real_data


class Learner:
    """A scripted model that learns from its prompt: it finds what the examples show and obeys simple rules.

    It takes every capitalised word and every number of the last ``text`` for a name. Without help it calls words TOP
    and overlooks numbers. A demonstration, or a rule in the instructions, teaches it: ``number`` (numbers are TMP),
    ``museum`` (words with "museum" in them are MUS). Anything else that it is asked for, it answers with ``rule``.
    """

    def __init__(self, rule: str = "Find places. A number is TMP. A museum is MUS.") -> None:
        self.rule, self.calls = rule, 0

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        self.calls += 1
        turns = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
        system = request.system if isinstance(request.system, str) else "".join(p.text for p in request.system or ())
        outputs = re.findall(r"\[\[ ## (\w+) ## \]\]", turns[-1].split("Respond with")[-1])
        fields = [name for name in outputs if name != "completed"] or ["answer"]
        prompt = system.split("objective is:")[-1] + " ".join(turns[:-1])
        mentions = [self.mentions(turns[-1], prompt) if name == "mentions" else self.rule for name in fields]
        text = "\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in zip(fields, mentions, strict=True))
        usage = Usage(input_tokens=len(prompt.split()), output_tokens=5, total_tokens=len(prompt.split()) + 5)
        parts = [TextPart(f"{text}\n[[ ## completed ## ]]")]
        return Response(
            id=None, model=request.model, message=Message.assistant(parts), finish_reason="stop", usage=usage
        )

    @staticmethod
    def mentions(turn: str, prompt: str) -> str:
        text = turn.split("[[ ## text ## ]]")[-1].split("Respond with")[0]
        out = []
        for word in re.findall(r"[A-Z]\w+|\d+", text):
            if word.isdigit():
                if "number" in prompt.lower() or '"TMP"' in prompt:
                    out.append({"text": word, "type": "TMP"})
            else:
                museum = "museum" in word.lower() and ("museum" in prompt.lower() or '"MUS"' in prompt)
                out.append({"text": word, "type": "MUS" if museum else "TOP"})
        return json.dumps(out)


@pytest.fixture
def learner() -> Learner:
    """The scripted engine; ``dspy.LM("scripted/learner", engine=learner, cache=False)`` makes a model of it."""
    return Learner()


NAMES = """
import dspy
from pydantic import BaseModel
from goldassay.text.spans import locate

class Mention(BaseModel):
    text: str
    type: str

class Names(dspy.Module):
    def __init__(self):
        super().__init__()
        signature = dspy.Signature("text: str -> mentions", "Find names.")
        self.extract = dspy.Predict(signature.with_updated_fields("mentions", type_=list[Mention]))

    def forward(self, text):
        found = self.extract(text=text).mentions
        places = locate(text, [one.text for one in found])
        return dspy.Prediction(entities=[
            {"start": at and at[0], "end": at and at[1], "type": one.type, "text": one.text}
            for one, at in zip(found, places)
        ])

    def to_demo(self, example):
        return {"mentions": [{"text": e["text"], "type": e["type"]} for e in example["entities"]]}


program = Names
"""


@pytest.fixture
def names_source() -> str:
    """The same program as the text of a user's file."""
    return NAMES


@pytest.fixture
def names_program() -> Any:
    """A program over the scripted model: names with types, offsets by code."""
    return build_names_program()


def build_names_program() -> Any:
    """The same for a fixture of a module."""
    import dspy
    from pydantic import BaseModel

    from goldassay.text.spans import locate

    class Mention(BaseModel):
        text: str
        type: str

    signature = dspy.Signature("text: str -> mentions", "Find names.")
    signature = signature.with_updated_fields("mentions", type_=list[Mention])

    class Names(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.extract = dspy.Predict(signature)

        def forward(self, text: str) -> Any:
            if "BROKEN" in text:
                raise RuntimeError("this text cannot be read")
            mentions = self.extract(text=text).mentions
            places = locate(text, [mention.text for mention in mentions])
            return dspy.Prediction(
                entities=[
                    {"start": at and at[0], "end": at and at[1], "type": mention.type, "text": mention.text}
                    for mention, at in zip(mentions, places, strict=True)
                ]
            )

        def to_demo(self, example: Any) -> dict[str, Any]:
            return {"mentions": [{"text": e["text"], "type": e["type"]} for e in example["entities"]]}

    return Names()


@pytest.fixture
def names_gold() -> list[Any]:
    """Forty texts: some with a place and a number, some with a museum and a place."""
    return build_names_gold()


def build_names_gold() -> list[Any]:
    """The same for a fixture of a module."""
    import dspy

    places = [
        "Delft",
        "Haarlem",
        "Gouda",
        "Breda",
        "Zwolle",
        "Tiel",
        "Hoorn",
        "Venlo",
        "Sneek",
        "Assen",
        "Leiden",
        "Utrecht",
        "Emmen",
        "Dokkum",
        "Harlingen",
        "Kampen",
        "Deventer",
        "Zutphen",
        "Arnhem",
        "Nijmegen",
        "Roermond",
        "Weert",
        "Eindhoven",
        "Tilburg",
        "Bergen",
        "Goes",
        "Middelburg",
        "Veere",
        "Vlissingen",
        "Hulst",
        "Brielle",
        "Schiedam",
        "Rotterdam",
        "Dordrecht",
        "Gorinchem",
        "Woerden",
        "Amersfoort",
        "Naarden",
        "Muiden",
        "Weesp",
    ]
    out = []
    for i in range(40):
        place, year = places[i], str(1600 + 7 * i)
        museum = f"{places[(i * 3) % 40]}museum" if i % 4 == 0 else ""
        text = f"{museum} in {place}" if museum else f"seen {place} in {year}" if i % 2 else f"near {place} number {i}"
        number = "" if i % 2 or museum else str(i)
        kinds = [(museum, "MUS"), (place, "TOP"), (year if i % 2 else "", "TMP"), (number, "TMP")]
        entities = []
        for word, kind in kinds:
            if word:
                start = text.rindex(word)
                entities.append({"start": start, "end": start + len(word), "type": kind, "text": word})
        out.append(dspy.Example(id=f"n{i}", text=text, entities=entities).with_inputs("text"))
    return out


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium and its event loop, started once: `chromium` lends them to a module.

    The build without windows comes first: it takes a third of the processor time.
    """
    sync = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    builds = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    build = next(filter(None, map(shutil.which, builds)), None)
    if build is None:
        pytest.skip("no Chromium here: apt-get install chromium-headless-shell")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=build, args=flags)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture(scope="module")
def chromium(browser: Any) -> Iterator[Any]:
    """Chromium; Playwright's event loop runs only while a module uses it, since other tests would meet it."""
    chromium, loop = browser
    asyncio._set_running_loop(loop)
    yield chromium
    asyncio._set_running_loop(None)
