"""Outputs of pairs of systems whose gold is complete: `labels` holds the verdict of few labels against that of all.

``python -m tests.simulations.label_outputs MODEL.gguf FOLDER`` asks a local model (``nice -n 15``, about ten minutes on
one thread): two prompts on 300 questions of XQuAD. The answers are written to the folder line by line, and a run that
was interrupted goes on there. ``python -m benchmarks.labels real --answers FOLDER`` reads them; without the folder this
pair is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import dspy

from goldassay import workspace
from goldassay.gold import load
from goldassay.gold.pairing import pairs
from goldassay.models.lm import Asked, TerseAdapter, resolve
from goldassay.running.evaluate import evaluate
from goldassay.workspace.search import BM25Index

Rows = list[dict[str, Any]]
Sides = tuple[Rows, Rows, Rows]
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
QUESTIONS = 300
STATES = {
    "extraction": ("heritage", "entities", "patterns, with a gazetteer"),
    "classification": ("heritage", "label", "keywords, nearest"),
    "linking": ("heritage", "links", "exact names, fuzzy"),
    "answering": ("heritage", "answers", "as it is, fitted"),
    "triples": ("heritage", "triples", "as it is, fitted"),
    "records": ("records", "record", "ISO dates alone, all"),
}
"""Two states of the programs of the repository that ask no model: the gold, the field of the label, what they are."""


def published(answers: Path | None = None) -> Iterator[tuple[str, str, str, Sides]]:
    """A title, the task, the field of gold, and gold with the outputs of both."""
    folder = DATA / "text2kgbench"
    models = {"Alpaca-LoRA-13B": "lora-13b_responses_v2", "Vicuna-13B": "llm_responses"}
    for ontology in ("ont_10_culture", "ont_4_book"):
        gold = folder / f"ground_truth__{ontology}_ground_truth.jsonl"
        files = [folder / f"baselines__{name}__llm_responses__{ontology}_{end}.jsonl" for name, end in models.items()]
        first, second = (pairs("triples", gold, file, format="text2kgbench") for file in files)
        sides = (list(first.gold), list(first.pred), list(second.pred))
        yield f"{ontology.split('_')[-1]}: Alpaca-LoRA-13B, Vicuna-13B", "triples", "triples", sides
    for language in ("de", "en", "fr"):
        gold = DATA / "hipe2022" / f"ajmc-test-{language}.tsv"
        files = [DATA / "hipe-official" / f"ajmc-{language}-{number}.tsv" for number in (1, 2)]
        first, second = (pairs("extraction", gold, file, format="hipe") for file in files)
        sides = sentences(first.gold, first.pred, second.pred)
        yield f"ajmc {language}: damaged files 1, 2", "extraction", "entities", sides
    for language in ("en", "de"):
        yield f"xquad {language}: BM25, with the article's title", "retrieval", "relevant", retrieved(language)
    yield "xquad en: BM25, vectors", "retrieval", "relevant", retrieved_by_programs("en")
    for task, (name, field, title) in STATES.items():
        yield f"{name}, {task}: {title}", task, field, programs(task, name)
    if answers is not None:
        yield "xquad en: Qwen 0.5B, two prompts", "answering", "answers", answered(answers)


Passages = list[dict[str, str]]


def paragraphs(language: str) -> tuple[Rows, Passages, Passages]:
    """The questions of XQuAD with the paragraph that answers each, and the paragraphs, plain and with their title."""
    articles = json.loads((DATA / "xquad" / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
    gold: Rows = []
    plain: Passages = []
    titled: Passages = []
    for number, article in enumerate(articles):
        title = str(article.get("title", "")).replace("_", " ")
        for place, paragraph in enumerate(article["paragraphs"]):
            name = f"{number}-{place}"
            plain.append({"id": name, "text": paragraph["context"]})
            titled.append({"id": name, "text": f"{title} {paragraph['context']}"})
            asked = [(question["id"], question["question"]) for question in paragraph["qas"]]
            gold += [{"id": key, "query": query, "relevant": {name: 1}} for key, query in asked]
    return gold, plain, titled


def retrieved(language: str) -> Sides:
    """The paragraphs of XQuAD by BM25, as they are and with the title of their article."""
    gold, *several = paragraphs(language)
    sides = []
    for passages in several:
        index = BM25Index(passages)
        hits = [(record["id"], index.search(record["query"], 10)) for record in gold]
        sides.append([{"id": key, "results": [{"doc_id": n, "score": s} for n, s in of_key]} for key, of_key in hits])
    return gold, sides[0], sides[1]


def retrieved_by_programs(language: str) -> Sides:
    """The paragraphs of XQuAD by both retrievers of the repository that ask no model."""
    gold, passages, _ = paragraphs(language)
    module = workspace.load(workspace.target("retrieval").file)
    sides = []
    for program in (module.BM25().index(passages), module.Dense().index(passages)):
        sides.append([{"id": record["id"], "results": program(query=record["query"]).results} for record in gold])
    return gold, sides[0], sides[1]


def programs(task: str, name: str) -> Sides:
    """Two states of a program of the repository on all gold of a set; none asks a model."""
    part = getattr(load(name, task=task), task)
    module = workspace.load(workspace.target(task).file)
    train = list(part.train)
    states: dict[str, Any] = {
        "extraction": lambda: (module.PatternExtraction(), module.baseline.fit(train)),
        "classification": lambda: (module.baselines["keywords"], module.baseline.fit(train)),
        "linking": lambda: (module.baselines["exact"], module.baselines["fuzzy"]),
        "answering": lambda: (module.Overlap(), module.Overlap().fit(train)),
        "triples": lambda: (module.PatternTriples(), module.PatternTriples().fit(train)),
        "records": lambda: (partial(iso_dates_alone, module.baseline), module.baseline),
    }
    sides = []
    for program in states[task]():
        run = evaluate(program, list(part.all), workspace.metric(task), progress=False)
        sides.append([{"id": row.id, **row.prediction} for row in run.rows if row.prediction is not None])
    gold = [{key: value for key, value in record.items() if value is not None} for record in part.all]
    return gold, sides[0], sides[1]


def iso_dates_alone(program: Any, text: str) -> dspy.Prediction:
    """A record whose date is left out unless the text has it in ISO 8601."""
    record = program(text=text).record
    return dspy.Prediction(record={**record, "date": record["date"] if str(record["date"]) in text else None})


def sentences(*sides: Sequence[Mapping[str, Any]]) -> Sides:
    """Documents cut after full stops, where no span of any side is cut."""
    cut: Sides = ([], [], [])
    for several in zip(*sides, strict=True):
        text = several[0]["text"]
        spans = [span for record in several for span in record["entities"]]
        stops = [at + 2 for at in range(len(text)) if text[at : at + 2] == ". "]
        stops = [at for at in stops if not any(span["start"] < at < span["end"] for span in spans)]
        for start, end in pairwise([0, *stops, len(text)]):
            for rows, record in zip(cut, several, strict=True):
                inside = [span for span in record["entities"] if start <= span["start"] < end]
                moved = [{**span, "start": span["start"] - start, "end": span["end"] - start} for span in inside]
                rows.append({"id": f"{several[0]['id']}:{start}", "entities": moved})
            cut[0][-1]["text"] = text[start:end]
    return cut


class Plain(dspy.Signature):  # type: ignore[misc]
    """Answer the question."""

    passage: str = dspy.InputField()
    question: Asked = dspy.InputField()
    answer: str = dspy.OutputField()


SHORT = "Answer with as few words of the passage as possible, never with a sentence."
PROMPTS = {"plain": dspy.Predict(Plain), "short": dspy.Predict(Plain.with_instructions(SHORT))}


def questions() -> Rows:
    """The 300 questions of XQuAD on its shortest paragraphs, with the paragraph as ``passage``."""
    articles = json.loads((DATA / "xquad" / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    paragraphs.sort(key=lambda paragraph: len(paragraph["context"].split()))
    rows = [
        {
            "id": question["id"],
            "question": question["question"],
            "passage": paragraph["context"],
            "answers": [answer["text"] for answer in question["answers"]],
        }
        for paragraph in paragraphs
        for question in paragraph["qas"]
    ]
    return rows[:QUESTIONS]


def answered(folder: Path) -> Sides:
    """The questions of XQuAD, and the answers of both prompts."""
    gold = [{key: row[key] for key in ("id", "question", "answers")} for row in questions()]
    plain, short = (_lines(folder / f"xquad-{name}.jsonl") for name in PROMPTS)
    return gold, plain, short


def _lines(file: Path) -> Rows:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def ask(model: str, folder: Path) -> None:
    """Ask both prompts all questions, and write each answer to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lm = resolve(f"local:{model}")
    for name, program in PROMPTS.items():
        file = folder / f"xquad-{name}.jsonl"
        there = {row["id"] for row in _lines(file)} if file.exists() else set()
        with file.open("a", encoding="utf-8") as lines, dspy.context(lm=lm, adapter=TerseAdapter()):
            for row in questions():
                if row["id"] not in there:
                    answer = program(passage=row["passage"], question=row["question"]).answer
                    print(json.dumps({"id": row["id"], "answer": answer}), file=lines, flush=True)


if __name__ == "__main__":
    ask(sys.argv[1], Path(sys.argv[2]))
