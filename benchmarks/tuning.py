"""Before and after, on real gold: tasks × optimizers × seeds, tuned on train, chosen on dev, reported once on test.

    python -m benchmarks.tuning --out rows.jsonl --jobs 16 [--task T …] [--optimizer O …] [--seed N …] [--lm NAME]
    python -m benchmarks.tuning --out rows.jsonl --table > docs/tuning-results.md

Each arm (task, model, optimizer, seed) is a process of its own with one thread, and one JSON row of the results file
when it ends; an arm whose row is there is not run again, so the matrix can be stopped and gone on with, and parts of it
made on several machines are put together with ``cat``. An arm that fails says why and is not a zero. The model is
``--lm`` (as for ``goldassay eval``; default: the embedded one). Calls and minutes are those of tuning.

Data beside the checkout (``../shared/data``): HIPE-2022 ajmc and sonar, Text2KGBench culture, XQuAD. What is not there
is left out and said. HIPE's sonar has no train split and XQuAD no splits: theirs are made by document (`gold.splits`).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Literal

import dspy
from benchmarks.tuning_table import table
from pydantic import BaseModel

from goldassay import Metric, workspace
from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import contributions
from goldassay.gold import load
from goldassay.gold.reading import read
from goldassay.gold.splits import split
from goldassay.measures import extraction, triples
from goldassay.models import lm as models
from goldassay.models.lm import Copied
from goldassay.text.spans import locate
from goldassay.tuning import OPTIMIZERS, tune

DATA = Path(os.environ.get("GOLDASSAY_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
SIZES = {"train": 60, "dev": 40, "test": 100}
SMALL: dict[str, dict[str, Any]] = {"gepa": {"max_metric_calls": 400}}
KEEP = 0.2
Job = tuple[Any, dict[str, list[Any]], Any]


def bundled(task: str, gold: str = "heritage") -> Job:
    """A task of a gold set that comes with goldassay, with its program and its metric."""
    part = getattr(load(gold, task=task), task)
    program = workspace.target(task).tunable()
    if part.passages and hasattr(program, "index"):
        program = program.deepcopy().index(part.passages)
    return program, {name: list(getattr(part, name)) for name in SIZES}, workspace.metric(task)


class Reader(dspy.Module):  # type: ignore[misc]
    """Names by a model, offsets by code."""

    def __init__(self, about: str, types: tuple[str, ...]) -> None:
        super().__init__()
        kind: Any = Literal[types]

        class Mention(BaseModel):
            text: Copied
            type: kind

        signature = dspy.Signature("text: str -> mentions", about)
        self.extract = dspy.Predict(signature.with_updated_fields("mentions", type_=list[Mention]))

    def forward(self, text: str) -> Any:
        items = self.extract(text=text).mentions or []
        places = locate(text, [item.text for item in items])
        return dspy.Prediction(
            entities=[
                {"start": at and at[0], "end": at and at[1], "type": item.type, "text": item.text}
                for item, at in zip(items, places, strict=True)
            ]
        )

    def to_demo(self, example: Any) -> dict[str, Any]:
        return {"mentions": [{"text": item["text"], "type": item["type"]} for item in example["entities"]]}


def passages(file: Path, longest: int = 200) -> list[Any]:
    """Pages of HIPE cut into passages of whole entities; one passage a page, the fullest."""
    out = []
    for page in read(file, format="hipe", task="extraction"):
        starts = range(0, max(1, len(page["text"]) - longest), longest)
        inside = {
            start: [
                entity for entity in page["entities"] if start <= entity["start"] and entity["end"] <= start + longest
            ]
            for start in starts
        }
        start = max(starts, key=lambda at: (len(inside[at]), -at))
        entities = [
            {**entity, "start": entity["start"] - start, "end": entity["end"] - start} for entity in inside[start]
        ]
        text = page["text"][start : start + longest]
        out.append(dspy.Example(id=f"{page['id']}-{start}", text=text, entities=entities).with_inputs("text"))
    return out


ENTITIES = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})


def ajmc() -> Job:
    """HIPE-2022, commentaries on Sophocles, in English and German."""
    about = (
        "List the names and references in this commentary on Sophocles, copied exactly, each with its type.\n"
        "pers person, work title of a work, scope place in a work (a number), loc place, date date, object manuscript."
    )
    splits = {
        name: [
            passage
            for language in ("en", "de")
            for passage in passages(DATA / "hipe2022" / f"ajmc-{name}-{language}.tsv")
        ]
        for name in SIZES
    }
    return Reader(about, ("pers", "work", "scope", "loc", "date", "object")), splits, ENTITIES


def sonar() -> Job:
    """HIPE-2022, historical newspapers in German: dev is dealt into train and dev."""
    about = "List the names in this newspaper text, copied exactly: PER person, LOC place, ORG organisation."
    dev, test = (windows(DATA / "hipe2022" / f"sonar-{name}-de.tsv") for name in ("dev", "test"))
    pages = list(dict.fromkeys(example["document"] for example in dev))
    half = sum(example["document"] in pages[: len(pages) // 2] for example in dev)
    return Reader(about, ("PER", "LOC", "ORG")), {"train": dev[:half], "dev": dev[half:], "test": test}, ENTITIES


def windows(file: Path, longest: int = 300) -> list[Any]:
    """Pages of HIPE cut into windows that cut no entity; the windows of a page are one document."""
    out = []
    for page in read(file, format="hipe", task="extraction"):
        spans = [(entity["start"], entity["end"]) for entity in page["entities"]]
        start, text = 0, page["text"]
        while start < len(text):
            end = min(len(text), start + longest)
            while end < len(text) and (not text[end].isspace() or any(a < end < b for a, b in spans)):
                end += 1
            inside = [entity for entity in page["entities"] if start <= entity["start"] and entity["end"] <= end]
            entities = [{**entity, "start": entity["start"] - start, "end": entity["end"] - start} for entity in inside]
            window = dspy.Example(
                id=f"{page['id']}-{start}", document=page["id"], text=text[start:end], entities=entities
            )
            out.append(window.with_inputs("text"))
            start = end + 1
    return out


class Stating(dspy.Module):  # type: ignore[misc]
    """Triples with the relations of an ontology, as Text2KGBench asks for them."""

    def __init__(self, relations: tuple[str, ...]) -> None:
        super().__init__()
        kind: Any = Literal[relations]

        class Statement(BaseModel):
            subject: Copied
            predicate: kind
            object: Copied

        about = "List the statements of the sentence: subject and object copied exactly, the predicate from the list."
        signature = dspy.Signature("text: str -> statements", about)
        self.say = dspy.Predict(signature.with_updated_fields("statements", type_=list[Statement]))

    def forward(self, text: str) -> Any:
        items = self.say(text=text).statements or []
        return dspy.Prediction(triples=[item.model_dump() for item in items])

    def to_demo(self, example: Any) -> dict[str, Any]:
        keys = ("subject", "predicate", "object")
        return {"statements": [{key: str(item[key]) for key in keys} for item in example["triples"]]}


def culture() -> Job:
    """Text2KGBench, the ontology of culture."""
    place = DATA / "text2kgbench"
    about = json.loads((place / "ontologies__10_culture_ontology.json").read_text(encoding="utf-8"))
    relations = tuple(dict.fromkeys(relation["label"] for relation in about["relations"]))
    files = {
        "train": "train__ont_10_culture_train",
        "dev": "validation__ont_10_culture_validation",
        "test": "ground_truth__ont_10_culture_ground_truth",
    }
    splits = {
        name: [
            dspy.Example(**row).with_inputs("text")
            for row in read(place / f"{file}.jsonl", format="text2kgbench", task="triples")
        ]
        for name, file in files.items()
    }
    return Stating(relations), splits, Metric(triples.F1())


def xquad() -> Job:
    """XQuAD in English: questions over their own paragraphs, dealt by document."""
    part = load(DATA / "xquad" / "xquad.en.json", format="squad", task="answering").answering
    examples = {str(example["id"]): example for example in part.all}
    rows = [{"id": key, "text": str(example["question"]), "document": str(example.get("document") or key.split("-")[0])}
            for key, example in examples.items()]  # fmt: skip
    dealt = split(rows, ratios={"train": 0.3, "dev": 0.2, "test": 0.5}, seed=0)
    splits: dict[str, list[Any]] = {name: [] for name in SIZES}
    for key, name in dealt.of.items():
        splits[name].append(examples[key])
    program = workspace.target("answering").tunable().deepcopy()
    return program.index(part.passages), splits, workspace.metric("answering")


TASKS: dict[str, Callable[[], Job]] = {
    "classification": lambda: bundled("classification"),
    "answering": lambda: bundled("answering"),
    "extraction": lambda: bundled("extraction"),
    "records": lambda: bundled("records", "records"),
    "ajmc": ajmc,
    "sonar": sonar,
    "culture": culture,
    "xquad": xquad,
}


def arm(task: str, optimizer: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """One arm: its row."""
    logging.disable(logging.CRITICAL)
    row: dict[str, Any] = {"task": task, "lm": args.lm or "local/smollm2-135m", "optimizer": optimizer, "seed": seed}
    row |= {"reflection": args.reflection} if args.reflection else {}
    started = time.perf_counter()
    try:
        program, splits, metric = TASKS[task]()
        chosen = {name: part[: getattr(args, name)] for name, part in splits.items()}
        row["examples"] = {name: len(part) for name, part in chosen.items()}
        model = models.resolve(args.lm, max_tokens=args.tokens)
        reflection = models.resolve(args.reflection) if args.reflection and OPTIMIZERS[optimizer].writes else None
        options = {"most": args.most} if optimizer == "patches" else SMALL.get(optimizer, {})
        done = tune(
            program, chosen, metric, optimizer, lm=model, adapter=models.adapter(model), reflection_lm=reflection,
            budget=args.budget, seed=seed, progress=False, settings=options, folder=None,
        )  # fmt: skip
    except (GoldassayError, OSError) as error:
        return {**row, "error": " ".join(str(error).split())[:300], "minutes": (time.perf_counter() - started) / 60}
    if done.test is None:
        return {**row, "error": "no test examples"}
    dev, test = done.dev.difference, done.test.difference
    # For the other optimizers our acceptance is the rule of keeping, on dev: better, with a p of .2 at most.
    is_kept = done.ledger.verdict.kept if optimizer == "patches" else dev.difference > 0 and dev.p <= KEEP
    return {
        **row,
        "before": done.test.before.value,
        "after": done.test.after.value,
        "gain": test.difference,
        "low": test.interval.low,
        "high": test.interval.high,
        "p": test.p,
        "dev_gain": dev.difference,
        "dev_p": dev.p,
        "kept": bool(is_kept),
        "proven": test.difference > 0 and test.p <= 0.05,
        "calls": done.cost["calls"],
        "minutes": done.cost["seconds"] / 60,
        "stopped": done.stopped,
        "note": done.note or done.ledger.verdict.sentence if optimizer == "patches" else done.note,
        "parts": [
            round(float(each), 6)
            for each in contributions(done.test.after.evidence, done.test.before.evidence, done.test.after.zero)
        ],
        "patches": [{"id": each.id, "status": each.status, "reason": each.reason} for each in done.ledger.patches],
    }


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["task"], row["lm"], row["optimizer"], row["seed"]


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The rows of a results file; of an arm that stands there twice the last."""
    if not file.is_file():
        return []
    latest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
            latest[key(row)] = row
        except (ValueError, KeyError):  # a line that was cut off is run again
            continue
    return list(latest.values())


def run(args: argparse.Namespace) -> None:
    """Every arm that has no row yet, ``--jobs`` at a time."""
    finished = {key(row) for row in rows_of(args.out) if not row.get("error")}
    arms = [
        (task, optimizer, seed) for seed in args.seed for task in args.task for optimizer in args.optimizer
        if (task, args.lm or "local/smollm2-135m", optimizer, seed) not in finished
    ]  # fmt: skip
    print(f"{len(arms)} arms to run, {len(finished)} known", file=sys.stderr, flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(_process, *arm_key, args): arm_key for arm_key in arms}
        for future in as_completed(running):
            row = future.result()
            with args.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            outcome = row.get("error") or f"{row['before']:.3f} → {row['after']:.3f} ({row['gain']:+.3f})"
            print(*running[future], outcome, file=sys.stderr, flush=True)


def _process(task: str, optimizer: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """The arm in a process of its own, with one thread."""
    words = [sys.executable, "-m", "benchmarks.tuning", "--arm", "--task", task, "--optimizer", optimizer]
    words += [
        "--seed",
        str(seed),
        "--tokens",
        str(args.tokens),
        "--most",
        str(args.most),
        "--budget",
        args.budget,
        "--out",
        str(args.out),
    ]
    words += [word for name in SIZES for word in (f"--{name}", str(getattr(args, name)))]
    words += ["--lm", args.lm] if args.lm else []
    words += ["--reflection", args.reflection] if args.reflection else []
    environment = {
        "OMP_NUM_THREADS": "1",
        "GOLDASSAY_LM_THREADS": "1",
        "DSPY_CACHEDIR": f"{args.out}.cache-{os.getpid()}",
    }
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    try:
        row: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return row
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"task": task, "lm": args.lm or "local/smollm2-135m", "optimizer": optimizer, "seed": seed,
                "error": f"the process ended with {done.returncode}: {last[:300]}"}  # fmt: skip


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning")
    parser.add_argument("--task", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--optimizer", nargs="+", default=list(OPTIMIZERS))
    parser.add_argument("--seed", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--lm", help="the model (default: the embedded one)")
    parser.add_argument("--reflection", help="the model that writes instructions (default: the model)")
    parser.add_argument("--out", type=Path, default=Path("tuning-rows.jsonl"), help="the results file")
    parser.add_argument("--jobs", type=int, default=1, help="arms at once, a process and a thread each")
    parser.add_argument("--budget", default="calls=3000,minutes=60", help="of each arm")
    parser.add_argument("--tokens", type=int, default=160, help="the longest answer")
    parser.add_argument("--most", type=int, default=40, help="examples that patches measures at most")
    for name, count in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=count, help=f"examples of {name} at most")
    parser.add_argument("--table", action="store_true", help="print the results file as Markdown")
    parser.add_argument("--arm", action="store_true", help="run one arm here and print its row")
    args = parser.parse_args(arguments)
    if args.table:
        print(table(rows_of(args.out)))
    elif args.arm:
        print(json.dumps(arm(args.task[0], args.optimizer[0], args.seed[0], args), ensure_ascii=False))
    else:
        run(args)


if __name__ == "__main__":
    main(sys.argv[1:])
