"""Candidates of a large collection: nearly all that matter, and hardly any that do not."""

from __future__ import annotations

import random

import pytest
from rapidfuzz import fuzz, process

from goldassay.gold.audit.records import LocatedRecord, duplicates
from goldassay.gold.splits import grouped
from goldassay.running.leaks import _near
from goldassay.text import near as similarity
from goldassay.text.near import GRAM, candidates, signatures


def texts(size: int) -> list[str]:
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(2, 9))) for _ in range(2000)]
    return [" ".join(rng.choices(words, k=20)) for _ in range(size)]


def test_a_changed_word_is_proposed_and_strangers_are_not() -> None:
    collection = texts(600)
    for index in range(0, 100):
        cells = collection[index].split()
        cells[index % 20] = "museum"
        collection.append(" ".join(cells))
    proposed = {(i, j) for i, j in candidates(collection).tolist()}
    assert {(index, 600 + index) for index in range(100)} <= proposed
    assert len(proposed) < 700


def test_the_share_of_equal_hashes_is_the_jaccard_index() -> None:
    glass, two = "a museum of glass in the old town", "a museum of stone in the old town"
    first, second = ({text[at : at + GRAM] for at in range(len(text) - GRAM + 1)} for text in (glass, two))
    signs = signatures([glass, two])
    assert (signs[0] == signs[1]).mean() == pytest.approx(len(first & second) / len(first | second), abs=0.15)


def test_short_and_odd_texts() -> None:
    assert candidates(["a", "a", "ab", "\U0001f3db", "\U0001f3db"]).tolist() == [[0, 1], [3, 4]]


def test_a_large_collection_finds_what_a_small_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = texts(300)
    collection += [collection[index].replace("a", "e", 3) for index in range(0, 300, 3)] + [collection[0], ""]
    exact = {(i, j) for i, j, _ in similarity.near_pairs(collection)}
    monkeypatch.setattr(similarity, "ALL", 10)
    large = list(similarity.near_pairs(collection))
    assert {(i, j) for i, j, _ in large} == exact
    assert all(score == fuzz.ratio(collection[i], collection[j]) for i, j, score in large)


def test_documents_of_many_pages_are_found_without_comparing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(8)
    words = " ".join(texts(20)).split()
    documents = [" ".join(rng.choices(words, k=3000)) for _ in range(60)]
    for document in documents[:10]:
        cells = document.split()
        cells[::40] = ["museum"] * len(cells[::40])
        documents.append(" ".join(cells))
    compared: list[int] = []
    compare = process.cpdist

    def counted(*texts: list[str], **options: object) -> object:
        compared.append(len(texts[0]))
        return compare(*texts, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(process, "cpdist", counted)
    assert [(i, j) for i, j, _ in similarity.near_pairs(documents)] == [(i, 60 + i) for i in range(10)]
    assert sum(compared) < 100  # of 2,415 pairs, each of which takes 13 ms
    leaks = list(_near(documents[:50], documents[50:]))
    assert [(mine, other) for mine, other, _ in leaks] == [(i, 10 + i) for i in range(10)]


def test_many_times_the_same_text_is_told_once_a_record() -> None:
    rows = [
        LocatedRecord("classification", {"id": str(i), "text": "Delft", "label": "M", "split": "train"}, "x")
        for i in range(500)
    ]
    rows[300].record["split"] = "test"
    findings = list(duplicates(rows, ["text"]))
    assert len(findings) == 499
    assert [finding.record for finding in findings if finding.kind == "leak"] == ["300"]
    assert len(grouped([row.record for row in rows])) == 1


def test_a_text_that_is_near_to_many_is_told_once_and_of_its_leak() -> None:
    text = "Registration {}: the museum of the town keeps a collection of old things and is open on appointment."
    rows = [
        LocatedRecord("classification", {"id": str(i), "text": text.format(i), "label": "M", "split": "train"}, "x")
        for i in range(6)
    ]
    rows[3].record["split"] = "test"
    assert [(finding.kind, finding.record) for finding in duplicates(rows, ["text"])] == [
        ("near", "1"),
        ("near", "2"),
        ("leak", "3"),
        ("leak", "4"),
        ("leak", "5"),
    ]


def test_filled_in_forms_have_a_bounded_number_of_candidates() -> None:
    rng = random.Random(20)
    forms = [
        f"The museum of Delft number {i} was opened in 18{i % 90:02} with {rng.random()} prints" for i in range(3000)
    ]
    pairs = candidates(forms).tolist()
    assert len(pairs) < 120 * len(forms)  # 210 a text with six neighbours in each band, without what repeats
    near = [pair for pair in pairs if fuzz.ratio(*(forms[index] for index in pair)) >= similarity.NEAR_DUPLICATE]
    assert len(near) > 75  # of 157; 82 with 89 candidates a text


def test_strangers_of_the_same_words_have_few_candidates() -> None:
    rng = random.Random(5)
    syllables = ["mu", "sa", "del", "go", "ri", "ter", "van", "lo", "ka", "stein"]
    syllables += ["ber", "po", "ne", "ta", "ro", "wi", "cha", "li", "ost", "um"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(3000)]
    weights = [1 / rank for rank in range(1, 3001)]
    strangers = [" ".join(rng.choices(words, weights, k=25)) for _ in range(3000)]
    pairs = candidates(strangers).tolist()
    assert all(i < j for i, j in pairs)
    assert len(pairs) < 60 * len(strangers)


@pytest.mark.parametrize("near", [70.0, 90.0, 100.0])
def test_counts_of_characters_lose_no_near_pair(near: float) -> None:
    rng = random.Random(20)
    words = texts(100)[0].split()
    collection = [" ".join(rng.choices(words, k=rng.randint(5, 25))) for _ in range(300)]
    for text in collection[:100]:
        collection.append("".join(letter if rng.random() > 0.06 else rng.choice(["", "x", "🏛"]) for letter in text))
    collection += ["ab" * 3000, "ab" * 3001, "a" * 6000]  # more than 255 of one character
    every = {(i, j) for i, j in candidates(collection).tolist()}
    proposed = {(i, j) for i, j in candidates(collection, near).tolist()}
    assert {(i, j) for i, j in every if fuzz.ratio(collection[i], collection[j]) >= near} <= proposed < every
