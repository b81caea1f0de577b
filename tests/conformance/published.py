"""Replays of numbers that were published: trec_eval's, RAGChecker's, SQuAD's rules, Text2KGBench's sentences.

`trec_eval`: its own test, every number of ``out.test`` (official) and ``out.test.a`` (all_trec). Ten of its measures
are ours; the rest, which it prints for the record, are computed here from the grades of the ranking. Recall points are
rounded as in trec_eval 10 (``lround``), which older ports do not do.

`ragchecker`: from the verdicts of its file, every value of every answer and all eleven means. The means are printed in
per cent with one place and compared as printed; the values of an answer are given in full.

`squad`: the official script has no results beside it, so the suite replays what its definition says. ``CASES`` are
answers with their exact match and F1 by hand (the words in common stand beside each), and on each SQuAD file that is
given, gold answered with itself has exact match and F1 of 100, with nothing 0 where every question has an answer.

`text2kgbench`: seven numbers for every sentence of every system that is given. Numbers printed with two places are
compared as printed, numbers in full to 1e-9.

Source: https://github.com/usnistgov/trec_eval, test/;
https://github.com/amazon-science/RAGChecker, examples/checking_outputs.json;
https://rajpurkar.github.io/SQuAD-explorer/ (evaluation scripts 1.1 and 2.0);
https://github.com/cenguix/Text2KGBench, data/wikidata_tekgen/baselines
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.conformance.official import SuiteResult
from tests.perfect import perfect_for

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import pairs, read
from goldassay.measures import answering
from goldassay.measures.answering.claims import CLAIM_RATES, read_tables, share
from goldassay.measures.retrieval import named
from goldassay.measures.retrieval.records import RankingBatch
from goldassay.measures.triples import scorecard

FILE = "checking_outputs.json"
RAGCHECKER = {"precision": "claim_precision", "recall": "claim_recall", "f1": "claim_f1"} | {
    "claim_recall": "retrieved_claim_recall"
}
"""Its names of four rates; the others are ours."""
TABLES = {
    "answer_by_gold": "answer2response",
    "gold_by_answer": "response2answer",
    "answer_by_context": "retrieved2response",
    "gold_by_context": "retrieved2answer",
}
WORDS = {"Entailment": True, "Neutral": False, "Contradiction": False, None: None}
CASES: tuple[tuple[str, tuple[str, ...], float, float], ...] = (
    ("Denver Broncos", ("Denver Broncos", "The Denver Broncos"), 1, 1),
    ("the Broncos!", ("Broncos",), 1, 1),  # articles and punctuation are no words
    ("A  Bronco\tan", ("bronco",), 1, 1),  # nor is white space
    ("Broncos", ("Denver Broncos",), 0, 2 / 3),  # P 1/1, R 1/2
    ("Denver Denver Broncos", ("Denver Broncos Denver Denver",), 0, 6 / 7),  # common 3: P 3/3, R 3/4
    ("in the year 1800", ("1800", "year 1801"), 0, 1 / 2),  # gold 1: P 1/3, R 1/1; gold 2: P 1/3, R 1/2
    ("well-known", ("wellknown",), 1, 1),  # punctuation is deleted, not replaced
    ("theatre", ("atre",), 0, 0),  # an article is a whole word
    ("", (), 1, 1),  # no answer where there is none (2.0)
    ("1800", (), 0, 0),
    ("", ("1800",), 0, 0),
    ("a", ("the",), 1, 1),  # both empty after normalisation: equal (2.0)
)


def ragchecker(data: Path) -> SuiteResult:
    """Every number of RAGChecker's file."""
    path, result = data / "ragchecker" / FILE, SuiteResult("ragchecker")
    published = files.json_value(path)
    if not isinstance(published, dict) or not isinstance(published.get("results"), list):
        raise DataError("not RAGChecker's output: an object with 'results' and 'metrics' is needed", file=path)
    rows = []
    for row in published["results"]:
        verdicts = read_tables(support(row), row.get("query_id"))
        shares = {name: share(verdicts, name) for name in CLAIM_RATES}
        theirs = {ours: name for name, ours in RAGCHECKER.items()}
        ours = {theirs.get(name, name): rate.value for name, rate in shares.items() if rate.weight}
        rows.append(ours)
        for name, official in row.get("metrics", {}).items():
            result.near(f"{name} of query {row['query_id']}", float(official), ours.get(name))
    for group in published.get("metrics", {}).values():
        for name, official in group.items():
            result.add(f"mean {name}", official, _mean(rows, name))
    return result


def support(row: dict[str, Any]) -> dict[str, Any]:
    """The verdicts of an answer of RAGChecker's file, as ours."""

    def truths(part: Any) -> Any:
        return [truths(each) for each in part] if isinstance(part, list) else WORDS[part]

    return {ours: truths(row[theirs]) for ours, theirs in TABLES.items() if theirs in row}


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    """The mean over the answers, in per cent with one place."""
    values = [row[name] for row in rows if name in row]
    return round(100 * sum(values) / len(values), 1) if values else None


def squad(data: Path) -> SuiteResult:
    """SQuAD's cases, and every SQuAD file of the folder."""
    result = SuiteResult("squad")
    for answer, golds, exact, f1 in CASES:
        (got_exact,), (got_f1,) = answering.squad([answer], [golds])
        result.add(f"exact match of {answer!r} against {golds}", float(exact), got_exact)
        result.near(f"F1 of {answer!r} against {golds}", float(f1), got_f1, within=1e-12)
    there = sorted((data / "xquad").glob("*.json"))
    if not there:
        raise GoldassayError(f"{data / 'xquad'} has no SQuAD files (*.json)")
    perfect = perfect_for("answering")
    for file in there:
        gold = read(file, format="squad", task="answering")
        empty = [{"id": record["id"], "answer": ""} for record in gold]
        for name, pred, official in (
            ("gold", [{"id": record["id"], **perfect(record)} for record in gold], 1.0),
            ("no answers", empty, sum(not record["answers"] for record in gold) / len(gold)),
        ):
            values = answering.scorecard(gold, pred, embedder=None, tokens=None).values
            for key in ("exact_match", "f1"):
                result.add(f"{file.name}, {name}: {key}", official, values[key])
    return result


RESULTS = re.compile(r"baselines__(?P<system>.+)__eval_metrics__ont_(?P<ontology>.+)_llm_stats\.jsonl")
COLUMNS = {
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "onto_conf": "ontology_conformance",
    "rel_halluc": "relation_hallucination",
    "sub_halluc": "subject_hallucination",
    "obj_halluc": "object_hallucination",
}


def text2kgbench(data: Path) -> SuiteResult:
    """Every sentence of every system."""
    folder, result = data / "text2kgbench", SuiteResult("text2kgbench")
    files = [(file, match) for file in sorted(folder.iterdir()) if (match := RESULTS.fullmatch(file.name))]
    if not files:
        raise GoldassayError(
            f"{folder} has no official results (baselines__SYSTEM__eval_metrics__ont_NAME_llm_stats.jsonl)"
        )
    for file, match in files:
        _replay(result, folder, file, match["system"], match["ontology"])
    return result


def _replay(result: SuiteResult, folder: Path, file: Path, system: str, ontology: str) -> None:
    answers = sorted(folder.glob(f"baselines__{system}__llm_responses__ont_{ontology}_*.jsonl"))
    if not answers:
        raise GoldassayError(f"{folder} has no outputs of {system} for {ontology}")
    gold = folder / f"ground_truth__ont_{ontology}_ground_truth.jsonl"
    both = pairs("triples", gold, answers[0], format="text2kgbench")
    declared = json.loads((folder / f"ontologies__{ontology}_ontology.json").read_text(encoding="utf-8"))
    ours = scorecard(both.gold, both.pred, protocol="text2kgbench", ontology=declared).by["sentence"]
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        official = json.loads(line)
        if official["id"] not in ours:
            raise DataError("official results of a sentence that gold does not have", file=file, line=number)
        for column, name in COLUMNS.items():
            what = f"{system} {ontology} {official['id']} {column}"
            _compare(result, what, official[column], ours[official["id"]][name])


def _compare(result: SuiteResult, what: str, official: Any, ours: float | None) -> None:
    if isinstance(official, str):
        places = len(official.partition(".")[2])
        result.add(what, official, f"{ours:.{places}f}")
    else:
        result.near(what, float(official), ours)


TREC_FILES = ("out.test", "out.test.a")
TREC_OURS = {"map": "AP", "bpref": "Bpref", "Rprec": "Rprec", "recip_rank": "RR", "rbp": "RBP(p=0.9)", "ndcg": "nDCG"}
TREC_AT_K = {"P": "P", "recall": "R", "ndcg_cut": "nDCG", "map_cut": "AP", "success": "Success"}
POINTS = [point / 10 for point in range(11)]
LEAST = 0.00001  # of a geometric mean, and infAP's epsilon


@dataclass(frozen=True)
class Topic:
    """One query: the grades of its ranking (None where a document is not judged) and of all judged documents."""

    grades: Sequence[float | None]
    judged: Sequence[float]

    @cached_property
    def hits(self) -> list[int]:
        """The ranks of the relevant documents, from 1."""
        return [rank for rank, grade in enumerate(self.grades, start=1) if (grade or 0) >= 1]

    @cached_property
    def relevant(self) -> int:
        """How many documents are relevant."""
        return sum(grade >= 1 for grade in self.judged)

    @cached_property
    def ideal(self) -> list[float]:
        """The gains of the best ranking."""
        return sorted((grade for grade in self.judged if grade > 0), reverse=True)

    @property
    def retrieved(self) -> int:
        """How many documents were retrieved."""
        return len(self.grades)

    def found(self, k: int) -> int:
        """How many relevant documents stand in the first k places."""
        return sum(rank <= k for rank in self.hits)

    def dcg(self, k: int) -> float:
        """The discounted gain of the first k places."""
        return sum((grade or 0) / math.log2(rank + 1) for rank, grade in enumerate(self.grades[:k], start=1))

    def best(self, k: int) -> float:
        """The discounted gain of the best first k places."""
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(self.ideal[:k], start=1))

    def interpolated(self, point: float) -> float:
        """The greatest precision at this recall or a higher one."""
        least = math.floor(point * self.relevant + 0.5)
        return max((n / rank for n, rank in enumerate(self.hits, start=1) if n >= least), default=0.0)


def trec_eval(data: Path) -> SuiteResult:
    """Every number of both files."""
    folder = data / "trec"
    both = pairs("retrieval", folder / "qrels.test", folder / "results.test", format="trec")
    answered = [index for index, answer in enumerate(both.pred) if answer["results"]]
    batch = RankingBatch.of([both.gold[index] for index in answered], [both.pred[index] for index in answered])
    topics = [
        Topic(
            [batch.judged[query].get(document) for document in batch.ranking(query)], list(batch.judged[query].values())
        )
        for query in range(batch.n)
    ]
    result = SuiteResult("trec_eval")
    for file in TREC_FILES:
        for line in (folder / file).read_text(encoding="utf-8").splitlines():
            name, query, official = line.split()
            if query == "all" and name != "runid":
                result.add(f"{file} {name}", official, _printed(name, batch, topics))
    return result


def _printed(name: str, batch: RankingBatch, topics: Sequence[Topic]) -> str | None:
    """A number as trec_eval prints it; None if it is not known here."""
    if name in TREC_COUNTS:
        return str(TREC_COUNTS[name](topics))
    if name in ("gm_map", "gm_bpref"):
        per_query = named("AP" if name == "gm_map" else "Bpref").values(batch)
        return f"{math.exp(sum(math.log(max(value, LEAST)) for value in per_query) / batch.n):.4f}"
    stem, _, last = name.rpartition("_")
    ours = TREC_OURS.get(name) or (f"{TREC_AT_K[stem]}@{last}" if stem in TREC_AT_K else None)
    if ours:
        return f"{named(ours).values(batch).mean():.4f}"
    if name in TREC_SINGLE:
        return _mean_of(topics, TREC_SINGLE[name])
    if stem in TREC_WITH_NUMBER:
        return _mean_of(topics, lambda topic: TREC_WITH_NUMBER[stem](topic, float(last)))
    return None


def _mean_of(topics: Sequence[Topic], measure: Callable[[Topic], float]) -> str:
    return f"{sum(map(measure, topics)) / len(topics):.4f}"


def _inferred(topic: Topic) -> float:
    """infAP (Yilmaz and Aslam, CIKM 2006) where the whole pool is judged."""
    total, good, bad = 0.0, 0, 0
    for above, grade in enumerate(topic.grades):
        if grade is None:
            continue
        if grade < 1:
            bad += 1
            continue
        seen = (good + LEAST) / (good + bad + 2 * LEAST)
        total += 1.0 if above == 0 else (1 + (good + bad) * seen) / (above + 1)
        good += 1
    return total / topic.relevant if topic.relevant else 0.0


def _binary_gain(topic: Topic) -> float:
    """binG: each relevant document's share falls with the irrelevant ones above it."""
    gains = [1 / math.log2(2 + rank - n) for n, rank in enumerate(topic.hits, start=1)]
    return sum(gains) / topic.relevant if topic.relevant else 0.0


def _gain(topic: Topic) -> float:
    """G: gain discounted by how far the ranking has fallen behind the best one."""
    got = list(accumulate(grade or 0 for grade in topic.grades))
    ideal = [*topic.ideal, *[0.0] * topic.retrieved]
    costs = accumulate(max(gain, 1.0) for gain in ideal)
    rows = zip(topic.grades, got, costs, strict=False)
    return sum((grade or 0) / math.log2(2 + cost - so_far) for grade, so_far, cost in rows) / (sum(topic.ideal) or 1)


def _ndcg_at_relevant(topic: Topic) -> float:
    """ndcg_rel: nDCG averaged over the relevant documents, at the end for those not retrieved."""
    if not topic.ideal:
        return 0.0
    end = topic.dcg(topic.retrieved) / topic.best(len(topic.ideal))
    reached = [topic.dcg(rank) / topic.best(rank) for rank in topic.hits]
    return (sum(reached) + (len(topic.ideal) - len(reached)) * end) / len(topic.ideal)


def _ndcg_at_levels(topic: Topic) -> float:
    """Rndcg: nDCG averaged over the ranks at which the best ranking changes its grade, and the end."""
    if not topic.ideal:
        return 0.0
    total = len(topic.ideal)
    ranks = [at for at in range(1, total + 1) if at == total or topic.ideal[at] != topic.ideal[at - 1]]
    ranks += [topic.retrieved] if topic.retrieved > total + 1 else []
    return sum(topic.dcg(rank) / topic.best(rank) for rank in ranks) / len(ranks)


def _residual(topic: Topic, p: float = 0.9) -> float:
    """rbp_resid: how much RBP could gain if every unjudged document were relevant."""
    unjudged = [rank for rank, grade in enumerate(topic.grades) if grade is None]
    return p**topic.retrieved + (1 - p) * sum(p**rank for rank in unjudged) if unjudged else 0.0


def _set_f(topic: Topic) -> float:
    hits = len(topic.hits)
    return 2 * hits / (topic.retrieved + topic.relevant)


TREC_COUNTS: dict[str, Callable[[Sequence[Topic]], int]] = {
    "num_q": len,
    "num_ret": lambda topics: sum(topic.retrieved for topic in topics),
    "num_rel": lambda topics: sum(topic.relevant for topic in topics),
    "num_rel_ret": lambda topics: sum(len(topic.hits) for topic in topics),
    "num_nonrel_judged_ret": lambda topics: sum(topic.grades.count(0) for topic in topics),
}
TREC_SINGLE: dict[str, Callable[[Topic], float]] = {
    "infAP": _inferred,
    "11pt_avg": lambda topic: sum(map(topic.interpolated, POINTS)) / len(POINTS),
    "binG": _binary_gain,
    "G": _gain,
    "ndcg_rel": _ndcg_at_relevant,
    "Rndcg": _ndcg_at_levels,
    "utility": lambda topic: 2 * len(topic.hits) - topic.retrieved,
    "set_P": lambda topic: len(topic.hits) / topic.retrieved,
    "set_relative_P": lambda topic: len(topic.hits) / min(topic.retrieved, topic.relevant),
    "set_recall": lambda topic: len(topic.hits) / topic.relevant,
    "set_map": lambda topic: len(topic.hits) ** 2 / (topic.retrieved * topic.relevant),
    "set_F": _set_f,
    "rbp_resid": _residual,
}
TREC_WITH_NUMBER: dict[str, Callable[[Topic, float], float]] = {
    "iprec_at_recall": lambda topic, point: topic.interpolated(point),
    "Rprec_mult": lambda topic, share: (
        topic.found(int(share * topic.relevant + 0.9)) / int(share * topic.relevant + 0.9)
    ),
    "relative_P": lambda topic, k: topic.found(int(k)) / min(int(k), topic.relevant),
    "unj": lambda topic, k: topic.grades[: int(k)].count(None) / k,
}
