"""What a judge of a failure mode can tell: ``python -m benchmarks.modes`` writes the table of docs/labels.md.

A number says how many draws a cell has; ``--quick`` makes 50 and writes nothing. A draw is a stream of 400 traces of
which a share has the failure, and a draft of 40 or 100 that is read: at random, or for errors
(`goldassay.ext.labelling.drafts`: two thirds from likely failures, which are .6 of those with it and .1 of the others).
The judge is shown traces as `goldassay.ext.labelling.mode_judges` chooses them, and gives verdicts by chance: yes on .8
of the failures and .1 of the others, or yes on .3 of all. What is printed is the corrected share, or where the judge is
not better than chance (or could not be made: fewer than two failures were read) the share by the labels alone. The
truth is that of the stream.

``python -m benchmarks.modes real [LM] [DRAFTED]`` asks a real model. 240 questions of XQuAD (English) are answered by a
rule with real faults: the last name or number of the sentence that shares most words with the question. A script reads
100 of them, drafted for errors by the overlap, as a reviewer would: what is asked for (a date, a number, a person) and
whether the answer is one, with a slip in twenty. The truth of all is what the script would say without slips.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import chdir, closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import dspy
import numpy as np
from tests.simulations.labels import DRAWS, HIGH, LOW, PAGE, Random, marked
from tests.simulations.preferences import DATA

from goldassay._support.exceptions import DataError
from goldassay.ext.labelling.drafts import LIKELY
from goldassay.ext.labelling.mode_judges import align, alignment, mode_judge
from goldassay.ext.labelling.modes import Mode, ReviewedTrace, mode_shares
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.journal import Decision
from goldassay.ext.labelling.review.session import Session, all_traces, reviewed_traces
from goldassay.judges.judge import Judge
from goldassay.models import lm as models
from goldassay.reporting.terminal import show
from goldassay.statistics.design import Sampling
from goldassay.statistics.intervals import Interval
from goldassay.statistics.sampling import allocate_labels

TRACES = 400
REAL = 240  # traces that a real model judges
FLAGGED = {True: 0.6, False: 0.1}  # the share of traces with the failure, and of the others, that look like failures
JUDGES = {"sensitivity .8, specificity .9": (0.8, 0.1), "useless: yes on .3 of all": (0.3, 0.3)}
MODE = Mode("missing total")
JUDGE = Judge(dspy.LM("scripted/judge"))
USELESS = 0.95  # the least share of useless judges that are called so


def read(rng: Random, failed: np.ndarray, errors: bool, n: int) -> list[ReviewedTrace]:
    """The traces of a draft, with what a person said of them."""
    flagged = rng.random(TRACES) < np.where(failed, FLAGGED[True], FLAGGED[False])
    stratum_of = np.where(flagged, "low confidence", "rest") if errors else np.full(TRACES, "all")
    order = {str(name): rng.permutation(np.flatnonzero(stratum_of == name)).tolist() for name in {*stratum_of}}
    sizes = {name: len(places) for name, places in order.items()}
    shares = {"low confidence": LIKELY, "rest": 1 - LIKELY} if len(order) > 1 else dict.fromkeys(order, 1.0)
    taken = dict.fromkeys(order, 0)
    traces = []
    for name in allocate_labels(shares, sizes, {}, n):
        place = order[name][taken[name]]
        sampling = Sampling(
            question="errors" if errors else "level",
            stratum=name,
            size=sizes[name],
            population=TRACES,
            position=taken[name],
        )
        modes = (MODE.name,) if failed[place] else ()
        traces.append(ReviewedTrace(str(place), {"text": str(place)}, modes=modes, sampling=sampling))
        taken[name] += 1
    return traces


@dataclass(frozen=True)
class Draw:
    """What is printed of a draft, what the labels alone say, and whether the judge is called better than chance."""

    printed: Interval
    labels: Interval
    better: bool


def drawn(rng: Random, share: float, errors: bool, n: int, rates: tuple[float, float]) -> Draw:
    """A draft and its judge."""
    failed = rng.random(TRACES) < share
    traces = read(rng, failed, errors, n)
    yes = rng.random(TRACES) < np.where(failed, *rates)
    verdicts: dict[str, bool | None] = {str(place): bool(verdict) for place, verdict in enumerate(yes)}
    labels = next(each.share for each in mode_shares(traces, [MODE]))
    assert labels is not None
    try:
        shown = mode_judge(MODE, traces, JUDGE, seed=int(rng.integers(1000))).shown
    except DataError:
        return Draw(labels, labels, False)
    unseen = {name: verdict for name, verdict in verdicts.items() if name not in shown}
    result = alignment(MODE.name, traces, unseen, verdicts.keys())
    return Draw(result.share or labels, labels, result.better_than_chance)


def row(cell: tuple[float, bool, int], judge: str, draws: int, seed: int) -> str:
    """A row of the table; a cell outside its limits is drawn again with another seed and four times the draws."""
    share, errors, n = cell
    for mark in ("", "†"):
        times = 4 * draws if mark else draws
        start = seed + 1_000_000 if mark else seed
        draw = [drawn(np.random.default_rng(start + at), share, errors, n, JUDGES[judge]) for at in range(times)]
        covered = np.mean([each.printed.low <= share <= each.printed.high for each in draw])
        alone = np.mean([each.labels.low <= share <= each.labels.high for each in draw])
        better = np.mean([each.better for each in draw])
        useless = "useless" in judge
        inside = bool(LOW <= covered <= HIGH) and not (useless and 1 - better < USELESS)
        if inside:
            break
    width, width_alone = np.mean([(e.printed.high - e.printed.low, e.labels.high - e.labels.low) for e in draw], axis=0)
    used = [(e.printed.high - e.printed.low) / (e.labels.high - e.labels.low) for e in draw if e.better]
    gain = f"{np.mean(used):.2f}" if len(used) > draws / 20 else "–"
    return (
        f"| {judge} | {share} | {'errors' if errors else 'random'} | {n} | {better:.3f} "
        f"| {marked(f'{covered:.3f}{mark}', inside)} ({width:.3f}) | {alone:.3f} ({width_alone:.3f}) | {gain} |"
    )


def table(draws: int) -> Iterator[str]:
    """All cells."""
    yield "| judge | share | draft | labels | used | printed: coverage (width) | labels alone | width where used |"
    yield "|---|---|---|---|---|---|---|---|"
    for seed, (judge, share, errors, n) in enumerate(product(JUDGES, (0.05, 0.2), (False, True), (40, 100))):
        yield row((share, errors, n), judge, draws, 10_000 * seed)


KINDS = {
    "a date": (r"^(in what year|in which year|what year|when|in what century)\b", r"\b\d{3,4}s?\b|century|January|May"),
    "a number": (r"^(how many|how much)\b", r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten)\b"),
    "a person": (r"^(who|whose)\b", r"^[A-Z][a-z]+( [A-Z][\w.]*)+$|^[A-Z][a-z]+$"),
}
"""What a question asks for, by how it begins, and what an answer of that kind looks like."""
KIND = Mode("wrong kind of answer", "The question asks for a date, a number or a person, and the answer is none.")
SLIPS = 0.05


def answered(question: str, context: str) -> tuple[str, float]:
    """The last name or number of the sentence that shares most words with the question, and the share of its words."""
    words = set(re.findall(r"\w+", question.lower()))
    shares = {
        sentence: len(words & set(re.findall(r"\w+", sentence.lower()))) / len(words)
        for sentence in re.split(r"(?<=[.!?]) ", context)
    }
    sentence = max(shares, key=lambda each: shares[each])
    names = re.findall(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*|\d[\d.,]*", sentence)
    return (names[-1] if names else sentence.split()[-1]).strip(".,"), shares[sentence]


def wrong_kind(question: str, answer: str) -> str:
    """What is asked for and not given; empty if nothing is wrong."""
    for kind, (asks, looks) in KINDS.items():
        if re.search(asks, question, re.IGNORECASE):
            return "" if re.search(looks, answer) else kind
    return ""


def reviewed(n: int) -> tuple[Path, float]:
    """The folder of a review of real answers, and the true share of the mode."""
    articles = json.loads((DATA / "xquad" / "xquad.en.json").read_text(encoding="utf-8"))["data"]
    asked = [
        (qa["id"], qa["question"], each["context"]) for a in articles for each in a["paragraphs"] for qa in each["qas"]
    ]
    rng = random.Random(0)
    asked = rng.sample(asked, REAL)
    questions, answers = [], []
    for name, question, context in asked:
        answer, confidence = answered(question, context)
        questions.append({"id": name, "question": question})
        answers.append({"id": name, "answer": answer, "confidence": confidence})
    for name, rows in (("questions", questions), ("answers", answers)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    folder = Folder.open([Path("questions.jsonl"), Path("answers.jsonl")], "answering", question="errors", n=n)
    by_id = {each["id"]: each["answer"] for each in answers}
    with closing(Session(folder)) as session:
        for place, record in enumerate(folder.records):
            missing = wrong_kind(record["question"], by_id[record["id"]])
            slip = rng.random() < SLIPS
            failed = bool(missing) != slip
            note = f"asks for {missing or 'something else'}, the answer is {by_id[record['id']]!r}" if failed else None
            value = None if failed else {"answers": [by_id[record["id"]]]}
            fields = {"good": not failed, "value": value, "modes": [KIND.name] if failed else [], "note": note}
            decision = {"decision": str(uuid.uuid4()), "item": str(place), "kind": "label", **fields}
            session.decide(Decision.model_validate(decision), "script", "")
    truth = np.mean([bool(wrong_kind(question, by_id[name])) for name, question, _ in asked])
    return folder.path, float(truth)


def real(name: str | None, n: int) -> None:
    """Ask a real model, and print what the command prints."""
    logging.disable(logging.CRITICAL)
    with TemporaryDirectory() as place, chdir(place):
        folder, truth = reviewed(n)
        traces = reviewed_traces(folder)
        model = models.resolve(name)
        judge = mode_judge(KIND, traces, Judge(model, adapter=models.adapter(model)))
        began = time.perf_counter()
        result = align(judge, traces, all_traces(folder))
        os.environ["COLUMNS"] = "100"
        show(result.view())
        labelled = truth * (1 - SLIPS) + (1 - truth) * SLIPS
        seconds = time.perf_counter() - began
        print(f"true share {truth:.3f}, with the slips {labelled:.3f}; {judge.judge.calls} calls, {seconds:.0f} s")


def main() -> None:
    if "real" in sys.argv:
        rest = sys.argv[sys.argv.index("real") + 1 :]
        named = next((word for word in rest if not word.isdigit()), None)
        return real(named, next((int(word) for word in rest if word.isdigit()), 100))
    quick = "--quick" in sys.argv
    draws = next((int(word) for word in sys.argv[1:] if word.isdigit()), 50 if quick else DRAWS)
    rows = []
    for line in table(draws):
        rows.append(line)
        print(line, flush=True)
    if not quick:
        before, mark, old = PAGE.read_text(encoding="utf-8").partition("<!-- modes -->\n")
        after = old.partition("<!-- end -->")[2]
        PAGE.write_text(f"{before}{mark}{chr(10).join(rows)}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
