"""The embedded model (or any other) as a judge of preferences, beside people: what it is worth, as measured.

``python -m benchmarks.judging [PAIRS] [LM]``. Every pair is asked about in both orders; answers are cut to 600
characters, so that a small context holds two of them.

``python -m benchmarks.judging items FOLDER`` writes the items of the table in docs/how-to/judges.md, for ``goldassay
judge eval``: 40 claims of RAGChecker's example with a passage and the label of its own checker, and 60 answers to
questions of XQuAD, half of them right (a sentence, or shortened) and half the answer to another question of the
paragraph.
"""

from __future__ import annotations

import json
import logging
import random
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.simulations.preferences import DATA, prefer, read_preferences

from goldassay.judges.judge import Judge
from goldassay.judges.labels import LabelFile
from goldassay.models import lm as models
from goldassay.statistics.intervals import Interval

LONGEST = 600
SUPPORT = {"Entailment": "supported", "Neutral": "not_stated", "Contradiction": "contradicted"}
SEED = 7
CLAIMS, ANSWERS = 40, 60


def cut(labels: LabelFile) -> LabelFile:
    """The same pairs with their answers cut."""
    items = [replace(i, inputs={name: text[:LONGEST] for name, text in i.inputs.items()}) for i in labels.items]
    return replace(labels, items=items)


def shown(found: Interval | None) -> str:
    return "not known" if found is None else f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}], n {found.n}"


def claims(draw: random.Random) -> list[dict[str, Any]]:
    """RAGChecker's claims, each with a passage, drawn from as many that it supports as others."""
    records = json.loads((DATA / "ragchecker" / "checking_outputs.json").read_text(encoding="utf-8"))["results"]
    items = []
    for record in records:
        for name, column in (("response_claims", "retrieved2response"), ("gt_answer_claims", "retrieved2answer")):
            for number, (claim, labels) in enumerate(zip(record[name], record[column], strict=True)):
                for place, (passage, label) in enumerate(zip(record["retrieved_context"], labels, strict=True)):
                    identity = f"{record['query_id']}-{column}-{number}-{place}"
                    item = {"id": identity, "text": passage["text"], "claim": " ".join(claim), "label": SUPPORT[label]}
                    items.append(item)
    sides = [[item for item in items if (item["label"] == "supported") == side] for side in (True, False)]
    size = min(CLAIMS, len(sides[0]))
    chosen = [item for side in sides for item in draw.sample(side, size)]
    draw.shuffle(chosen)
    return chosen[:CLAIMS]


def answers(draw: random.Random) -> list[dict[str, Any]]:
    """Answers to questions of XQuAD beside the reference."""
    articles = json.loads((DATA / "xquad" / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
    paragraphs = [each for each in paragraphs if len(each["qas"]) > 2 and len(each["context"]) < 900]
    draw.shuffle(paragraphs)
    items = []
    for number, paragraph in enumerate(paragraphs[:100]):
        question = draw.choice(paragraph["qas"])
        right = question["answers"][0]["text"]
        texts = [other["answers"][0]["text"] for other in paragraph["qas"] if other is not question]
        wrong = [text for text in texts if text not in right and right not in text]
        if not wrong:
            continue
        answer = f"It is {right}." if number % 4 == 0 else right.split(",")[0]
        if number % 2:
            answer = draw.choice(wrong)
        criterion = f"The answer gives the same fact as the reference answer: {right}"
        label = "no" if number % 2 else "yes"
        item = {"id": question["id"], "criterion": criterion, "question": question["question"], "answer": answer}
        items.append({**item, "label": label})
    return items[:ANSWERS]


def write_items(folder: Path) -> None:
    """Write ``claims.jsonl`` and ``answers.jsonl``."""
    draw = random.Random(SEED)
    folder.mkdir(parents=True, exist_ok=True)
    for name, items in (("claims", claims(draw)), ("answers", answers(draw))):
        text = "".join(f"{json.dumps(item)}\n" for item in items)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def main() -> None:
    if sys.argv[1:2] == ["items"]:
        return write_items(Path(sys.argv[2]))
    logging.disable(logging.CRITICAL)
    named = [word for word in sys.argv[1:] if "/" in word or ":" in word]
    pairs = next((int(word) for word in sys.argv[1:] if word.isdigit()), 20)
    model = models.resolve(named[0] if named else None)
    labels = read_preferences(DATA / "ragchecker" / "human_labeled_data.json", limit=pairs)
    judge = Judge(model, adapter=models.adapter(model))
    began = time.perf_counter()
    preferences = prefer(judge, cut(labels))
    seconds = time.perf_counter() - began
    print(f"{preferences.judge} on {preferences.pairs} pairs, both orders: {judge.calls} calls, {seconds:.0f} s")
    chance = f"most frequent label {preferences.chance:.3f}"
    print(f"  agrees with people (first, second, tie)   {shown(preferences.three_way)}; {chance}")
    print(f"  agrees where people prefer one            {shown(preferences.decided)}")
    print(f"  both orders name the same winner          {shown(preferences.consistent)}")
    print(f"  names the answer in the first place       {shown(preferences.first)}")
    print(f"  alpha of people among themselves          {shown(preferences.people)}")
    print(f"  pairs without a verdict {preferences.unknown}, without a majority of people {preferences.no_majority}")


if __name__ == "__main__":
    main()
