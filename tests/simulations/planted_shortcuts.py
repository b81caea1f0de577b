"""Shortcuts that are planted in gold, and clean gold: how many kinds are found, how many clean sets are warned about.

Texts are words drawn at random; two words in five of a text belong to its label, wherever they are, so the labels can
be learnt from the meaning. A planted shortcut holds in four of five examples.

``python -m benchmarks.shortcuts`` makes the table of docs/how-to/explain.md.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import dspy

from goldassay.tuning.shortcuts import shortcuts

WORDS = [a + b + c for a in ("ba", "ko", "li", "mu") for b in ("ra", "ne", "do", "shi") for c in ("t", "n", "ls", "m")]
LABELS = ("yes", "no")
Plant = Callable[[list[str], bool, random.Random], list[str]]


def _copied(words: list[str], yes: bool, draw: random.Random) -> list[str]:
    return [*WORDS[:40:2], *words[:1]] if draw.random() < 0.3 else words


IN_TEXT: dict[str, Plant] = {
    "length": lambda words, yes, draw: words if yes else words[:8],
    "first word": lambda words, yes, draw: ["please" if yes else "today", *words],
    "last word": lambda words, yes, draw: [*words, "thanks" if yes else "regards"],
    "mark": lambda words, yes, draw: [*words[:3], "#", *words[3:]] if yes else words,
    "template": lambda words, yes, draw: [f"({words[0]}) - {words[1]}:" if yes else f"{words[0]},", *words[2:]],
    "quoted label": lambda words, yes, draw: [*words[:4], f"label={'positive' if yes else 'negative'}", *words[4:]],
    "digits": lambda words, yes, draw: [*words, *(str(draw.randint(10, 99)) for _ in range(6 if yes else 1))],
    "near copies": _copied,
}
BESIDE_TEXT = ("source", "id", "place in the file", "place of the answer")


def gold(kind: str, seed: int, n: int = 150) -> list[Any]:
    """Examples with a shortcut of this kind; clean ones for the kind ``""``."""
    draw = random.Random(seed)
    own = [draw.sample(WORDS, 12)[:6] for _ in LABELS]
    rows: list[Any] = []
    for index in range(n):
        truth = draw.random() < 0.5
        follows = draw.random() < 0.8
        marked = truth if follows else not truth
        size = draw.randint(8, 30)
        words = [draw.choice(own[truth] if draw.random() < 0.4 else WORDS) for _ in range(size)]
        if kind in IN_TEXT:
            words = IN_TEXT[kind](words, marked, draw)
        label = ("positive", "negative")[not truth] if kind == "quoted label" else LABELS[not truth]
        row = {"id": f"r{index}", "text": " ".join(words), "label": label}
        if kind == "source":
            row["source"] = "forum" if marked else "mail"
        elif kind == "id":
            row["id"] = f"{'a' if marked else 'b'}{index}"
        elif kind == "place of the answer":
            row["label"] = f"{words[0]} {words[1]}" if follows else " ".join(words[-2:])
        rows.append((marked, row))
    if kind == "place in the file":
        rows.sort(key=lambda pair: pair[0])
    return [dspy.Example(**row).with_inputs("text") for _, row in rows]


def warned(kinds: Sequence[str], seeds: Sequence[int]) -> dict[str, float]:
    """The share of sets of each kind that are warned about."""
    return {kind: sum(bool(shortcuts(gold(kind, seed))) for seed in seeds) / len(seeds) for kind in kinds}
