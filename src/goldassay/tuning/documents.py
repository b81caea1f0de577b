"""Examples of one document stay together: in a fold, in the order of a race, in the resamples of an interval."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from goldassay.fields import read

LEAST = 8  # examples before the first look


def dealt(examples: Sequence[Any], folds: int, seed: int) -> list[int]:
    """The fold of each example: documents whole, in a random order, as even as they allow.

    >>> sorted(dealt([{"id": i} for i in range(7)], 3, seed=0))
    [0, 0, 0, 1, 1, 2, 2]
    """
    found: dict[Any, list[int]] = {}
    for index, example in enumerate(examples):
        found.setdefault(document(example, index), []).append(index)
    documents = list(found.values())
    out, sizes = [0] * len(examples), [0] * folds
    for indices in random.Random(seed + 1).sample(documents, len(documents)):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(indices)
        for index in indices:
            out[index] = fold
    return out


def stages(n: int) -> list[int]:
    """After how many documents to look: a quarter, a half, three quarters and all (never fewer than 8).

    >>> stages(40), stages(12), stages(5)
    ([10, 20, 30, 40], [8, 9, 12], [5])
    """
    return sorted({max(LEAST, n * part // 4) for part in (1, 2, 3)} & set(range(1, n + 1)) | {n})


def ordered(examples: Sequence[Any], seed: int) -> list[list[int]]:
    """The documents in the seed's order, each as the places of its examples: a race's first ones speak for all."""
    found: dict[Any, list[int]] = {}
    for index, example in enumerate(examples):
        found.setdefault(document(example, index), []).append(index)
    documents = list(found.values())
    return random.Random(seed).sample(documents, len(documents))


def document(example: Any, index: int) -> Any:
    """What an example belongs to: its document, or itself."""
    return read(example, "document", None) or ("example", index)


def clusters(examples: Sequence[Any]) -> list[Any] | None:
    """The document of each example, if any two share one."""
    found = [document(example, index) for index, example in enumerate(examples)]
    return found if len(set(found)) < len(found) else None
