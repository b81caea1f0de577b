"""Files as benchmarks publish them, from the command line: the values by hand, and what is wrong in one line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from typer.testing import CliRunner

import goldassay
from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.gold import read

WEBNLG = "<benchmark><entries>{}</entries></benchmark>"
ENTRY = '<entry category="{}" eid="{}"><{set}tripleset><{t}triple>{}</{t}triple></{set}tripleset></entry>'
DOCUMENT = {
    "title": "T",
    "sents": [["Ann", "wrote"], ["it", "."]],
    "vertexSet": [[{"name": "Ann"}, {"name": "A."}], [{"name": "Emma"}]],
    "labels": [{"h": 0, "t": 1, "r": "P50", "evidence": [0, 1]}, {"h": 1, "t": 0, "r": "P1", "evidence": [0]}],
}
FACT = {"title": "T", "h_idx": 0, "t_idx": 1, "r": "P50"}
DOCRED, CONLL = ("--protocol", "docred"), ("--protocol", "conll")
CARB = "Ann -LRB- A. -RRB- wrote Emma\twrote\tAnn\tEmma\tin 1815\n"


def test_a_fact_of_the_training_set_has_any_names(tmp_path: Path) -> None:
    train, gold = tmp_path / "train.json", tmp_path / "gold.json"
    gold.write_text(json.dumps([DOCUMENT]), encoding="utf-8")
    document = {**DOCUMENT, "vertexSet": [[{"name": "A."}, {"name": "Jane"}], [{"name": "Emma"}]]}
    train.write_text(json.dumps([{**document, "labels": [{"h": 0, "t": 1, "r": "P50"}]}]), encoding="utf-8")
    (record,) = read(gold, task="triples", format="docred", train=train)
    assert [triple["in_train"] for triple in record["triples"]] == [True, False]


def coref(*chains: str) -> str:
    """A document of one-letter tokens whose chains are words of their letters."""
    lines = []
    for number, token in enumerate("12345679abcdefgxyzABCDEFGHIJ8"):
        marks = [f"({n})" for n, chain in enumerate(chains) for letter in chain if letter == token]
        lines.append(f"T 0 {number} {token} {'|'.join(marks) or '-'}\n")
    return f"#begin document (T); part 000\n{''.join(lines)}\n#end document\n"


def score(task: str, folder: Path, gold: str, pred: str, *words: str) -> Any:
    files = folder / "gold.txt", folder / "pred.txt"
    for file, content in zip(files, (gold, pred), strict=True):
        file.write_text(content, encoding="utf-8")
    call = ["score", task, "--gold", str(files[0]), "--pred", str(files[1]), *words]
    return CliRunner().invoke(app, call)


def entries(set_: str, *triples: str) -> str:
    return WEBNLG.format("".join(ENTRY.format("Food", n, each, set=set_, t=set_[0]) for n, each in enumerate(triples)))


@pytest.mark.parametrize(
    ("task", "gold", "pred", "words", "values"),
    [
        # the second object has one of two words: a span that shares no word but its last with gold's
        (
            "triples",
            entries("modified", "a | isPartOf | b", "a | b | c_d"),
            entries("generated", "a | is part of | b", "a | b | c"),
            ("--protocol", "webnlg"),
            {"strict_f1": (1 + 2 / 3) / 2, "ent_type_f1": (1 + 2 / 3) / 2, "partial_recall": (1 + 2 / 3) / 2},
        ),
        # 1 of 3 (a title that gold does not have is wrong, its evidence is left out), 1 of 2; evidence 1 of 1, 1 of 3
        (
            "triples",
            json.dumps([DOCUMENT]),
            json.dumps([{**FACT, "evidence": [1, 1]}, {**FACT, "r": "P2"}, {**FACT, "title": "U", "evidence": [2]}]),
            ("--protocol", "docred"),
            {"RE_F1": 0.4, "Evi_F1": 0.5, "RE_ignore_annotated_F1": 0.4},
        ),
        # wrote, Ann, Emma of wrote, Ann, Emma in 1815: P 3/3, R 3/5; brackets may be written as they are
        (
            "triples",
            CARB,
            "Ann (A.) wrote Emma\t0.5\twrote\tAnn\tEmma\nanother sentence\t0.9\tis\tx\n",
            ("--protocol", "carb"),
            {"Precision": 1.0, "Recall": 3 / 5},
        ),
        # the argument with "C: " is dropped from gold: wrote, Ann, Emma of wrote, Ann, Emma: P 3/3, R 3/3
        (
            "triples",
            "Ann wrote Emma\twrote\tAnn\tEmma\tC: in 1815\n",
            "Ann wrote Emma\t0.5\twrote\tAnn\tEmma\n",
            ("--protocol", "carb"),
            {"Precision": 1.0, "Recall": 1.0},
        ),
        # no prediction is of a gold sentence: precision 0/0 is 1, recall 0/1, and no area
        (
            "triples",
            CARB,
            "another sentence\t0.9\tis\tx\n",
            ("--protocol", "carb"),
            {"Precision": 1.0, "Recall": 0.0, "F1": 0.0, "AUC": 0.0},
        ),
        # an en dash is a letter: "1914–18" is one word, and shares none with "1914"
        (
            "triples",
            entries("modified", "war | years | 1914\u201318"),
            entries("generated", "war | years | 1914"),
            ("--protocol", "webnlg"),
            {"partial_f1": 2 / 3, "exact_f1": 2 / 3},
        ),
        # mentions in one place: 2 of 3 predicted and 2 of 2; with the id and type 1; the document b has no gold
        (
            "linking",
            "a\t0\t4\tQ1\t1.0\tPER\na\t8\t9\tNIL1\t1.0\tORG\n",
            'a\t0\t4\tQ2\t0.1\tPER\tQ1\t0.9\tPER\na\t8\t9\tNIL7\t1.0\t{"type": "GPE"}\nb\t0\t1\tQ1\t1.0\tPER\n',
            ("--protocol", "tac", "--no-intervals"),
            {
                "strong_all_match_fscore": 4 / 5,
                "strong_typed_all_match_precision": 1 / 3,
                "strong_nil_match_fscore": 1.0,
                "entity_match_precision": 1 / 2,
                "mention_ceaf_recall": 1.0,
                "typed_mention_ceaf_recall": 1 / 2,
            },
        ),
    ],
)
def test_official_files(
    tmp_path: Path, task: str, gold: str, pred: str, words: tuple[str, ...], values: dict[str, float]
) -> None:
    done = score(task, tmp_path, gold, pred, *words, "--json")
    assert done.exit_code == 0, done.output
    measured = json.loads(done.stdout)["values"]
    assert {name: measured[name] for name in values} == pytest.approx(values)


def test_two_systems_are_compared_under_a_protocol(tmp_path: Path) -> None:
    for name, content in {
        "gold.xml": entries("modified", "a | r | b", "c | r | d"),
        "one.xml": entries("generated", "a | r | b", "c | r | d"),
        "two.xml": entries("generated", "a | r | b", "x | y | z"),
    }.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    files = [word for name in ("one", "two") for word in ("--pred", str(tmp_path / f"{name}.xml"))]
    call = ["compare", "triples", "--gold", str(tmp_path / "gold.xml"), *files, "--protocol", "webnlg", "--json"]
    done = CliRunner().invoke(app, call, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert '"strict_f1"' in done.stdout


# The 36 cases of the reference scorer: key, response, recall and precision of each metric, as its notes derive them.
THREE, SIX, ALPHABET = "a bc def", "a b c d e f", "12345 67 89ABC"
CASES: dict[str, tuple[str, str, Any]] = {
    "A-1": (
        THREE,
        THREE,
        {"muc": (3 / 3, 3 / 3), "b_cubed": (1, 1), "ceaf_m": (1, 1), "ceaf_e": (1, 1), "lea": (1, 1)},
    ),
    "A-2": (
        THREE,
        "a de",
        {"muc": (1 / 3, 1), "b_cubed": (7 / 18, 1), "ceaf_m": (3 / 6, 1), "ceaf_e": (0.6, 0.9), "lea": (2 / 6, 1)},
    ),
    "A-3": (
        THREE,
        "a bcx defy z",
        {
            "muc": (1, 3 / 5),
            "b_cubed": (1, 55 / 108),
            "ceaf_m": (1, 6 / 9),
            "ceaf_e": ((1 + 4 / 5 + 6 / 7) / 3, (1 + 4 / 5 + 6 / 7) / 4),
            "lea": (1, (1 + 3 / 3 + 4 * 3 / 6) / 9),
        },
    ),
    "A-5": (
        THREE,
        "a bcxB dy z",
        {
            "muc": (1 / 3, 1 / 4),
            "b_cubed": (5 / 9, 5 / 16),
            "ceaf_m": (4 / 6, 4 / 8),
            "ceaf_e": ((1 + 4 / 6 + 2 / 5) / 3, (1 + 4 / 6 + 2 / 5) / 4),
            "lea": (3 / 6, (1 + 4 / 6) / 8),
        },
    ),
    "A-6": (
        THREE,
        "a bcx dy Bz",
        {
            "muc": (1 / 3, 1 / 4),
            "b_cubed": (5 / 9, 17 / 48),
            "ceaf_m": (4 / 6, 4 / 8),
            "ceaf_e": (2.2 / 3, 2.2 / 4),
            "lea": (3 / 6, 2 / 8),
        },
    ),
    # b stands again in its chain, in another one, and there ten times: it counts once, in the first chain
    **dict.fromkeys(("A-4", "A-7", "A-8", "A-9"), (THREE, "", {})),
    "A-10": (THREE, SIX, {"muc": (0, 0), "b_cubed": (3 / 6, 1), "lea": (1 / 6, 1 / 6)}),
    "A-11": (THREE, "abcdef", {"muc": (1, 3 / 5), "b_cubed": (1, 7 / 18), "lea": (5 / 6, 4 / 15)}),
    "A-12": (THREE, "a x y c d e z", {"muc": (0, 0), "b_cubed": (13 / 36, 4 / 7), "lea": (1 / 6, 1 / 7)}),
    "A-13": (THREE, "axycdez", {"muc": (1 / 3, 1 / 6), "b_cubed": (17 / 36, 6 / 49), "lea": (1 / 6, 1 / 21)}),
    "B-1": ("ab cde", "bcx de", {"lea": (1 / 5, 2 / 5)}),
    "C-1": ("ab cde fg", "bcx de fg", {"lea": (3 / 7, 4 / 7)}),
    "D-1": (
        ALPHABET,
        "12345 6789ABC",
        {"muc": (1, 9 / 10), "b_cubed": (1, 16 / 21), "lea": (1, (5 + 7 * 11 / 21) / 12)},
    ),
    "E-1": (
        ALPHABET,
        "1234589ABC 67",
        {"muc": (1, 9 / 10), "b_cubed": (1, 7 / 12), "lea": (1, (10 * 20 / 45 + 2) / 12)},
    ),
    "F-1": ("ABCD", "AB CD", {"muc": (2 / 3, 1), "lea": (2 / 6, 1)}),
    "G-1": ("AB CD", "ABCD", {"muc": (1, 2 / 3), "lea": (1, 2 / 6)}),
    "H-1": ("ABCD", "ABCD", {"muc": (1, 1), "lea": (1, 1)}),
    "I-1": ("ABCD", "AB CD", {"muc": (2 / 3, 1), "lea": (2 / 6, 1)}),
    "J-1": ("ABC", "AC", {"muc": (1 / 2, 1), "lea": (1 / 3, 1)}),
    "K-1": ("BCDEGHJ", "ABC DEF GHI", {"muc": (3 / 6, 3 / 6), "lea": (3 / 21, 3 / 9)}),
    "L-1": ("ABC DEFG", "AB CD FGH", {"muc": (2 / 5, 2 / 4), "lea": ((3 / 3 + 4 / 6) / 7, (2 + 3 / 3) / 7)}),
    "M-1": ("abcdef", "abcdef", {"muc": (1, 1), "b_cubed": (1, 1), "ceaf_m": (1, 1), "ceaf_e": (1, 1), "lea": (1, 1)}),
    "M-2": ("abcdef", SIX, {"muc": (0, 0), "lea": (0, 0)}),
    "M-3": ("abcdef", "ab cde f", {"lea": (4 / 15, 5 / 6)}),
    "M-4": ("abcdef", "abcxyz", {"lea": (3 / 15, 3 / 15)}),
    "M-5": ("abcdef", "a b c x y z", {"muc": (0, 0), "lea": (0, 0)}),
    "M-6": ("abcdef", "ab cxy z", {"lea": (1 / 15, 2 / 6)}),
    "N-1": (SIX, SIX, {"muc": (0, 0), "b_cubed": (1, 1), "ceaf_m": (1, 1), "ceaf_e": (1, 1), "lea": (1, 1)}),
    "N-2": (SIX, "abcdef", {"lea": (0, 0)}),
    "N-3": (SIX, "ab cde f", {"lea": (1 / 6, 1 / 6)}),
    "N-4": (SIX, "a b c x y z", {"muc": (0, 0), "lea": (3 / 6, 3 / 6)}),
    "N-5": (SIX, "abcxyz", {"lea": (0, 0)}),
    "N-6": (SIX, "ab cxy z", {"lea": (0, 0)}),
}
AGAIN = {
    "muc": (1 / 3, 1 / 3),
    "b_cubed": (5 / 9, 17 / 42),
    "ceaf_m": (4 / 6, 4 / 7),
    "ceaf_e": (2.2 / 3, 2.2 / 4),
    "lea": (3 / 6, 2 / 7),
}
for case, response in zip(("A-4", "A-7", "A-8", "A-9"), ("z", "z", "bz", "bbbbbbbbbbz"), strict=True):
    CASES[case] = (THREE, f"a bcx{'b' * (case == 'A-7')} dy {response}", AGAIN)


# Pairs of mentions that are in one chain, and that are in two: right, of gold, of the response
BLANC = {
    "A-1": ((4, 4, 4), (11, 11, 11)),
    "A-2": ((1, 4, 1), (2, 11, 2)),
    "A-3": ((4, 4, 9), (11, 11, 27)),
    **dict.fromkeys(("A-4", "A-7", "A-8", "A-9"), ((1, 4, 4), (5, 11, 17))),
    "A-5": ((1, 4, 7), (5, 11, 21)),
    "A-6": ((1, 4, 5), (5, 11, 23)),
    "A-10": ((0, 4, 0), (11, 11, 15)),
    "A-11": ((4, 4, 15), (0, 11, 0)),
    "A-12": ((0, 4, 0), (5, 11, 21)),
    "A-13": ((1, 4, 21), (0, 11, 0)),
    "B-1": ((1, 4, 4), (2, 6, 6)),
    "C-1": ((2, 5, 5), (10, 16, 16)),
    # gold has no pairs of two chains (M), or none of one (N): only the others count
    "M-1": ((15, 15, 15),),
    "M-2": ((0, 15, 0),),
    "M-3": ((4, 15, 4),),
    "M-4": ((3, 15, 15),),
    "M-5": ((0, 15, 0),),
    "M-6": ((1, 15, 4),),
    "N-1": ((15, 15, 15),),
    "N-2": ((0, 15, 0),),
    "N-3": ((11, 15, 11),),
    "N-4": ((3, 15, 15),),
    "N-5": ((0, 15, 0),),
    "N-6": ((2, 15, 11),),
}


def test_the_36_cases_of_the_coreference_scorer(tmp_path: Path) -> None:
    assert len(CASES) == 36
    for case, (key, response, expected) in CASES.items():
        files = tmp_path / f"{case}.key", tmp_path / f"{case}.response"
        for file, chains in zip(files, (key, response), strict=True):
            file.write_text(coref(*chains.split()), encoding="utf-8")
        values = goldassay.score("linking", *files, protocol="conll", intervals=False).values
        for metric, (recall, precision) in expected.items():
            f1 = 2 * recall * precision / (recall + precision) if recall else 0.0
            rates = [values[f"{metric}_{rate}"] for rate in ("recall", "precision", "f1")]
            assert rates == pytest.approx([recall, precision, f1]), (case, metric)
        if case in BLANC:
            recalls = [right / gold for right, gold, _ in BLANC[case]]
            precisions = [right / (predicted or 1) for right, _, predicted in BLANC[case]]
            f1s = [2 * right / (gold + predicted) for right, gold, predicted in BLANC[case]]
            rates = [values[f"blanc_{rate}"] for rate in ("recall", "precision", "f1")]
            assert rates == pytest.approx([sum(each) / len(each) for each in (recalls, precisions, f1s)]), case


def test_a_mention_in_two_chains_counts_in_both_and_is_reported(tmp_path: Path) -> None:
    key = tmp_path / "key"
    response = tmp_path / "response"
    key.write_text(coref("abc"), encoding="utf-8")
    response.write_text(coref("ab", "bc"), encoding="utf-8")
    card = goldassay.score("linking", key, response, protocol="conll")
    # gold has b, so the response is {a b} {c}: precision 3/3; recall (2/3 + 2/3 + 1/3) / 3
    assert (card["b_cubed_precision"], card["b_cubed_recall"]) == pytest.approx((1, 5 / 9))
    assert "1 mentions of response repeat" in " ".join(card.warnings)
    card = goldassay.score("linking", response, key, protocol="conll")
    # key {a b} {b c}, b looked up in the second: recall (2/2 + 2/2 + 2/2) / 4, precision (2/3 + 2/3 + 2/3) / 3
    assert (card["b_cubed_precision"], card["b_cubed_recall"]) == pytest.approx((2 / 3, 3 / 4))
    assert "1 mentions of response repeat" in " ".join(card.warnings)


Mentions = list[tuple[int, int]]


def official(key: list[Mentions], response: list[Mentions]) -> dict[str, tuple[float, float, float, float]]:
    """What the official scorer adds for a document, loop by loop: recall's numerator and denominator, precision's."""
    in_key = {mention for chain in key for mention in chain}
    seen: set[tuple[int, int]] = set()
    unique: list[Mentions] = []
    for chain in response:
        unique.append([])
        for mention in chain:
            if mention not in in_key or mention not in seen:
                unique[-1].append(mention)
            seen.add(mention)
    response = unique
    index = {mention: chain for chain in key for mention in chain}
    muc = 0
    of_key = of_response = 0.0
    for chain in response:
        for place, mention in enumerate(chain):
            muc += any(
                mention in index and other in index and index[mention] is index[other] for other in chain[place + 1 :]
            )
            gold = index.get(mention, [])
            common = sum(other in gold for other in chain)
            of_response += common / len(chain)
            of_key += common / len(gold) if gold else 0
    links = [sum(len(chain) - 1 for chain in side if chain) for side in (key, response)]
    sizes = [sum(map(len, side)) for side in (key, response)]
    counts = [sum(bool(chain) for chain in side) for side in (key, response)]
    shared = np.array([[sum(m in r for m in k) for r in response] for k in key])
    total = np.array([[len(k) + len(r) for r in response] for k in key])
    best = {name: each[linear_sum_assignment(-each)].sum() for name, each in (("m", shared), ("e", 2 * shared / total))}
    return {
        "muc": (muc, links[0], muc, links[1]),
        "b_cubed": (of_key, sizes[0], of_response, sizes[1]),
        "ceaf_m": (best["m"], sizes[0], best["m"], sizes[1]),
        "ceaf_e": (best["e"], counts[0], best["e"], counts[1]),
    }


def drawn_chains(random_: random.Random) -> tuple[str, list[Mentions]]:
    """A document of five tokens with many mentions twice, as a file, and its chains in the order of the file."""
    cells: list[list[str]] = [[] for _ in range(5)]
    drawn = [(random_.randrange(5), *sorted(random_.choices(range(5), k=2))) for _ in range(random_.randint(4, 9))]
    chains: dict[int, Mentions] = {}
    for token in range(5):
        for chain, start, end in sorted(drawn, key=lambda mention: (mention[1] != mention[2], mention)):
            if start == token:
                chains.setdefault(chain, [])
                cells[token].append(f"({chain})" if end == token else f"({chain}")
        cells[token] += [f"{chain})" for chain, start, end in drawn if start < end == token]
    for chain, start, end in drawn:
        chains[chain].append((start, end))
    return "".join(f"T 0 {n} w {'|'.join(cell) or '-'}\n" for n, cell in enumerate(cells)), list(chains.values())


def crossing(chains: list[Mentions]) -> bool:
    """Whether two mentions of a chain cross, which a file cannot say."""
    pairs = [(a, b) for chain in chains for a in chain for b in chain]
    return any(a[0] < b[0] <= a[1] < b[1] for a, b in pairs)


def test_files_dense_in_repeated_mentions_count_as_in_the_official_scorer(tmp_path: Path) -> None:
    files = tmp_path / "key", tmp_path / "response"
    random_ = random.Random(51)
    scored = 0
    while scored < 50:
        (key_text, key), (response_text, response) = drawn_chains(random_), drawn_chains(random_)
        if crossing(key) or crossing(response):
            continue
        scored += 1
        for file, text in zip(files, (key_text, response_text), strict=True):
            file.write_text(f"#begin document (T)\n{text}#end document\n", encoding="utf-8")
        values = goldassay.score("linking", *files, protocol="conll", intervals=False).values
        for metric, (right, gold, correct, predicted) in official(key, response).items():
            recall, precision = right / gold if gold else 0.0, correct / predicted if predicted else 0.0
            rates = values[f"{metric}_recall"], values[f"{metric}_precision"]
            assert rates == pytest.approx((recall, precision)), (metric, key_text, response_text)


def test_nested_mentions_and_lines_of_a_coreference_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    lines = ["T 0 0 a (1|(2)", "T 0 1 b (1", "", "T 0 0 c 1)|1)", "T 0 1 d -"]
    file.write_text("\n".join(["#begin document (T); part 000", *lines, "#end document", ""]), encoding="utf-8")
    (record,) = read(file, task="linking", format="coref")
    places = {(link["start"], link["end"]): link["ids"]["chain"] for link in record["links"]}
    assert places == {(0, 1): ["NIL2"], (1, 3): ["NIL1"], (0, 3): ["NIL1"]}


def test_cells_of_several_parts_are_taken_as_the_coreference_scorer_takes_them(tmp_path: Path) -> None:
    cells = ["(1(1", "(2)|(3)", "1)1)", "(4)(5", "5)"]  # two mentions of chain 1 begin together, and end together
    lines = [f"T 0 {n} word {cell}" for n, cell in enumerate(cells)]
    file = tmp_path / "key"
    file.write_text("\n".join(["#begin document (T)", *lines, "#end document", ""]), encoding="utf-8")
    (record,) = read(file, task="linking", format="coref")
    places = [(link["start"], link["end"], *link["ids"]["chain"]) for link in record["links"]]
    assert places == [(0, 3, "NIL1"), (0, 3, "NIL1"), (1, 2, "NIL2"), (1, 2, "NIL3"), (3, 4, "NIL4"), (3, 5, "NIL5")]


def test_documents_that_only_the_response_has_are_no_errors_of_coreference(tmp_path: Path) -> None:
    key = tmp_path / "key"
    response = tmp_path / "response"
    key.write_text(coref("ab"), encoding="utf-8")
    response.write_text(coref("ab") + coref("ab").replace("(T)", "(U)"), encoding="utf-8")
    card = goldassay.score("linking", key, response, protocol="conll")
    # one chain of two mentions, found; the second document of the response would halve precision
    assert card["b_cubed_precision"] == card["lea_precision"] == 1
    assert any("1 of 2 documents" in warning for warning in card.warnings)
    assert {"empty=0"} == {
        part for text in card.conventions.values() for part in text[:-1].split(", ") if "empty" in part
    }


def test_mentions_and_clusters_with_their_ids_as_neleval_counts_them(tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    pred = tmp_path / "pred.tsv"
    mentions = {"a0": "Q1 PER", "a6": "Q1 PER", "a11": "NIL1 ORG", "a16": "Q2 ORG", "a30": "Q3 PER", "b0": "Q5 PER"}
    answers = {"a0": "Q1 PER", "a6": "Q2 PER", "a11": "NIL7 PER", "a20": "Q2 ORG", "b0": "Q6 PER", "b6": "Q6 PER"}
    for file, links in ((gold, mentions | {"b6": "Q5 PER"}), (pred, answers)):
        rows = [(place[0], place[1:], int(place[1:]) + 3, *link.split()) for place, link in links.items()]
        file.write_text("".join(f"{d}\t{start}\t{end}\t{id_}\t1\t{kind}\n" for d, start, end, id_, kind in rows))
    values = goldassay.score("linking", gold, pred, protocol="tac", intervals=False).values
    expected = {  # precision, recall
        "strong_mention_match": (5 / 6, 5 / 7),  # all spans but a16, a30; a20
        "strong_typed_mention_match": (4 / 6, 4 / 7),  # a11 is no PER
        "strong_linked_mention_match": (4 / 5, 4 / 6),  # without a11, which is NIL on both sides
        # precision: a0 1, a6 1/2 (with a20), a11 1, b0 and b6 1; recall: a0 and a6 1/2, a11 1, b0 and b6 1
        "b_cubed": (4.5 / 6, 4 / 7),
        "b_cubed_plus": (2 / 6, 1.5 / 7),  # a0 and a11 have their ids
        "mention_ceaf": (4 / 6, 4 / 7),  # Q1–Q1 1, NIL1–NIL7 1, Q5–Q6 2
        "mention_ceaf_plus": (2 / 6, 2 / 7),
        "typed_mention_ceaf": (3 / 6, 3 / 7),  # without a11
        "typed_mention_ceaf_plus": (1 / 6, 1 / 7),  # a0
        "pairwise": (1 / 2, 1 / 2),  # gold a0 a6, b0 b6; predicted a6 a20, b0 b6
    }
    for name, (precision, recall) in expected.items():
        f1 = 2 * precision * recall / (precision + recall)
        rates = [values[f"{name}_{rate}"] for rate in ("precision", "recall", "fscore")]
        assert rates == pytest.approx([precision, recall, f1]), name


def test_b_cubed_looks_for_missing_mentions_as_neleval_does(tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    pred = tmp_path / "pred.tsv"
    # gold has one entity of three mentions, the prediction lacks the third: neleval looks for it among the predicted
    # mentions without a candidate, of which gold's entity has one: recall (1/3 + 1/3 + 1/3) / 3, precision 2/2
    gold.write_text("a\t0\t4\tQ1\t1\tORG\na\t6\t9\tQ1\t1\tORG\na\t11\t14\tQ1\t1\tORG\n", encoding="utf-8")
    pred.write_text("a\t0\t4\na\t6\t9\tQ1\t1\tORG\n", encoding="utf-8")
    values = goldassay.score("linking", gold, pred, protocol="tac", intervals=False).values
    assert (values["b_cubed_recall"], values["b_cubed_precision"]) == pytest.approx((1 / 3, 1))


def test_a_mention_without_a_candidate_is_neither_nil_nor_linked_for_neleval(tmp_path: Path) -> None:
    gold = tmp_path / "gold.tsv"
    pred = tmp_path / "pred.tsv"
    gold.write_text("a\t0\t4\na\t6\t9\tNIL\t1\tORG\na\t11\t14\tNIL\t1\tORG\n", encoding="utf-8")
    pred.write_text("a\t0\t4\na\t6\t9\na\t11\t14\tNIL\t1\tORG \n", encoding="utf-8")
    values = goldassay.score("linking", gold, pred, protocol="tac", intervals=False).values
    assert (values["strong_nil_match_precision"], values["strong_nil_match_recall"]) == (1, 1 / 2)  # only 11 to 14
    assert values["strong_typed_nil_match_precision"] == 1  # a space behind a type is not part of it
    assert values["strong_all_match_fscore"] == 1  # none of them names an entity
    assert values["strong_link_match_fscore"] == 0  # there is none
    # gold {0} {6 11}, predicted {0 6} {11}: recall (1 + 1/2 + 1/2) / 3, precision (1/2 + 1/2 + 1) / 3
    assert (values["b_cubed_recall"], values["b_cubed_precision"]) == pytest.approx((2 / 3, 2 / 3))
    gold.write_text("a\t0\t4\n", encoding="utf-8")
    assert goldassay.score("linking", gold, gold, protocol="tac")["strong_nil_match_fscore"] == 0


@pytest.mark.parametrize(
    ("task", "gold", "pred", "words", "message"),
    [
        ("triples", '<!DOCTYPE b [<!ENTITY e "x">]><b/>', "x", ("--format", "webnlg"), "a document type or an entity"),
        ("triples", "<benchmark><entry>", "x", ("--format", "webnlg"), "not XML: "),
        ("triples", entries("modified", "a | b"), "x", ("--format", "webnlg"), "'subject | predicate | object', not"),
        ("triples", entries("modified", "a | b | c"), entries("other", "a | b | c"), ("--format", "webnlg"), "<gen"),
        ("triples", json.dumps([DOCUMENT]), json.dumps([{**FACT, "h_idx": None, "r": 1}]), DOCRED, "r"),
        ("triples", json.dumps([DOCUMENT]), json.dumps([{"title": "T"}]), DOCRED, "h_idx"),
        ("triples", json.dumps([{**DOCUMENT, "labels": [{"h": 7, "t": 0, "r": "P"}]}]), "[]", DOCRED, "docred"),
        ("triples", CARB, "x\t1\tr\ta\nx\t.5\tr\ta\nx\thigh\tr\ta\n", ("--protocol", "carb"), "could not convert"),
        ("triples", CARB, CARB, ("--format", "carb", "--protocol", "crab"), "no protocol 'crab'"),
        ("linking", coref("ab"), coref("ab").replace("#end", "#the end"), CONLL, "does not end"),
        ("linking", coref("ab"), coref("ab").replace("(0)", "(0", 1), CONLL, "a mention of chain 0 does not end"),
        ("linking", coref("ab"), coref("ab").replace("(0)", "1|(2"), CONLL, "chains are written (1), (1 or 1)"),
        ("linking", coref("ab"), coref("ab").replace("(T)", "(U)"), CONLL, "a document that gold does not have"),
        ("linking", "a\t0\t4\tQ1\t1\n", "a\t0\t4\tQ1\t1\na\t0\t4\tQ2\t1\n", ("--protocol", "tac"), "is there twice"),
        ("linking", "a\t0\t4\tQ1\t1\n", "a\t5\t4\tQ1\tbest\n", ("--protocol", "tac"), "could not convert"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(
    tmp_path: Path, task: str, gold: str, pred: str, words: tuple[str, ...], message: str
) -> None:
    done = score(task, tmp_path, gold, pred, *words)
    assert isinstance(done.exception, GoldassayError), done.output
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


@pytest.mark.parametrize("content", ["", "\n"])
@pytest.mark.parametrize(
    ("task", "protocol", "gold"),
    [("triples", "carb", "S\tis\tA\tB\n"), ("linking", "tac", "d0\t10\t12\tQ1\t1.0\tPER\n")],
)
def test_a_file_without_predictions_is_0_as_in_the_scripts(
    tmp_path: Path, task: str, protocol: str, gold: str, content: str
) -> None:
    files = (tmp_path / "gold.tsv", tmp_path / "pred.tsv")
    for file, text in zip(files, (gold, content), strict=True):
        file.write_text(text)
    assert {*goldassay.score(task, *files, protocol=protocol, intervals=False).values.values()} == {0.0}
