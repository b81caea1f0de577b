"""What keeps a campaign's examples apart: patches that show nothing held out, folds of whole documents.

Parts of one document resemble each other, so they stay together in a fold (`assign_folds`), in the order of measuring
(`shuffled_documents`) and in the resamples of an interval (`goldassay.fields.clusters`). What counts as a leak says
`goldassay.running.leaks`.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dspy

from goldassay._dspy_compat import input_keys
from goldassay.fields import cluster
from goldassay.running.leaks import INPUTS, check_examples, check_instructions

if TYPE_CHECKING:
    from goldassay.tuning.patches import Patch


def check_patch(patch: Patch, held_out: Mapping[str, Sequence[dspy.Example]]) -> None:
    """Raise a LeakError if a patch shows a held-out example, exactly or nearly, or an instruction copies its words."""
    check_instructions([patch.text or ""], held_out)
    for split, examples in held_out.items():
        if patch.example and examples:
            keys = input_keys(examples[0]) or INPUTS
            demos = patch.example["examples"] if patch.action == "show_nearest" else [patch.example]
            rows = [dspy.Example(**{**demo, "id": patch.id}).with_inputs(*keys) for demo in demos]
            check_examples(rows, {split: examples})


def shuffled_documents(examples: Sequence[dspy.Example], seed: int) -> list[list[int]]:
    """The documents in the seed's order, each as the places of its examples: the first ones stand for all."""
    documents: dict[Any, list[int]] = {}
    for index, example in enumerate(examples):
        documents.setdefault(cluster(example, index), []).append(index)
    return random.Random(seed).sample(list(documents.values()), len(documents))


def assign_folds(examples: Sequence[dspy.Example], folds: int, seed: int) -> list[int]:
    """The fold of each example: documents whole, in a random order, as even as they allow.

    >>> sorted(assign_folds([{"id": i} for i in range(7)], 3, seed=0))
    [0, 0, 0, 1, 1, 2, 2]
    """
    fold_of, sizes = [0] * len(examples), [0] * folds
    for indices in shuffled_documents(examples, seed + 1):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(indices)
        for index in indices:
            fold_of[index] = fold
    return fold_of
