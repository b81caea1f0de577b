"""Label matching beside rapidfuzz's own search: the best label, and the best ten, of 100,000 for each mention."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.harness import close, versus
from rapidfuzz import fuzz, process

from goldassay.workspace.search import LabelTable

STARTS = ["b", "d", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "sch", "st", "br", "gr", "kl"]
VOWELS = ["a", "e", "i", "o", "u", "aa", "ee", "oo", "ij", "oe", "ei"]
ENDS = ["dam", "burg", "stad", "dorp", "hoven", "wijk", "kerk", "veen", "berg", "bosch", "sluis"]
KINDS = [
    "Museum {p}",
    "Stadsarchief {p}",
    "Historisch Museum {p}",
    "Stedelijk Museum {p}",
    "Openbare Bibliotheek {p}",
    "Vereniging Oud-{p}",
    "Heemkundekring {p} en {q}",
    "Regionaal Archief {p}",
    "Bibliothèque municipale de {p}",
    "Stadtbibliothek {p}",
    "Kasteel {p}",
    "Heimatmuseum {p}-{q}",
    "Archives départementales de {p}",
    "National Museum of {p}",
]


def names(n: int, rng: random.Random) -> list[str]:
    def place() -> str:
        syllables = range(rng.choice((1, 1, 2)))
        return "".join(rng.choice(STARTS) + rng.choice(VOWELS) for _ in syllables).capitalize() + rng.choice(ENDS)

    unique: dict[str, None] = {}
    while len(unique) < n:
        unique[rng.choice(KINDS).format(p=place(), q=place()).casefold()] = None
    return list(unique)


def damaged(name: str, rng: random.Random) -> str:
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at = rng.randrange(len(name))
        name = name[:at] + rng.choice(("", rng.choice("abcdefghij"), name[at] * 2)) + name[at + 1 :]
    return " ".join(name.split()) or "x"


def main(labels: int = 100_000, mentions: int = 100) -> None:
    rng = random.Random(0)
    entries = names(labels, rng)
    queries = [damaged(rng.choice(entries), rng) for _ in range(mentions)]
    table = LabelTable.of({str(i): [name] for i, name in enumerate(entries)})
    table.best(queries[:1])  # folds the names once, as the opponent's are

    def theirs(k: int) -> Any:
        return [
            [(float(score), index) for _, score, index in process.extract(query, entries, scorer=fuzz.ratio, limit=k)]
            for query in queries
        ]

    def ours(k: int) -> Any:
        return [[(match.score, int(match.id)) for match in matches] for matches in table.best(queries, k)]

    # 4 was the target of a prototype; nearly all of the time is rapidfuzz's own cdist, which is exact in 64 bits
    for k in (1, 10):
        job = f"best {k} of {labels:,} labels, {mentions} mentions"
        versus(job, "rapidfuzz process.extract", lambda k=k: theirs(k), lambda k=k: ours(k), close, 3)  # type: ignore[misc]


if __name__ == "__main__":
    main()
