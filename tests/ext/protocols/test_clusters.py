"""What TAC, CoNLL and GERBIL count: cases by hand, and the definitions word by word on random clusters."""

from __future__ import annotations

import random
from itertools import combinations, permutations
from typing import Any

import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Batches, parse, stored
from goldassay.ext.protocols import Clusters
from goldassay.measures import linking as ln
from goldassay.results.result import fold

Clustering = list[set[int]]
RATES = ("recall", "precision", "f1")


def gold_links(clusters: Clustering, name: str = "NIL") -> list[dict[str, Any]]:
    return [{"start": n, "end": n + 1, "ids": f"{name}{i}"} for i, c in enumerate(clusters) for n in c]


def answers(clusters: Clustering, name: str = "NIL9") -> list[dict[str, Any]]:
    return [{"start": n, "end": n + 1, "candidates": [f"{name}{i}"]} for i, c in enumerate(clusters) for n in c]


def corpus(measure: Any, documents: list[tuple[Clustering, Clustering]]) -> float:
    gold = [{"text": f"text {i}", "links": gold_links(g)} for i, (g, _) in enumerate(documents)]
    pred = [{"links": answers(p)} for _, p in documents]
    one_by_one = sum((measure(*pair).tally for pair in zip(gold, pred, strict=True)), measure.zero)
    at_once = measure.tallies(measure.batch(gold, pred)).summed
    assert float(at_once.value) == pytest.approx(float(one_by_one.value))
    assert parse(stored(measure)) == measure
    return float(one_by_one.value)


# Key {a b c} {d e f g}, response {a b} {c d} {f g h i}: the worked example of Pradhan et al. 2014.
PRADHAN = ([{1, 2, 3}, {4, 5, 6, 7}], [{1, 2}, {3, 4}, {6, 7, 8, 9}])


@pytest.mark.parametrize(
    ("metric", "recall", "precision"),
    [
        # {a b c} falls into {a b} {c}, {d e f g} into {d} {e} {f g}: (3-2 + 4-3) / (2 + 3); back: (2-1 + 2-2 + 4-3) / 5
        ("muc", 2 / 5, 2 / 5),
        # recall: (2²/3 + 1²/3 + 1²/4 + 2²/4) / 7; precision: (2²/2 + 1²/2 + 1²/2 + 2²/4) / 8
        ("b_cubed", (5 / 3 + 5 / 4) / 7, 4 / 8),
        # {a b c}–{a b} 2 and {d e f g}–{f g h i} 2
        ("ceaf_m", 4 / 7, 4 / 8),
        # φ4: 2·2/(3+2) + 2·2/(4+4) = 0.8 + 0.5
        ("ceaf_e", 1.3 / 2, 1.3 / 3),
        # recall: (3 · 1/3 + 4 · 1/6) / 7; precision: (2 · 1/1 + 2 · 0/1 + 4 · 1/6) / 8
        ("lea", (1 + 2 / 3) / 7, (2 + 2 / 3) / 8),
    ],
)
def test_a_case_by_hand(metric: str, recall: float, precision: float) -> None:
    f1 = 2 * precision * recall / (precision + recall)
    for rate, value in zip(RATES, (recall, precision, f1), strict=True):
        for scope in ("document", "corpus"):
            assert corpus(Clusters(metric, rate, scope=scope), [PRADHAN]) == pytest.approx(value), (rate, scope)


def test_conll_is_the_mean_of_three_and_documents_add_up_before_it() -> None:
    # muc .4; b³ P .5 R .41667 F 1/2.2; ceaf_e P 1.3/3 R .65 F .52
    assert corpus(Clusters("conll"), [PRADHAN]) == pytest.approx((0.4 + 1 / 2.2 + 0.52) / 3)
    # muc of both: (2 + 1) / (5 + 1), (2 + 1) / (5 + 1); not the mean of 2/5 and 1
    assert corpus(Clusters("muc"), [PRADHAN, ([{1, 2}], [{1, 2}])]) == pytest.approx(3 / 6)


def test_single_mentions() -> None:
    # MUC counts links and there are none: no evidence alone, 0 in the average of the official scorer
    alone: tuple[Clustering, Clustering] = ([{1}, {2}], [{1}, {2}])
    assert Clusters("muc")(gold_links(alone[0]), answers(alone[1])).tally.weight == 0
    assert corpus(Clusters("conll"), [alone]) == pytest.approx(2 / 3)
    # LEA gives a single mention a link to itself: {1} is right; {2} is not, since the response has {2 3}
    assert corpus(Clusters("lea", "recall"), [([{1}, {2}], [{1}, {2, 3}])]) == pytest.approx(1 / 2)
    # a mention without a name is alone: NIL twice is two clusters
    gold: list[dict[str, Any]] = [{"start": n, "end": n + 1, "ids": {}} for n in (1, 2)]
    pred = [{"start": n, "end": n + 1, "candidates": ["NIL"]} for n in (1, 2)]
    assert Clusters()(gold, pred).tally.value == 1
    assert Clusters()(gold, answers([{1, 2}])).tally.value == pytest.approx(2 / 3)  # P 2/4, R 1
    # neleval puts all of them into one
    assert Clusters(scope="corpus")(gold, answers([{1, 2}])).tally.value == 1


def test_an_id_of_two_documents_is_one_cluster_of_the_corpus() -> None:
    # gold: NIL0 in both documents; predicted: NIL90 in the first, NIL91 in the second
    first, second = ([{1}], [{1}]), ([{1}], [set[int](), {1}])
    assert corpus(Clusters(), [first, second]) == 1
    assert corpus(Clusters(scope="corpus", rate="recall"), [first, second]) == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert corpus(Clusters("ceaf_m", scope="corpus"), [first, second]) == pytest.approx(1 / 2)


def test_named_nil_is_nil_and_types_tell_mentions_apart() -> None:
    gold = [{"start": 0, "end": 1, "type": "PER", "ids": "NIL1"}, {"start": 2, "end": 3, "type": "ORG", "ids": "Q1"}]
    pred = [
        {"start": 0, "end": 1, "type": "PER", "candidates": ["NIL2"]},
        {"start": 2, "end": 3, "type": "PER", "candidates": ["Q1"]},
    ]
    assert ln.NILF1()(gold, pred).tally.state() == {"tp": 1, "fp": 0, "fn": 0}
    assert Clusters()(gold, pred).tally.value == 1
    assert Clusters(typed=True)(gold, pred).tally.value == 1 / 2
    assert Clusters(over="inkb", typed=True)(gold, pred).tally.value == 0
    assert Clusters(over="nil").key == "b_cubed_nil_f1"
    assert [error.kind for error in Clusters()(gold, pred[:1]).errors] == ["missed"]
    with pytest.raises(GoldassayError, match="metric is muc"):
        Clusters("rand")


def test_blanc_by_hand() -> None:
    # together in gold 3 + 6, predicted 1 + 1 + 6, on both sides {1 2} {6 7}; apart in gold 21 - 9, predicted 28 - 8,
    # and on both 8 of the 15 pairs of 1 2 3 4 6 7: 6 are together in gold, 3 predicted, 2 in both
    assert corpus(Clusters("pairwise"), [PRADHAN]) == pytest.approx(4 / 17)
    assert corpus(Clusters("blanc", "recall"), [PRADHAN]) == pytest.approx((2 / 9 + 8 / 12) / 2)
    assert corpus(Clusters("blanc", "precision"), [PRADHAN]) == pytest.approx((2 / 8 + 8 / 20) / 2)
    assert corpus(Clusters("blanc"), [PRADHAN]) == pytest.approx((4 / 17 + 16 / 32) / 2)
    # gold has nothing apart: only the pair {1 2} of 3 counts
    assert corpus(Clusters("blanc", "recall"), [([{1, 2, 3}], [{1, 2}, {3}])]) == pytest.approx(1 / 3)
    assert corpus(Clusters("blanc"), [([{1}], [{1, 2}])]) == 0
    assert Clusters("blanc")(gold_links([{1}]), answers([{1}])).tally.weight == 0


def test_blanc_is_that_of_all_pairs_one_by_one() -> None:
    random_ = random.Random("blanc")
    for _ in range(12):
        documents = [(drawn(random_), drawn(random_)) for _ in range(3)]
        counts = {True: [0, 0, 0], False: [0, 0, 0]}  # together, apart: right, of gold, predicted
        for key, response in documents:
            pairs = [
                {frozenset(pair): together(pair, side) for pair in combinations(sorted(set().union(*side)), 2)}
                for side in (key, response)
            ]
            for kind, row in counts.items():
                gold, pred = ({pair for pair, same in side.items() if same == kind} for side in pairs)
                row[:] = [row[0] + len(gold & pred), row[1] + len(gold), row[2] + len(pred)]
        kinds = [row for row in counts.values() if row[1]]
        values = {
            "recall": [right / gold for right, gold, _ in kinds],
            "precision": [right / (predicted or 1) for right, _, predicted in kinds],
            "f1": [2 * right / (gold + predicted) for right, gold, predicted in kinds],
        }
        for rate, each in values.items():
            expected = sum(each) / len(each) if each else 0.0
            assert corpus(Clusters("blanc", rate), documents) == pytest.approx(expected), documents


def together(pair: tuple[int, int], clusters: Clustering) -> bool:
    return any({*pair} <= cluster for cluster in clusters)


def links(clusters: Clustering) -> set[tuple[int, int]]:
    return {pair for cluster in clusters for pair in combinations(sorted(cluster), 2)}


def defined(metric: str, key: Clustering, response: Clustering) -> tuple[float, float]:
    """Numerator and denominator of recall, as the papers define it; precision is it with the sides exchanged."""
    if metric == "muc":
        parts = [len({next((i for i, r in enumerate(response) if m in r), f"alone {m}") for m in k}) for k in key]
        return sum(len(k) - p for k, p in zip(key, parts, strict=True)), sum(len(k) - 1 for k in key)
    if metric == "b_cubed":
        of = {m: r for r in response for m in r}
        return sum(len(k & of.get(m, set())) / len(k) for k in key for m in k), sum(map(len, key))
    if metric == "lea":
        total = 0.0
        for k in key:
            if len(k) == 1:
                total += k in response
            else:
                total += len(k) * len(links([k]) & links(response)) / len(links([k]))
        return total, sum(map(len, key))

    def phi(k: set[int], r: set[int]) -> float:
        return len(k & r) if metric == "ceaf_m" else 2 * len(k & r) / (len(k) + len(r))

    few, many = sorted((key, response), key=len)
    best = max(sum(map(phi, few, chosen)) for chosen in permutations(many, len(few)))
    return best, sum(phi(k, k) for k in key)


def drawn(random_: random.Random) -> Clustering:
    clusters: dict[int, set[int]] = {}
    for mention in random_.sample(range(9), random_.randint(1, 8)):
        clusters.setdefault(random_.randrange(5), set()).add(mention)
    return list(clusters.values())


@pytest.mark.parametrize("metric", ["muc", "b_cubed", "ceaf_m", "ceaf_e", "lea"])
def test_the_definitions_on_random_clusters(metric: str) -> None:
    random_ = random.Random(metric)
    for _ in range(8):
        documents = [(drawn(random_), drawn(random_)) for _ in range(3)]
        sums = [
            [sum(numbers) for numbers in zip(*(defined(metric, *pair[::step]) for pair in documents), strict=True)]
            for step in (1, -1)
        ]
        recall, precision = (above / below if below else 0.0 for above, below in sums)
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        for rate, value in zip(RATES, (recall, precision, f1), strict=True):
            empty = not any(below for _, below in sums)
            assert corpus(Clusters(metric, rate), documents) == pytest.approx(1.0 if empty else value), documents
        first = [(g, p) for g, p in documents[:1]]
        for rate in RATES:
            assert corpus(Clusters(metric, rate, scope="corpus"), first) == pytest.approx(
                corpus(Clusters(metric, rate), first)
            )


@pytest.mark.parametrize("scope", ["document", "corpus"])
@pytest.mark.parametrize("metric", ["ceaf_e", "conll"])
def test_intervals_hold_the_value(scope: str, metric: str) -> None:
    random_ = random.Random(1)
    documents = [(drawn(random_), drawn(random_)) for _ in range(12)]
    gold = [{"text": f"text {i}", "links": gold_links(g)} for i, (g, _) in enumerate(documents)]
    measure = Clusters(metric, scope=scope)
    card = fold("linking", [measure], Batches(gold, [{"links": answers(p)} for _, p in documents]))
    low, high = card.intervals[measure.key].ends
    value = card.values[measure.key]
    assert value is not None
    assert 0 <= low < value < high <= 1


def test_typed_links_and_the_entities_of_a_document() -> None:
    def link(start: int, id_: str, type_: str) -> dict[str, Any]:
        return {"start": start, "end": start + 2, "type": type_, "ids": id_, "candidates": [id_]}

    gold = [link(0, "Q1", "PER"), link(5, "Q1", "PER"), link(10, "Q2", "ORG"), link(15, "NIL1", "ORG")]
    pred = [link(1, "Q1", "PER"), link(10, "Q2", "GPE"), link(20, "Q3", "ORG"), link(25, "NIL", "PER")]
    for answers in (pred, [{name: value for name, value in row.items() if name != "ids"} for row in pred]):
        cases = {  # tp, fp, fn
            ln.LinkF1(match="span"): (1, 3, 3),  # Q2
            ln.LinkF1(match="span", typed=True): (0, 4, 4),
            ln.LinkF1(typed=True): (1, 3, 3),  # Q1 by overlap
            ln.LinkF1(match="entity"): (2, 1, 0),  # Q1 (once) and Q2; Q3; NIL is no entity
            ln.LinkF1(match="entity", typed=True): (1, 2, 1),  # Q1 PER
        }
        for measure, counts in cases.items():
            assert tuple(measure(gold, answers).tally.state().values()) == counts, measure
            assert parse(stored(measure)) == measure
    assert ln.LinkF1(match="entity", typed=True, rate="recall").key == "typed_entity_link_recall"
    two = [{"start": 0, "end": 1, "ids": ["Q1", "Q9"]}, {"start": 3, "end": 4, "ids": ["Q9"]}]
    assert ln.LinkF1(match="entity")(two, [link(0, "Q9", "")]).tally.state() == {"tp": 2, "fp": 0, "fn": 0}


def test_a2kb_as_gerbil_counts_it() -> None:
    # 1 of 2 found and 1 spurious (P 1/2, R 1/2); nothing to find and 1 predicted (0); empty on both sides (1)
    documents = [([{1}, {4}], [{1}, {7}]), ([], [{2}]), ([], [])]
    gold = [gold_links(g, "Q") for g, _ in documents]
    pred = [answers(p, "Q") for _, p in documents]
    micro = sum((ln.LinkF1()(*pair).tally for pair in zip(gold, pred, strict=True)), ln.LinkF1().zero)
    assert (micro.precision, micro.recall, micro.f1) == (1 / 3, 1 / 2, 2 / 5)
    for rate in RATES:
        macro = ln.MacroDocLink(rate)
        total = sum((macro(*pair).tally for pair in zip(gold, pred, strict=True)), macro.zero)
        assert total.value == pytest.approx((1 / 2 + 0 + 1) / 3)
