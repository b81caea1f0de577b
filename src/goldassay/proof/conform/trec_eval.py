"""Replay of trec_eval's own test: every number of ``out.test`` (official) and ``out.test.a`` (all_trec).

Ten of trec_eval's measures are ours; the rest, which it prints for the record, are computed here from the grades of the
ranking. Recall points are rounded as in trec_eval 10 (``lround``), which older ports do not do.

Source: https://github.com/usnistgov/trec_eval, test/
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from goldassay.gold import pairs
from goldassay.measures.retrieval import Batch, named
from goldassay.proof.conform.official import SuiteResult

NAME = "trec_eval"
FILES = ("out.test", "out.test.a")
OURS = {"map": "AP", "bpref": "Bpref", "Rprec": "Rprec", "recip_rank": "RR", "rbp": "RBP(p=0.9)", "ndcg": "nDCG"}
AT_K = {"P": "P", "recall": "R", "ndcg_cut": "nDCG", "map_cut": "AP", "success": "Success"}
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


def run(data: Path) -> SuiteResult:
    """Every number of both files."""
    folder = data / "trec"
    both = pairs("retrieval", folder / "qrels.test", folder / "results.test", format="trec")
    kept = [index for index, answer in enumerate(both.pred) if answer["results"]]
    batch = Batch.of([both.gold[index] for index in kept], [both.pred[index] for index in kept])
    topics = [
        Topic(
            [batch.judged[query].get(document) for document in batch.ranking(query)], list(batch.judged[query].values())
        )
        for query in range(batch.n)
    ]
    result = SuiteResult(NAME)
    for file in FILES:
        for line in (folder / file).read_text(encoding="utf-8").splitlines():
            name, query, official = line.split()
            if query == "all" and name != "runid":
                result.add(f"{file} {name}", official, value(name, batch, topics))
    return result


def value(name: str, batch: Batch, topics: Sequence[Topic]) -> str | None:
    """A number as trec_eval prints it; None if it is not known here."""
    if name in COUNTS:
        return str(COUNTS[name](topics))
    if name in ("gm_map", "gm_bpref"):
        per_query = named("AP" if name == "gm_map" else "Bpref").values(batch)
        return f"{math.exp(sum(math.log(max(found, LEAST)) for found in per_query) / batch.n):.4f}"
    stem, _, last = name.rpartition("_")
    ours = OURS.get(name) or (f"{AT_K[stem]}@{last}" if stem in AT_K else None)
    if ours:
        return f"{named(ours).values(batch).mean():.4f}"
    if name in SINGLE:
        return _mean(topics, SINGLE[name])
    if stem in WITH_NUMBER:
        return _mean(topics, lambda topic: WITH_NUMBER[stem](topic, float(last)))
    return None


def _mean(topics: Sequence[Topic], measure: Callable[[Topic], float]) -> str:
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
    found = len(topic.hits)
    return 2 * found / (topic.retrieved + topic.relevant)


COUNTS: dict[str, Callable[[Sequence[Topic]], int]] = {
    "num_q": len,
    "num_ret": lambda topics: sum(topic.retrieved for topic in topics),
    "num_rel": lambda topics: sum(topic.relevant for topic in topics),
    "num_rel_ret": lambda topics: sum(len(topic.hits) for topic in topics),
    "num_nonrel_judged_ret": lambda topics: sum(topic.grades.count(0) for topic in topics),
}
SINGLE: dict[str, Callable[[Topic], float]] = {
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
WITH_NUMBER: dict[str, Callable[[Topic, float], float]] = {
    "iprec_at_recall": lambda topic, point: topic.interpolated(point),
    "Rprec_mult": lambda topic, share: (
        topic.found(int(share * topic.relevant + 0.9)) / int(share * topic.relevant + 0.9)
    ),
    "relative_P": lambda topic, k: topic.found(int(k)) / min(int(k), topic.relevant),
    "unj": lambda topic, k: topic.grades[: int(k)].count(None) / k,
}
