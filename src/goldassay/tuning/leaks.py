"""The leak guard: a program must not be measured on examples that it learns from.

Two texts are nearly the same if 90 % of their characters are similar (`goldassay.text.similarity`): a word changed,
not another text on the same subject. Audits and splits of gold search the same way, in linear time for large sets.

Parts of one document resemble each other, so they stay together in a fold (`assign_folds`), in the order of measuring
(`shuffled_documents`) and in the resamples of an interval (`goldassay.fields.clusters`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dspy
from rapidfuzz import fuzz, process

from goldassay._dspy_compat import input_keys
from goldassay.exceptions import LeakError
from goldassay.fields import cluster, read
from goldassay.text.similarity import NEAR, near_pairs, plain

if TYPE_CHECKING:
    from goldassay.tuning.patches import Patch


PAIRS = 40_000  # comparisons that cost less than an index
WORDS = 8  # as many words in a row are a copy, not chance
INPUTS = ("text", "question", "query")  # of examples that do not say which fields are inputs


def text_of(example: dspy.Example) -> str:
    """The text by which an example is recognised: its inputs, one after the other."""
    keys = input_keys(example) or INPUTS
    return " ".join(" ".join(str(read(example, key, "")) for key in sorted(keys)).split())


def check_examples(train: Sequence[dspy.Example], held_out: Mapping[str, Sequence[dspy.Example]]) -> None:
    """Raise a LeakError if a train example stands in a held-out split, exactly or nearly (90 % of its characters).

    >>> import dspy
    >>> train = [dspy.Example(id="a", text="The museum opened in 1885.").with_inputs("text")]
    >>> check_examples(train, {"dev": [dspy.Example(id="b", text="The museum  opened in 1886.").with_inputs("text")]})
    Traceback (most recent call last):
    goldassay.exceptions.LeakError: record a: the train example is nearly (96 %) dev example b; remove it from one side
    """
    sides = [(split, example) for split, examples in held_out.items() for example in examples]
    ours, others = [plain(text_of(example)) for example in train], [plain(text_of(example)) for _, example in sides]
    for mine, other, score in _near(ours, others):
        split, example = sides[other]
        how = "exactly" if score == 100 else f"nearly ({score:.0f} %)"
        raise LeakError(
            f"the train example is {how} {split} example {read(example, 'id', '?')}; remove it from one side",
            record=read(train[mine], "id", "?"),
        )


def _near(ours: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """The pairs across that are nearly the same: each with each if they are few, else in linear time."""
    if len(ours) * len(others) > PAIRS:
        pairs = near_pairs([*ours, *others])
        yield from ((mine, other - len(ours), score) for mine, other, score in pairs if mine < len(ours) <= other)
        return
    for index, text in enumerate(ours):
        match = process.extractOne(text, others, scorer=fuzz.ratio, score_cutoff=NEAR) if text else None
        if match is not None:
            yield index, match[2], match[1]


def check_patch(patch: Patch, held_out: Mapping[str, Sequence[dspy.Example]]) -> None:
    """Raise a LeakError if a patch shows a held-out example, exactly or nearly, or an instruction copies its words."""
    check_instructions([patch.text or ""], held_out)
    for split, examples in held_out.items():
        if patch.example and examples:
            keys = input_keys(examples[0]) or INPUTS
            demos = patch.example["examples"] if patch.action == "show_nearest" else [patch.example]
            rows = [dspy.Example(**{**demo, "id": patch.id}).with_inputs(*keys) for demo in demos]
            check_examples(rows, {split: examples})


def check_instructions(
    instructions: Iterable[str], held_out: Mapping[str, Sequence[dspy.Example]], words: int = WORDS
) -> None:
    """Raise a LeakError if an instruction copies ``words`` words in a row from a held-out example.

    >>> check_instructions(["Find years."], {"dev": [{"id": "b", "text": "Founded in 1885 by the city of Amsterdam"}]})
    """
    copied = {gram for instruction in instructions for gram in _grams(instruction, words)}
    for split, examples in held_out.items():
        for example in examples if copied else ():
            for gram in _grams(text_of(example), words):
                if gram in copied:
                    raise LeakError(
                        f"an instruction copies {gram!r} from the {split} split", record=read(example, "id", "?")
                    )


def _grams(text: str, words: int) -> list[str]:
    tokens = text.casefold().split()
    return [" ".join(tokens[i : i + words]) for i in range(len(tokens) - words + 1)]


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
