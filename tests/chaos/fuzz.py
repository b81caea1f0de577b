"""Fuzz every reader of files: each damaged file gives records or a one-line error, never another exception.

``python -m tests.chaos.fuzz`` reads 100,000 damaged files; ``GOLDASSAY_FUZZ=TIMES,SEED`` changes how many.

A sound file of each kind that people give is damaged at random places (bytes changed, lost, repeated, cut off; hostile
pieces put in) and read. A reader may give records, and may raise a `GoldassayError` of one line; anything else is a
fault of ours. The sound files of the gold formats are written by their own writers; the others stand here as they are.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from goldassay._support.exceptions import GoldassayError

SEED_RECORDS: dict[str, list[dict[str, Any]]] = {
    "extraction": [
        {"id": "a", "text": "Museum Boerhaave in Leiden.", "entities": [
            {"start": 0, "end": 16, "type": "MUS", "text": "Museum Boerhaave"},
            {"start": 20, "end": 26, "type": "TOP", "text": "Leiden"}], "strata": {"tier": 1}, "language": "nl"},
        {"id": "b", "text": "Niets.", "entities": []},
    ],
    "classification": [
        {"id": "a", "text": "x", "label": "M", "secondary_labels": ["L"]}, {"id": "b", "text": "y", "label": "A"},
    ],
    "linking": [
        {"id": "a", "text": "In Leiden.", "links": [
            {"start": 3, "end": 9, "text": "Leiden", "ids": {"wikidata": ["Q43631"], "viaf": []}}]},
    ],
    "retrieval": [{"id": "q1", "query": "museum", "relevant": {"d1": 2, "d2": 1}}],
    "answering": [
        {"id": "q1", "question": "Waar?", "answers": ["Leiden"], "context": "In Leiden.", "documents": ["d"]},
        {"id": "q2", "question": "Wie?", "answers": []},
    ],
    "triples": [{"id": "a", "text": "x", "triples": [{"subject": "Leiden", "predicate": "P17", "object": "NL"}]}],
}  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A reader with a sound file: ``name`` is the file's, ``others`` stand beside it undamaged."""

    label: str
    name: str
    content: bytes
    read: Callable[[Path], object]
    others: tuple[tuple[str, bytes], ...] = ()


def readers() -> list[Reader]:
    """Every reader of files that people give, with a sound file each."""
    return [*_gold(), *_others(), *_logs()]


def _gold() -> Iterator[Reader]:
    from goldassay.gold import formats, read, write

    with tempfile.TemporaryDirectory() as folder:
        for form in formats.BUILT_IN:
            for task, records in SEED_RECORDS.items():
                if task not in formats.named(form).tasks or form == "kit":
                    continue
                name = NAMES.get(form, f"x.{form}")
                place = Path(folder) / f"{form}-{task}" / name
                place.parent.mkdir()
                try:
                    write(place, records, format=form, task=task)
                except GoldassayError:  # a format that is only read
                    continue
                parts = sorted(part for part in place.rglob("*") if part.is_file()) if place.is_dir() else [place]
                base = place if place.is_dir() else place.parent
                for part in parts:
                    others = tuple((str(each.relative_to(base)), each.read_bytes()) for each in parts if each != part)
                    yield Reader(
                        f"{form} {task} {part.suffix}",
                        str(part.relative_to(base)),
                        part.read_bytes(),
                        _reading(read, form, task, folder=form == "brat"),
                        others,
                    )


def _reading(read: Any, form: str, task: str, folder: bool) -> Callable[[Path], object]:
    return lambda file: read(file.parent if folder else file, task=task, format=form)


NAMES = {"brat": "b", "squad": "x.json", "text2kgbench": "x.jsonl", "hipe": "x.tsv"}
QUESTION = {"id": "q", "question": "Waar?", "answers": [{"text": "Leiden", "answer_start": 3}], "is_impossible": False}
SQUAD = {"version": "2.0", "data": [{"title": "t", "paragraphs": [{"context": "In Leiden.", "qas": [QUESTION]}]}]}
KG = {"id": "a", "sent": "Leiden is in NL.", "triples": [{"sub": "Leiden", "rel": "country", "obj": "NL"}]}
ROW = {"index": 0, "id": "e0", "score": 1.0, "tallies": {"strict_f1": {"tp": 1, "fp": 0, "fn": 0}}, "latency_s": 0.1}
STRICT = {"measure": "extraction.SpanF1()", "conventions": "strict_f1[]", "weight": 1.0, "target": None}
RUN = {"schema": 1, "name": "x", "measures": {"strict_f1": STRICT}, "seed": 0, "cost": {}}
PATCH = b"id: add_instruction-1\npredictor: extract\naction: add_instruction\ntext: Be brief.\nstatus: proposed\n"
CARD = b"name: x\nversion: '1'\nlicence: CC0\nsource: y\nlanguages: [nl]\nfiles: {extraction: extraction.jsonl}\n"


def _others() -> Iterator[Reader]:
    from goldassay._support import files, jsonl
    from goldassay.gold import load, read
    from goldassay.gold.audit import audit
    from goldassay.judges import labels
    from goldassay.judges.judge import Verdicts
    from goldassay.running import Run
    from goldassay.tuning import patches
    from goldassay.tuning.saved import read_about
    from goldassay.workspace.search import LabelTable

    gold = "".join(f"{json.dumps(record)}\n" for record in SEED_RECORDS["extraction"]).encode()
    line = json.dumps
    yield Reader("squad", "x.json", line(SQUAD).encode(), lambda f: read(f, task="answering", format="squad"))
    yield Reader(
        "squad predictions",
        "x.json",
        b'{"q": "Leiden"}',
        lambda f: read(f, task="answering", format="squad", side="pred"),
    )
    yield Reader(
        "text2kgbench", "x.jsonl", f"{line(KG)}\n".encode(), lambda f: read(f, task="triples", format="text2kgbench")
    )
    yield Reader("json", "x.json", line(SQUAD).encode(), files.json_value)
    yield Reader("json lines", "x.jsonl", gold, lambda f: list(files.json_lines(f)))
    yield Reader("own lines", "x.jsonl", gold, lambda f: list(jsonl.rows(f)))
    yield Reader("yaml", "x.yaml", CARD, files.yaml_value)
    yield Reader("card", "card.yaml", CARD, lambda f: load(f.parent), (("extraction.jsonl", gold),))
    yield Reader("set", "extraction.jsonl", gold, lambda f: load(f.parent).extraction.all, (("card.yaml", CARD),))
    yield Reader("audit", "extraction.jsonl", gold, audit)
    yield Reader("audit of a card", "card.yaml", CARD, lambda f: audit(f.parent), (("extraction.jsonl", gold),))
    yield Reader("rows", "rows.jsonl", f"{line(ROW)}\n".encode(), _whole(Run), (("run.json", line(RUN).encode()),))
    yield Reader("run", "run.json", line(RUN).encode(), _whole(Run), (("rows.jsonl", f"{line(ROW)}\n".encode()),))
    yield Reader("patch", "p.yaml", PATCH, patches.read)
    yield Reader("tuning", "tuning.json", b'{"schema": 1, "status": "finished"}', read_about)
    yield Reader("verdicts", "v.jsonl", b'{"key": "a", "fields": {"x": 1}}\n{"key": "b", "fields": null}\n', Verdicts)
    yield Reader(
        "labels of people", "l.jsonl", b'{"id": "a", "label": "yes", "claim": "x", "text": "y"}\n', labels.labelled_rows
    )
    yield Reader("labels as a table", "l.csv", b"id,label,claim\na,yes,x\n", labels.labelled_rows)
    yield Reader("table of labels", "t.jsonl", b'{"id": "Q1", "label": "x", "aliases": ["y"]}\n', LabelTable.load)
    yield from _settings()


MODELS = b"small: {model: openai/small, temperature: 0.5, rpm: 60, adapter: chat}\n"
PROFILE = b"program: 'triples:Articles'\nlanguage: nl\nthreshold: 0.9\n"
KIT = b"dataset_name: x\narticles:\n- {title: Leiden, qid: Q43631, domain: place}\n- {title: Delft, qid: Q690}\n"
RESULT = {"run_metadata": {"rows": "x.jsonl"}, "aggregate": {}, "article_results": [{"article_title": "Leiden"}]}
ITEMS = b'{"id": "a", "label": "supported", "text": "t", "claim": "c", "verdict": "not_stated"}\n'
GRADES = b"id,label,verdict\na,1,2\nb,3,4\n"
OWN = b"note,year\nOpened in 1784,1784\n"


def _settings() -> Iterator[Reader]:
    """What configures a command, and what one command leaves for another."""
    import dspy

    from goldassay._support.cache import Store
    from goldassay.ext.wikidata import results
    from goldassay.ext.wikidata.evaluation import read_benchmark, read_profile
    from goldassay.gold import read
    from goldassay.judges import labels
    from goldassay.judges.questions import question
    from goldassay.models.lm import resolve
    from goldassay.reporting.pages.dashboard import entries
    from goldassay.tuning.saved import load_state

    line = json.dumps
    support, program = question("support"), dspy.Predict("text -> label")
    program.demos = [{"text": "a", "label": "M"}]
    yield Reader("models", "m.yaml", MODELS, lambda f: resolve(f"{f}:small"))
    yield Reader("profile", "p.yaml", PROFILE, lambda f: read_profile(str(f)))
    yield Reader("articles", "a.yaml", KIT, read_benchmark)
    yield Reader("result", "r.json", line(RESULT).encode(), results.load)
    yield Reader("items of a judge", "i.jsonl", ITEMS, lambda f: labels.read(f, support))
    yield Reader("grades", "g.csv", GRADES, lambda f: labels.read_grades(f, support))
    yield Reader("own fields", "o.csv", OWN, lambda f: read(f, task="notes"))
    yield Reader("own lines of any fields", "o.jsonl", b'{"note": "x", "year": 3}\n', lambda f: read(f, task="notes"))
    yield Reader("history", "run.json", line(RUN).encode(), lambda f: entries(f.parent.parent))
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "kept.sqlite")
        store.put("nl", {"Delft": b"a town"})
        store.close()
        content = (Path(folder) / "kept.sqlite").read_bytes()
        program.save(f"{folder}/state.json")
        state = (Path(folder) / "state.json").read_bytes()
    yield Reader("cache", "kept.sqlite", content, _kept)
    yield Reader("state", "state.json", state, lambda f: load_state(program, f))


LOGS = Path(__file__).parent.parent / "ext" / "interop" / "logs" / "files"


def _logs() -> Iterator[Reader]:
    """The logs of other tools, and run folders, as a report shows them and an audit reads them."""
    from goldassay.reporting.pages import report, sources
    from goldassay.tuning.audit import audit

    def shown(file: Path) -> object:
        return report(**sources([file])).encode()

    for log in sorted(LOGS.glob("*.*")):
        if log.suffix in (".json", ".csv", ".eval"):
            yield Reader(f"log {log.name}", log.name, log.read_bytes(), shown)
    others = (("run.json", json.dumps(RUN).encode()),)
    yield Reader("report of rows", "rows.jsonl", f"{json.dumps(ROW)}\n".encode(), lambda f: shown(f.parent), others)
    others = (("rows.jsonl", f"{json.dumps(ROW)}\n".encode()),)
    yield Reader("report of a run", "run.json", json.dumps(RUN).encode(), lambda f: shown(f.parent), others)
    scores = {"0": {str(n): 0.0 for n in range(30)}, "1": {str(n): float(n % 3 > 0) for n in range(30)}}
    candidates = [{"name": name, "scores": each, "parents": []} for name, each in scores.items()]
    result = {"source": "GEPA", "candidates": candidates, "baseline": "0", "chosen": "1", "format": "goldassay.audit"}
    yield Reader("audit of a result", "r.json", json.dumps(result).encode(), audit)
    rows = [f"{key},{name},{score}\n" for name, each in scores.items() for key, score in each.items()]
    yield Reader(
        "audit of a table",
        "r.csv",
        "".join(["example,candidate,score\n", *rows]).encode(),
        partial(audit, baseline="0"),
    )
    log = LOGS / "dspy_good.json"
    yield Reader("audit of a log", "before.json", log.read_bytes(), lambda f: audit(f, log))


def _kept(file: Path) -> object:
    from goldassay._support.cache import Store

    store = Store(file)
    try:
        return store.get("nl", ["Delft"])
    finally:
        store.close()


def _whole(run: Any) -> Callable[[Path], object]:
    def read(file: Path) -> object:
        loaded = run.load(file.parent)
        return loaded.values, loaded.cases, loaded.by_stratum, loaded.summary()

    return read


PIECES: tuple[bytes, ...] = (
    b"", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n", b"\t", b" ", b'"', b"\\", b"{", b"}", b"[", b"]",
    b",", b":", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"-1", b"0.5", b"null", b"true", b'"\\ud800"',
    b'{"a":1,"a":2}',
    b"[" * 3000, b"{" * 50, b"- ", b"&a *a", b"!!python/object:os.system", "\u202e".encode(), "漢".encode(),
    b"\xe6\xbc",
    b"#", b"'", b"|", b"B-", b"I-X", b"T1\tX 0 9999\tq", b"R1\tX Arg1:T1 Arg2:T9", b"../../x", b"%s%n", b"\x1b[2J",
    b"{}", b"[]",
    b'{"id": 7}', b'{"qas": 1}', b"\n\n\n", b"<x>", b"=1+1",
)  # fmt: skip
VALUES: tuple[object, ...] = (
    1, -1, 0.5, 10**30, True, None, "", "x", "1", [], {}, [1], ["x"], [None], [[]], {"x": 1}, [{}],
)  # fmt: skip


def _otherwise(content: bytes, draw: random.Random) -> bytes:
    """JSON, or a line of it, in which one value is another or absent: sound, and not what the reader expects."""
    lines = [content] if draw.random() < 0.5 else content.split(b"\n")
    number = draw.randrange(len(lines))
    try:
        whole = json.loads(lines[number])
    except (ValueError, RecursionError):
        return content
    places: list[tuple[Any, Any]] = []
    todo = [whole]
    while todo:
        node = todo.pop()
        keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        places += [(node, key) for key in keys]
        todo += [node[key] for key in keys]
    if not places:
        return content
    inside, key = draw.choice(places)
    if isinstance(inside, dict) and draw.random() < 0.3:
        del inside[key]
    else:
        inside[key] = draw.choice(VALUES)
    lines[number] = json.dumps(whole, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
    return b"\n".join(lines)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with one to four damages."""
    damage = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        place = draw.randint(0, len(damage))
        much = draw.choice((1, 1, 2, 5, 20, 100))
        how = draw.randrange(9)
        if how >= 7:
            damage = bytearray(_otherwise(bytes(damage), draw))
        elif how == 0:
            damage[place : place + much] = draw.choice(PIECES)
        elif how == 1:
            damage[place:place] = draw.choice(PIECES)
        elif how == 2:
            del damage[place : place + much]
        elif how == 3 and place < len(damage):
            damage[place] = draw.randrange(256)
        elif how == 4:
            damage[place:place] = damage[place : place + much] * draw.randint(1, 3)
        elif how == 5:
            del damage[place:]
        else:
            lines = bytes(damage).split(b"\n")
            draw.shuffle(lines)
            damage = bytearray(b"\n".join(lines))
    return bytes(damage)


@dataclass
class Outcomes:
    """How often readers gave records, how often one line, and what else they did."""

    read: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, str, bytes]] = field(default_factory=list)

    def state(self) -> dict[str, object]:
        """The counts."""
        return {"read": self.read.total(), "refused": self.refused.total(), "faults": len(self.faults)}


def run(times: int, seed: int = 0, only: str = "") -> Outcomes:
    """Read ``times`` damaged files, the readers in turn."""
    draw, outcomes = random.Random(seed), Outcomes()
    chosen = [each for each in readers() if only in each.label]
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        for number in range(times):
            reader = chosen[number % len(chosen)]
            content = damaged(reader.content, draw)
            place = Path(folder) / str(number % len(chosen))
            why = attempt(reader, content, place)
            if why is None:
                outcomes.read[reader.label] += 1
            elif why == "":
                outcomes.refused[reader.label] += 1
            else:
                outcomes.faults.append((reader.label, why, content))
    return outcomes


def attempt(reader: Reader, content: bytes, place: Path) -> str | None:
    """Read a damaged file: ``None`` where it was read, empty where it was refused in one line, else what happened."""
    if not place.is_dir():
        place.mkdir()
        for name, sound in reader.others:
            (place / name).write_bytes(sound)
    (place / reader.name).write_bytes(content)
    try:
        reader.read(place / reader.name)
    except GoldassayError as error:
        return "" if "\n" not in str(error) else f"more than one line: {error}"
    except RecursionError:  # nested a thousand times: Python says so
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def main() -> None:
    times, _, seed = os.environ.get("GOLDASSAY_FUZZ", "100000,0").partition(",")
    started = time.perf_counter()
    outcomes = run(int(times), int(seed or 0))
    seconds = time.perf_counter() - started
    print(f"fuzz: {int(times):,} damaged files through {len(readers())} readers in {seconds:.0f} s")
    print(f"  read {outcomes.read.total():,}, refused in one line {outcomes.refused.total():,}")
    print(f"  faults {len(outcomes.faults):,}")
    for label, why, content in outcomes.faults[:20]:
        print(f"  {label}: {why[:200]} on {content[:200]!r}")


if __name__ == "__main__":
    main()
