"""How often 95 % intervals hold the truth: ``python -m benchmarks coverage`` writes the tables of docs/coverage.md.

``python -m benchmarks.coverage sides`` writes one of them alone (values, sides, rare, files, differences, repeats,
shifts); a number says how many draws a cell has.

Four kinds of values, four sizes, four truths. A draw is a sample of n examples from a population whose value is known:

* accuracy: a share p is right;
* F1: documents of 1 + Poisson(2) entities, each found with a chance that differs between documents (a beta
  distribution with mean p, concentration 4), wrong ones predicted as often as entities are missed: micro-F1 is p;
* macro-F1: four labels (40, 30, 20, 10 %), a wrong one drawn from the others; p is set so that macro-F1 is the truth;
* MRR: the right one first in a share of queries, of the rest half at ranks 2 to 10 and half nowhere (half or fewer).

With rare classes, the truth is the mean of the population's F1 of the labels that the sample's value is a mean over.
Files of documents are written and scored as `goldassay score` does; each document has a quality of its own.

For a difference, two systems answer the same examples, and on 60 % of them with the same luck.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from goldassay import Counts, Mean
from goldassay.core.evidence import Evidences
from goldassay.core.tally import Macro
from goldassay.measures.classification.tally import Labelled
from goldassay.statistics import interval
from goldassay.statistics.paired import difference_interval, resampled_differences
from goldassay.statistics.ppi import corrected

Array = NDArray[Any]
SIZES, TRUTHS, DRAWS = (10, 20, 40, 150), (0.05, 0.5, 0.9, 0.98), 1000
DIFFERENCES = ((0.05, 0.05), (0.5, 0.5), (0.98, 0.98), (0.6, 0.5), (0.98, 0.9))
SAME_LUCK = 0.6
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
LABELS = "ABCD"
PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"
LEAST, MOST = 0.93, 0.97
WIDE = (
    ("F1", 10, 0.9), ("F1", 10, 0.98), ("F1", 20, 0.98), ("F1", 40, 0.98),
    ("macro-F1", 10, 0.05), ("macro-F1", 20, 0.05), ("macro-F1", 40, 0.05), ("macro-F1", 40, 0.98),
    ("MRR", 10, 0.05), ("MRR", 10, 0.9), ("MRR", 10, 0.98),
)  # fmt: skip
SHARPER = 4  # times as many draws say on which side these miss
RESAMPLES, FEWER = 200, 4  # of the bootstrap beside it, which a quarter of the draws suffices for


Sample = Callable[[Array, Array, float], Any]
"""Uniform numbers that make gold and the system's luck, and the truth; back comes the evidence of the examples."""


def accuracy(_: Array, luck: Array, truth: float) -> Any:
    return Mean((luck[0] < truth).astype(float), np.ones(luck.shape[1]))


def f1(gold: Array, luck: Array, truth: float) -> Any:
    entities = 1 + _poisson(gold[0])
    chance = _beta(truth)[(luck[0] * STEPS).astype(int)]
    correct, wrong = _binomial(luck[1], entities, chance), _binomial(luck[2], entities, 1 - chance)
    return Counts(*(column.astype(float) for column in (correct, wrong, entities - correct)))


STEPS = 4096


@cache
def _beta(truth: float) -> Array:
    """The quantiles of the chance of a document."""
    middle = (np.arange(STEPS) + 0.5) / STEPS
    return np.asarray(stats.beta.ppf(middle, 4 * truth, 4 * (1 - truth)))


def _poisson(uniform: Array) -> Array:
    """The entities of documents after the first, with mean 2."""
    return np.searchsorted(np.asarray(stats.poisson.cdf(np.arange(15), 2)), uniform)


def _binomial(uniform: Array, n: Array, p: Array) -> Array:
    """Quantiles of binomial distributions, by walking through their probabilities."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    chance = (1 - p) ** n
    so_far, out = chance.copy(), np.zeros(len(n), dtype=int)
    for k in range(int(n.max())):
        out += (so_far < uniform) & (k < n)
        chance = chance * np.maximum(n - k, 0) / (k + 1) * p / (1 - p)
        so_far += chance
    return out


def macro_f1(gold: Array, luck: Array, truth: float) -> Any:
    label = np.searchsorted(np.cumsum(SHARES)[:-1], gold[0])
    pred = np.where(luck[0] < _right(truth), label, (label + 1 + (luck[1] * 3).astype(int)) % 4)
    by = {
        name: Counts(*(both.astype(float) for both in _counts(label == at, pred == at)))
        for at, name in enumerate(LABELS)
    }
    return Macro(by, share="seen")


def _counts(gold: Array, pred: Array) -> tuple[Array, Array, Array]:
    return gold & pred, ~gold & pred, gold & ~pred


@cache
def _right(truth: float) -> float:
    """The share of right labels at which macro-F1 is the truth, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        p = (low + high) / 2
        table = np.outer(SHARES, np.full(4, (1 - p) / 3))
        np.fill_diagonal(table, SHARES * p)
        value = (2 * np.diag(table) / (table.sum(0) + table.sum(1))).mean()
        low, high = (p, high) if value < truth else (low, p)
    return low


def mrr(_: Array, luck: Array, truth: float) -> Any:
    later = float(np.mean(1 / np.arange(2, 11)))
    first = max(0.0, (truth - later / 2) / (1 - later / 2))
    somewhere = 0.5 if first else truth / later
    ranks = np.where(luck[1] < somewhere, 1 / (2 + (luck[2] * 9).astype(int)), 0.0)
    return Mean(np.where(luck[0] < first, 1.0, ranks), np.ones(luck.shape[1]))


ZEROS: dict[str, Any] = {"macro-F1": Macro({label: Counts() for label in LABELS}, share="seen"), "F1": Counts()}
KINDS: dict[str, Sample] = {"accuracy": accuracy, "F1": f1, "macro-F1": macro_f1, "MRR": mrr}


def covered(kind: str, truth: float, n: int, draws: int, method: str = "auto", seed: int = 0) -> tuple[float, float]:
    """The share of intervals that hold the truth, and their mean width."""
    return _held(drawn(kind, truth, n, draws, method, seed), truth)


def drawn(kind: str, truth: float, n: int, draws: int, method: str = "auto", seed: int = 0) -> list[Any]:
    """The ends of the intervals of so many samples."""
    rng, zero = np.random.default_rng(seed), ZEROS.get(kind, Mean())
    ends = []
    for _ in range(draws):
        tallies = KINDS[kind](rng.random((1, n)), rng.random((3, n)), truth)
        estimate = interval(tallies, zero, method=method, bounds=(0.0, 1.0), resamples=RESAMPLES)
        ends.append((estimate.low, estimate.high))
    return ends


def covered_difference(kind: str, truths: tuple[float, float], n: int, draws: int, how: str) -> tuple[float, float]:
    """The share of intervals of a difference that hold the true one, and their mean width."""
    rng, zero = np.random.default_rng(0), ZEROS.get(kind, Mean())
    ends = []
    for _ in range(draws):
        gold, luck = rng.random((1, n)), rng.random((3, n))
        other = np.where(rng.random(n) < SAME_LUCK, luck, rng.random((3, n)))
        evidences = Evidences(KINDS[kind](gold, luck, truths[0]), zero)
        rows = evidences.matrix, Evidences(KINDS[kind](gold, other, truths[1]), zero).matrix
        if how == "bootstrap":
            ends.append(np.quantile(resampled_differences(evidences, *rows, RESAMPLES, seed=0), (0.025, 0.975)))
        else:
            estimate, _ = difference_interval(evidences, *rows, 0.95, (0.0, 1.0))
            ends.append(np.array([estimate.low, estimate.high]))
    return _held(ends, truths[0] - truths[1])


def _held(ends: list[Any], truth: Any) -> tuple[float, float]:
    low, high = np.array(ends).T
    return float(((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean()), float((high - low).mean())


def cell(now: tuple[float, float], bootstrap: tuple[float, float]) -> str:
    coverage = f"{now[0]:.3f}" if LEAST <= now[0] <= MOST else f"**{now[0]:.3f}**"
    return f"{coverage} ({now[1]:.2f}; {bootstrap[0]:.3f})"


def values(draws: int) -> Iterator[str]:
    yield "| value | n | " + " | ".join(f"truth {truth}" for truth in TRUTHS) + " |"
    yield "|---|---|" + "---|" * len(TRUTHS)
    for kind in KINDS:
        for n in SIZES:
            both = [
                (covered(kind, truth, n, draws), covered(kind, truth, n, draws // FEWER, "bootstrap"))
                for truth in TRUTHS
            ]
            yield f"| {kind} | {n} | {' | '.join(cell(now, old) for now, old in both)} |"


def sides(draws: int) -> Iterator[str]:
    """Where the cells that hold too much miss the truth: an interval lies above it, or below it."""
    yield "| value | n | truth | held | above the truth | below it |"
    yield "|---|---|---|---|---|---|"
    for kind, n, truth in WIDE:
        low, high = np.array(drawn(kind, truth, n, SHARPER * draws, seed=1)).T
        above, below = (float(lost.mean()) for lost in (low - 1e-9 > truth, high + 1e-9 < truth))
        yield f"| {kind} | {n} | {truth} | {1 - above - below:.3f} | {above:.4f} | {below:.4f} |"


POPULATIONS = {  # of how many labels, how frequent they are, and the recall of the commonest and the rarest
    "Zipf, recall .8": (lambda n: 1 / np.arange(1, n + 1) ** 1.3, 0.8, 0.8),
    "Zipf, recall .95 to .3": (lambda n: 1 / np.arange(1, n + 1) ** 1.3, 0.95, 0.3),
    "half of them rare, recall .95": (lambda n: np.where(np.arange(n) < n / 2, 1.0, 0.03), 0.95, 0.95),
}
CONVENTIONS = {"list": "all", "seen": "all", "supported": "supported"}


def population(shape: str, labels: int) -> Array:
    """The chance of each pair of gold and predicted label; a wrong label is as likely as it is frequent."""
    frequency, first, last = POPULATIONS[shape]
    counts: Any = frequency
    shares = counts(labels) / counts(labels).sum()
    recall = np.linspace(first, last, labels)
    table = np.outer(shares * (1 - recall), shares) / (1 - shares)[:, None]
    np.fill_diagonal(table, shares * recall)
    return np.asarray(table)


def rare_classes(shape: str, labels: int, n: int, convention: str, draws: int, method: str, size: int = 1) -> Any:
    """Coverage and width of macro-F1; with ``size``, documents of so many examples, 70 % of which repeat the first."""
    table, rng = population(shape, labels), np.random.default_rng(0)
    right = np.diag(table)
    truth = 2 * right / (table.sum(0) + table.sum(1))
    names = [f"label {place:02}" for place in range(labels)]
    zero = Labelled({}, tuple(names) if convention == "list" else (), CONVENTIONS[convention])
    documents = np.repeat(np.arange(n // size), size) if size > 1 else None
    ends, truths = [], []
    for _ in range(draws):
        cells = rng.choice(labels**2, n, p=table.ravel())
        if documents is not None:
            cells = np.where(rng.random(n) < 0.7, cells[documents * size], cells)
        gold, pred = np.divmod(cells, labels)
        occurring = {"list": range(labels), "seen": {*gold, *pred}, "supported": {*gold}}[convention]
        pairs = {(names[c // labels], names[c % labels]): (cells == c).astype(float) for c in np.unique(cells)}
        tally: Any = zero.with_items(pairs)
        estimate = interval(
            tally, zero, clusters=None if documents is None else documents.tolist(), bounds=(0.0, 1.0), method=method
        )
        ends.append((estimate.low, estimate.high))
        truths.append(truth[list(occurring)].mean())
    return _held(ends, np.array(truths))


def rare(draws: int) -> Iterator[str]:
    """Macro-F1 with rare classes, beside the interval that does not look at them."""
    yield "| population | labels | n | over the list | over those seen | over those in gold |"
    yield "|---|---|---|---|---|---|"
    for shape in POPULATIONS:
        for labels, n, size in ((4, 20, 1), (10, 40, 1), (19, 150, 1), (19, 1000, 1), (10, 240, 6)):
            cells = []
            for convention in CONVENTIONS:
                now, before = (
                    rare_classes(shape, labels, n, convention, draws // 2, method, size)
                    for method in ("auto", "effective")
                )
                cells.append(cell(now, before))
            several = f" in {n // size} documents" if size > 1 else ""
            yield f"| {shape} | {labels} | {n}{several} | {' | '.join(cells)} |"


MEAN, CONCENTRATION, PER_DOCUMENT = 0.7, 2.0, 10  # quality of documents, and the examples of each


def squad(right: Array, named: bool, folder: Path) -> tuple[Path, Path]:
    """Articles of questions; as questions alone if they are not named."""
    questions = [
        [{"id": f"{d}-{q}", "question": "?", "answers": [{"text": "a"}]} for q in range(PER_DOCUMENT)]
        for d in range(len(right))
    ]
    gold, pred = folder / "gold.json", folder / "pred.json"
    articles = [
        {"title": str(d), "paragraphs": [{"context": f"a {d}", "qas": some}]} for d, some in enumerate(questions)
    ]
    lone = [{"id": q["id"], "question": "?", "answers": ["a"]} for some in questions for q in some]
    answers = {
        q["id"]: "a" if hit else "b"
        for some, row in zip(questions, right, strict=True)
        for q, hit in zip(some, row, strict=True)
    }
    gold.write_text(json.dumps({"data": articles} if named else lone))
    pred.write_text(json.dumps(answers if named else [{"id": name, "answer": text} for name, text in answers.items()]))
    return gold, pred


def conll(right: Array, named: bool, folder: Path) -> tuple[Path, Path]:
    """Sentences of one entity; without ``-DOCSTART-`` if documents are not named."""
    start = "-DOCSTART- O\n\n" if named else ""
    sides = [[[("B-PER" if hit else "B-LOC") for hit in row] for row in side] for side in (np.ones_like(right), right)]
    files = folder / "gold.conll", folder / "pred.conll"
    for file, documents in zip(files, sides, strict=True):
        file.write_text("".join(start + "".join(f"Ada {tag}\n\n" for tag in tags) for tags in documents))
    return files


def records(right: Array, named: bool, folder: Path) -> tuple[Path, Path]:
    """Records of classification with or without their ``document``."""
    gold, pred = folder / "gold.jsonl", folder / "pred.jsonl"
    rows = [(f"{d}-{e}", d, hit) for d, row in enumerate(right) for e, hit in enumerate(row)]
    named_as = [{"document": d} if named else {} for _, d, _ in rows]
    gold.write_text(
        "".join(json.dumps({"id": i, "label": "x", **m}) + "\n" for (i, _, _), m in zip(rows, named_as, strict=True))
    )
    pred.write_text("".join(json.dumps({"id": i, "label": "x" if hit else "y"}) + "\n" for i, _, hit in rows))
    return gold, pred


FILES = {
    "SQuAD, articles of ten questions": (squad, "answering", "exact_match"),
    "CoNLL, documents of ten sentences": (conll, "extraction", "strict_f1"),
    "JSON Lines, documents of ten records": (records, "classification", "accuracy"),
}


def files(draws: int) -> Iterator[str]:
    """Files of documents through `goldassay score`, with the documents named and without."""
    import goldassay

    yield "| file | value | documents | named | not named |"
    yield "|---|---|---|---|---|"
    for title, (write, task, value) in FILES.items():
        for documents in (10, 20, 40):
            cells = []
            for named in (True, False):
                rng, ends = np.random.default_rng(0), []
                for _ in range(draws // 2):
                    quality = rng.beta(MEAN * CONCENTRATION, (1 - MEAN) * CONCENTRATION, (documents, 1))
                    with TemporaryDirectory() as folder:
                        both = write(rng.random((documents, PER_DOCUMENT)) < quality, named, Path(folder))
                        measures: dict[str, Any] = {"measures": [value]} if task == "answering" else {}
                        ends.append(goldassay.score(task, *both, **measures).intervals[value].ends)
                held, width = _held(ends, MEAN)
                cells.append(f"{held:.3f} ({width:.2f})" if held >= LEAST else f"**{held:.3f}** ({width:.2f})")
            yield f"| {title} | {value} | {documents} | {' | '.join(cells)} |"


def differences(draws: int) -> Iterator[str]:
    yield "| value | n | " + " | ".join(f"{a} − {b}" for a, b in DIFFERENCES) + " |"
    yield "|---|---|" + "---|" * len(DIFFERENCES)
    for kind in KINDS:
        for n in SIZES:
            both = [
                (
                    covered_difference(kind, truths, n, draws, "newcombe"),
                    covered_difference(kind, truths, n, draws // FEWER, "bootstrap"),
                )
                for truths in DIFFERENCES
            ]
            yield f"| {kind} | {n} | {' | '.join(cell(now, old) for now, old in both)} |"


def repeats(draws: int) -> Iterator[str]:
    """Examples whose chances differ (a beta distribution with mean .6 and concentration 2), asked several times."""
    yield "| examples | 1 answer each | 2 | 4 | 8 |"
    yield "|---|---|---|---|---|"
    for n in (20, 60, 200):
        cells = []
        for times in (1, 2, 4, 8):
            rng, ends = np.random.default_rng(n), []
            for _ in range(draws):
                estimate = interval(rng.binomial(times, rng.beta(1.2, 0.8, n)) / times)
                ends.append((estimate.low, estimate.high))
            held, width = _held(ends, 0.6)
            cells.append(f"{held:.3f} ({width:.2f})")
        yield f"| {n} | {' | '.join(cells)} |"


JUDGES = ((0.9, 0.9), (0.7, 0.8), (0.95, 0.6))  # sensitivity and specificity
SHIFTS = ((0.3, 0.3), (0.3, 0.35), (0.3, 0.45), (0.3, 0.7), (0.1, 0.4), (0.8, 0.5), (0.5, 0.05))
OTHERS = 800  # items without a label


def shifts(draws: int) -> Iterator[str]:
    """Labels on items of another rate than that of the run; the judge errs on both as often."""
    yield "| judge | labels | rate: labels → run | PPI++ | Rogan–Gladen | chosen | alike (p ≥ .05) |"
    yield "|---|---|---|---|---|---|---|"
    for right in JUDGES:
        for n in (50, 200):
            for before, truth in SHIFTS:
                rng, ends, alike = np.random.default_rng(n), [], 0
                for _ in range(draws):
                    labels, verdicts = _judged(rng, n, before, right)
                    others = _judged(rng, OTHERS, truth, right)[1]
                    estimates = corrected(labels.tolist(), verdicts.tolist(), others.tolist())
                    three = estimates.corrected, estimates.rogan_gladen or estimates.chosen, estimates.chosen
                    ends.append([(each.low, each.high) for each in three if each])
                    alike += estimates.exchangeable_p >= 0.05
                cells = [_held([each[at] for each in ends], truth) for at in range(3)]
                texts = [f"{held:.3f} ({width:.2f})" for held, width in cells]
                texts = [text if held >= LEAST else f"**{text}**" for text, (held, _) in zip(texts, cells, strict=True)]
                row = [f"{right[0]}/{right[1]}", str(n), f"{before} → {truth}", *texts, f"{alike / draws:.2f}"]
                yield f"| {' | '.join(row)} |"


def _judged(rng: np.random.Generator, n: int, rate: float, right: tuple[float, float]) -> tuple[Array, Array]:
    people = rng.random(n) < rate
    verdicts = np.where(people, rng.random(n) < right[0], rng.random(n) >= right[1])
    return people.astype(float), verdicts.astype(float)


def main() -> None:
    draws = next((int(word) for word in sys.argv[1:] if word.isdigit()), DRAWS)
    tables = {"values": values, "sides": sides, "rare": rare, "files": files, "differences": differences}
    tables |= {"repeats": repeats, "shifts": shifts}
    chosen = [name for name in tables if name in sys.argv[1:]] or list(tables)
    for name, rows in ((name, tables[name]) for name in chosen):
        table = []
        for row in rows(draws):
            table.append(row)
            print(row, flush=True)
        if PAGE.is_file():
            before, mark, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
            after = rest.partition("<!-- end -->")[2]
            body = "\n".join(table)
            PAGE.write_text(f"{before}{mark}{body}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
