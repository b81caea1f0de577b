"""Live conformance: our numbers beside those of the implementations that are installed, on the same data.

One function a package: extraction beside seqeval (tag sequences, both readings, five schemes) and nervaluate (SemEval's
four schemas); retrieval beside pytrec_eval (trec_eval itself) and ir_measures; ROUGE beside rouge-score; labels beside
scikit-learn, their agreement beside krippendorff, and agreement and doubt beside statsmodels.

The data are the heritage gold of the workspace (or the copy that comes with goldassay) with predictions made by
damaging it, and generated cases (`cases`); both come from a fixed seed, so that two machines compare the same numbers.
An oracle that is not installed is named, with the line that installs it.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from tests.conformance.cases import SEED, Tags, answers, heritage, judged, labels, random_tags, spans, tagged
from tests.conformance.official import SuiteResult

from goldassay._support.exceptions import GoldassayError
from goldassay.gold.agreement import alpha, cohen_kappa, fleiss_kappa
from goldassay.measures import classification, retrieval
from goldassay.measures.answering import rouge
from goldassay.measures.extraction import SpanBatch, evaluate_tags
from goldassay.statistics import compare, holm, wilson

LETTERS = {"IOB1": "IB", "IOB2": "IB", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU"}
"""The schemes that seqeval has finished (of IOE1 its source says that it is not)."""
SCHEMAS = {"strict": "strict", "exact": "exact", "partial": "partial", "ent_type": "type"}
COUNTS = ("correct", "incorrect", "partial", "missed", "spurious")
RATES = {"precision": "precision", "recall": "recall", "f1": "value"}


def seqeval(result: SuiteResult) -> None:
    """Every number of seqeval's report: by type and the three averages, read as conlleval does and strictly."""
    from seqeval import scheme as schemes
    from seqeval.metrics import classification_report

    def report(gold: Tags, pred: Tags, **options: Any) -> Mapping[str, Mapping[str, float]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figures: Any = classification_report(gold, pred, **{**options, "output_dict": True, "zero_division": 0})
        return dict(figures)

    sets = {"heritage": ("IOB2", *tagged())}
    for scheme, letters in LETTERS.items():
        gold, pred = random_tags(letters, SEED)
        if scheme == "IOB1":  # seqeval drops an entity there before a B- of another type
            pairs = [both for both in zip(gold, pred, strict=True) if not any(map(_breaks, both))]
            gold, pred = [first for first, _ in pairs], [other for _, other in pairs]
        sets[f"generated {scheme}"] = (scheme, gold, pred)
    for name, (scheme, gold, pred) in sets.items():
        if not gold:
            continue
        readings: dict[str, dict[str, Any]] = {"strict": {"mode": "strict", "scheme": getattr(schemes, scheme)}}
        if scheme != "BILOU":  # the lenient reading does not know L and U
            readings["conlleval"] = {}
        for mode, options in readings.items():
            ours = evaluate_tags(gold, pred, scheme=scheme, mode=mode)
            for kind, row in report(gold, pred, **options).items():
                for rate, theirs in row.items():
                    mine = ours[kind]["f1" if rate == "f1-score" else rate]
                    result.near(f"{name}, {mode}, {kind} {rate}", float(theirs), mine)


def _breaks(tags: list[str]) -> bool:
    """Whether a B- stands right behind a B- of another type."""
    return any(a[:1] == b[:1] == "B" and a != b for a, b in pairwise(tags))


def nervaluate(result: SuiteResult) -> None:
    """The five counts and three rates of the four schemas, over all and by type."""
    from nervaluate import Evaluator

    gold, pred = spans()
    kinds = sorted({entity["type"] for side in (gold, pred) for row in side for entity in row})
    inclusive = [
        [[{"start": s["start"], "end": s["end"] - 1, "label": s["type"]} for s in row] for row in side]
        for side in (gold, pred)
    ]
    results: Any = Evaluator(*inclusive, tags=kinds, loader="dict").evaluate()
    batches = {
        kind: SpanBatch(*([[s for s in row if s["type"] == kind] for row in side] for side in (gold, pred)))
        for kind in kinds
    }
    ours = SpanBatch(gold, pred)
    for theirs, schema in SCHEMAS.items():
        _counted(result, f"{schema}, all types", results["overall"][theirs], ours.semeval(schema).summed)
        for kind, batch in batches.items():
            _counted(result, f"{schema}, {kind}", results["entities"][kind][theirs], batch.semeval(schema).summed)


def _counted(result: SuiteResult, what: str, theirs: Any, ours: Any) -> None:
    for name in COUNTS:
        result.add(f"{what} {name}", getattr(theirs, name), int(getattr(ours, name)))
    for name, mine in RATES.items():
        result.near(f"{what} {name}", float(getattr(theirs, name)), float(getattr(ours.counts, mine)))


CUTS = (1, 5, 10, 20, 1000)
TREC_EVAL = {
    **{f"ndcg_cut_{k}": f"nDCG@{k}" for k in CUTS},
    **{f"P_{k}": f"P@{k}" for k in CUTS},
    **{f"recall_{k}": f"R@{k}" for k in CUTS},
    **{f"success_{k}": f"Success@{k}" for k in (1, 5, 10)},
    **{f"map_cut_{k}": f"AP@{k}" for k in (5, 10)},
    **{"ndcg": "nDCG", "recip_rank": "RR", "map": "AP", "bpref": "Bpref", "Rprec": "Rprec"},
}
"""What trec_eval calls our measures."""
IR_MEASURES = (
    "nDCG@10", "P(rel=2)@5", "RR", "RR(rel=2)", "AP(rel=2)", "AP@10", "R(rel=2)@10", "Rprec(rel=2)", "Bpref(rel=2)",
    "Success(rel=2)@5", "Judged@10", "P@5",
)  # fmt: skip
KINDS = ("1", "2", "L", "Lsum")


def by_query(qrels: Any, run: Any, names: list[str]) -> dict[str, dict[str, float | None]]:
    """Our values of every query."""
    gold = [{"id": query, "relevant": row} for query, row in qrels.items()]
    values: Any = retrieval.scorecard(gold, [{"results": run.get(query, {})} for query in qrels], measures=names)
    return values.by["query"]  # type: ignore[no-any-return]


def pytrec_eval(result: SuiteResult) -> None:
    """Twenty-five measures of every query, by trec_eval's own code."""
    import pytrec_eval as oracle

    qrels, run = judged()
    measures = {f"{name}.{','.join(map(str, CUTS))}" for name in ("ndcg_cut", "P", "recall")}
    measures |= {"success.1,5,10", "map_cut.5,10", "ndcg", "recip_rank", "map", "bpref", "Rprec"}
    ours = by_query(qrels, run, list(TREC_EVAL.values()))
    for query, values in oracle.RelevanceEvaluator(qrels, measures).evaluate(run).items():
        for theirs, name in TREC_EVAL.items():  # what does not apply to a query is 0 in trec_eval
            result.near(f"{name} of {query}", float(values[theirs]), ours[query][name] or 0.0)


def ir_measures(result: SuiteResult) -> None:
    """Twelve measures, some with another grade that counts as relevant, of every query with something relevant."""
    import ir_measures as oracle

    every, run = judged()
    qrels = {query: row for query, row in every.items() if any(row.values())}
    answered: dict[str, dict[str, float]] = {query: run[query] for query in qrels}
    ours = by_query(qrels, answered, list(IR_MEASURES))
    names: dict[Any, str] = {oracle.parse_measure(name): name for name in IR_MEASURES}
    for value in oracle.iter_calc(list(names), qrels, answered):
        name = names[value.measure]
        if name != "Judged@10" or not _tied(answered[value.query_id]):  # there it leaves ties in the order of the run
            result.near(f"{name} of {value.query_id}", float(value.value), ours[value.query_id][name] or 0.0)


def _tied(results: dict[str, float]) -> bool:
    return len({np.float32(score) for score in results.values()}) < len(results)


def rouge_score(result: SuiteResult) -> None:
    """ROUGE-1, 2, L and Lsum, three rates each, with and without stemming, of every pair."""
    from rouge_score.rouge_scorer import RougeScorer

    pairs = answers()
    for stem in (False, True):
        computed = rouge([text for text, _ in pairs], [other for _, other in pairs], KINDS, stem=stem)
        scorer = RougeScorer([f"rouge{kind}" for kind in KINDS], use_stemmer=stem)
        for row, (prediction, reference) in enumerate(pairs):
            scores = scorer.score(reference, prediction)
            for kind in KINDS:
                score = scores[f"rouge{kind}"]
                for rate, theirs, ours in zip("PRF", score, computed[kind][row], strict=True):
                    what = f"ROUGE-{kind} {rate} of pair {row}{', stemmed' if stem else ''}"
                    result.near(what, float(theirs), float(ours), within=0.0)


LEVELS = ("nominal", "ordinal", "interval", "ratio")


def scikit_learn(result: SuiteResult) -> None:
    """Accuracy, macro and weighted F1, kappa, every label's rates, and F1 of several labels."""
    from sklearn import metrics
    from sklearn.preprocessing import MultiLabelBinarizer

    gold, pred = labels()
    card = classification.scorecard(
        [{"label": label} for label in gold], [{"label": label} for label in pred], labels="seen"
    )
    options: dict[str, Any] = {"zero_division": 0}
    supported = sorted(set(gold))
    theirs = {
        "accuracy": metrics.accuracy_score(gold, pred),
        "macro_f1": metrics.f1_score(gold, pred, average="macro", **options),
        "macro_f1_supported": metrics.f1_score(gold, pred, average="macro", labels=supported, **options),
        "weighted_f1": metrics.f1_score(gold, pred, average="weighted", **options),
        "kappa": metrics.cohen_kappa_score(gold, pred),
    }
    for name, value in theirs.items():
        result.maybe(name, float(value), card.values[name])
    names = sorted({*gold, *pred})
    rows: Any = metrics.precision_recall_fscore_support(gold, pred, labels=names, **options)
    for rate, each in zip(("precision", "recall", "f1", "support"), rows, strict=True):
        for name, value in zip(names, each, strict=True):
            result.near(f"{rate} of {name}", float(value), float(card.by["label"][name][rate] or 0.0))
    records = heritage("classification")
    if not records:
        return
    rng = random.Random(SEED)
    several = [[label["label"], *label.get("secondary_labels", ())] for label in records]
    predicted = [
        rng.sample(row, rng.randint(1, len(row))) if rng.random() < 0.7 else [rng.choice("MLAG")] for row in several
    ]
    sides = [[{"label": row[0], "secondary_labels": row[1:]} for row in side] for side in (several, predicted)]
    binary = MultiLabelBinarizer().fit(several + predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = metrics.f1_score(binary.transform(several), binary.transform(predicted), average="micro")
    result.maybe("F1 of several labels", float(value), classification.scorecard(*sides).values["multilabel_f1"])


def krippendorff(result: SuiteResult) -> None:
    """Alpha of three annotators with gaps, on four levels, on a hundred sets of units."""
    import krippendorff as oracle

    rng = random.Random(SEED)
    for number in range(100):
        truth = [rng.randint(1, 5) for _ in range(rng.randint(3, 30))]
        units = [[_grade(rng, grade) for _ in range(3)] for grade in truth]
        paired = [unit for unit in units if sum(value is not None for value in unit) > 1]
        if len({value for unit in paired for value in unit if value is not None}) < 2:
            continue
        data = np.array([[math.nan if value is None else value for value in row] for row in zip(*paired, strict=True)])
        level: Any
        for level in LEVELS:
            theirs = float(oracle.alpha(reliability_data=data, level_of_measurement=level))
            result.maybe(f"alpha of set {number}, {level}", theirs, alpha(units, level))


def _grade(rng: random.Random, truth: int) -> int | None:
    """What an annotator says: usually the truth, sometimes nothing."""
    chance = rng.random()
    return None if chance < 0.15 else truth if chance < 0.8 else rng.randint(1, 5)


def statsmodels(result: SuiteResult) -> None:
    """Cohen's and Fleiss' kappa, Wilson's interval, Holm's correction, McNemar's test."""
    from statsmodels.stats import inter_rater
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import proportion_confint

    rng = random.Random(SEED)
    for number in range(50):
        grades = [[rng.randint(1, 3) if rng.random() < 0.4 else 1 + at % 3 for _ in range(3)] for at in range(30)]
        table, _ = inter_rater.aggregate_raters(np.array(grades))
        result.maybe(f"Fleiss' kappa of set {number}", float(inter_rater.fleiss_kappa(table)), fleiss_kappa(grades))
        first, second = [row[0] for row in grades], [row[1] for row in grades]
        square = np.zeros((3, 3))
        np.add.at(square, (np.array(first) - 1, np.array(second) - 1), 1)
        kappa: Any = inter_rater.cohens_kappa(square, return_results=False)
        result.maybe(f"Cohen's kappa of set {number}", float(kappa), cohen_kappa(first, second))
        n = rng.randint(1, 500)
        hits = rng.randint(0, n)
        ends: Any = proportion_confint(hits, n, method="wilson")
        for end, theirs, ours in zip(("low", "high"), ends, wilson(hits, n), strict=True):
            result.near(f"Wilson's interval of {hits} of {n}, {end}", float(theirs), ours)
        chances = [rng.random() ** 3 for _ in range(rng.randint(1, 12))]
        corrected: Any = multipletests(chances, method="holm")
        for at, (theirs, ours) in enumerate(zip(corrected[1], holm(chances), strict=True)):
            result.near(f"Holm's correction of set {number}, p-value {at}", float(theirs), ours)
        both, won, lost, neither = (rng.randint(1, 12) for _ in range(4))
        a = [1.0] * (both + won) + [0.0] * (lost + neither)
        b = [1.0] * both + [0.0] * won + [1.0] * lost + [0.0] * neither
        tested: Any = mcnemar([[both, won], [lost, neither]], exact=True)
        result.near(
            f"McNemar's p of {won} against {lost}", float(tested.pvalue), compare(a, b, test="mcnemar", resamples=1).p
        )


@dataclass(frozen=True)
class Implementation:
    """An implementation: the module that is imported, what pip installs, and what compares with it."""

    module: str
    requirement: str
    compare: Callable[[SuiteResult], None]

    @property
    def missing(self) -> str:
        """What to do if it is not installed; nothing if it is."""
        return "" if find_spec(self.module) else f"not installed; pip install {self.requirement}"


ORACLES = {
    "seqeval": Implementation("seqeval", "seqeval==1.2.2", seqeval),
    "nervaluate": Implementation("nervaluate", "nervaluate==1.2.1", nervaluate),
    "scikit-learn": Implementation("sklearn", "scikit-learn", scikit_learn),
    "krippendorff": Implementation("krippendorff", "krippendorff==0.9.0", krippendorff),
    "statsmodels": Implementation("statsmodels", "statsmodels==0.15.0", statsmodels),
    "pytrec_eval": Implementation("pytrec_eval", "pytrec-eval-terrier==0.5.11", pytrec_eval),
    "ir_measures": Implementation("ir_measures", "ir-measures==0.4.3", ir_measures),
    "rouge-score": Implementation("rouge_score", "rouge-score==0.1.2", rouge_score),
}


def run(names: Sequence[str] | None = None) -> list[SuiteResult]:
    """Compare with the oracles named, or with all; those that are not installed have ``missing`` and no numbers.

    >>> run(["trec"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    goldassay._support.exceptions.GoldassayError: no oracle 'trec'; there are seqeval, nervaluate, ...
    """
    wrong = next((name for name in names or () if name not in ORACLES), None)
    if wrong is not None:
        raise GoldassayError(f"no oracle {wrong!r}; there are {', '.join(ORACLES)}")
    results = []
    for name in ORACLES if names is None else names:
        result = SuiteResult(name, missing=ORACLES[name].missing)
        if not result.missing:
            ORACLES[name].compare(result)
        results.append(result)
    return results


__all__ = ["ORACLES", "Implementation", "run"]
