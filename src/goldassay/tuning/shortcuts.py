"""Shortcuts: what predicts the labels of gold without the meaning of its inputs.

An optimizer may learn how the data was made. So each feature that says nothing of the meaning (length, first and last
word, template, digits, capitals, marks, the place in the file, the id, the source, a label that the text quotes) is
tested on each field of gold that has few values: the information that both share, against that of 99 permutations of
the labels, whose gamma distribution of the same mean and variance gives p (Holm over all tests). A shortcut is also
large: it explains `LARGE` of the field's entropy beyond what chance does. A first or last word counts if it is seldom
elsewhere. Examples of one document count once. Near copies, and answers that are in the same tenth of their texts, are
counted.

Of twelve kinds of planted shortcuts that hold in four of five examples it finds each in 19 of 20 sets of 150 examples
or more, and it warns about 0 of 200 clean sets (``python -m benchmarks.shortcuts``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from goldassay._support.dspy_compat import input_keys
from goldassay.core.fields import cluster, names, read
from goldassay.running.leaks import text_of
from goldassay.statistics import holm
from goldassay.text.near import near_pairs
from goldassay.text.normal import plain

LARGE = 0.1  # of the entropy of a field
LEAST_EXAMPLES = 20  # examples below which nothing is tested


@dataclass(frozen=True)
class Shortcut:
    """A feature that predicts a field of gold without the meaning of the input.

    ``explained`` is the share of the field's entropy beyond chance; of near copies the share of the examples, and of
    answers in one place that of the answers.
    """

    feature: str
    field: str
    explained: float
    p: float
    detail: str = ""

    def __str__(self) -> str:
        """A warning in one line.

        >>> str(Shortcut("the first word", "label", 0.62, 0.0001, "'Re' is mostly spam (40 of 41)"))
        "shortcut: the first word explains 62 % of label, whatever the text means: 'Re' is mostly spam (40 of 41)"
        """
        if self.detail and not self.field:
            return f"shortcut: {self.detail}"
        share = f"{100 * self.explained:.0f} %"
        what = f"shortcut: {self.feature} explains {share} of {self.field}, whatever the text means"
        return f"{what}: {self.detail}" if self.detail else what


def shortcuts(examples: Sequence[object], fields: Collection[str] = ()) -> list[Shortcut]:
    """The shortcuts of gold examples, the largest first; none of fewer than 20 examples.

    Args:
        examples: Examples that name their inputs, or records of a task.
        fields: The fields of gold that are looked at; by default, and if gold has none of these, all.

    >>> import dspy
    >>> texts = [("Re: " if i % 2 else "On ") + "abcdefgh"[i % 7] * (3 + i % 5) for i in range(60)]
    >>> gold = [dspy.Example(text=t, label="no" if i % 2 else "yes").with_inputs("text") for i, t in enumerate(texts)]
    >>> [shortcut.feature for shortcut in shortcuts(gold)][:1]
    ['the first word']
    """
    documents = {cluster(example, index): example for index, example in reversed(list(enumerate(examples)))}
    sample = list(documents.values())[::-1][:600]  # examples that are looked at
    if len(sample) < LEAST_EXAMPLES:
        return []
    texts = [text_of(example) for example in sample]
    inputs = set(input_keys(sample[0]) or ())
    about = {
        "id",
        "document",
        "documents",
        "split",
        "strata",
        "sampling",
        "language",
        "source",
        "dspy_uuid",
        "dspy_split",
    }
    about |= inputs or {"text", "query", "question", "context"}
    labels: dict[str, list[Hashable]] = {}  # the fields of gold that have few values, and whether a list in it is empty
    for name in dict.fromkeys(name for example in sample for name in names(example)):
        values = [read(example, name, None) for example in sample] if name not in about else []
        if any(isinstance(value, (list, tuple)) for value in values):
            values = [bool(value) for value in values]
        common = Counter(map(str, values)).most_common()
        if values and 1 < len(common) <= len(values) / 5 and common[0][1] <= 0.95 * len(values):
            labels[name] = [str(value) for value in values]
    labels = {name: labels[name] for name in labels if name in fields} or labels
    features = {name: values for name, values in _features(sample, texts, labels).items() if len(set(values)) > 1}
    tests = [
        (feature, field, *_information(marks, values))
        for field, values in labels.items()
        for feature, marks in features.items()
    ]
    strongest: dict[str, Shortcut] = {}  # by feature: fields of gold often go together
    for (feature, field, explained, _), p in zip(tests, holm([test[3] for test in tests]), strict=True):
        if p < 0.01 and explained >= max(LARGE, strongest[feature].explained if feature in strongest else 0.0):
            pairs = Counter(zip(features[feature], labels[field], strict=True))
            mark_counts = Counter(features[feature])
            share = Counter(labels[field])
            # the mark that predicts most, and the label that it predicts
            (mark, commonest), count = max(
                pairs.items(), key=lambda item: item[1] - mark_counts[item[0][0]] * share[item[0][1]] / len(sample)
            )
            detail = (
                f"{mark!r} is mostly {commonest} ({count} of {mark_counts[mark]})"
                if isinstance(mark, str) and mark
                else ""
            )
            strongest[feature] = Shortcut(feature, field, explained, float(p), detail)
    every = list(strongest.values())
    for name in names(sample[0]):  # answers that are in the same tenth of their texts more often than not
        answers = [str(read(example, name, "") or "") for example in sample]
        tenths = [
            10 * text.find(answer) // len(text)
            for answer, text in zip(answers, texts, strict=True)
            if name not in about and len(answer) > 2 and answer in text
        ]
        if len(tenths) < max(LEAST_EXAMPLES, len(texts) / 2) or len(set(answers)) <= len(answers) / 5:
            continue
        tenth, count = Counter(tenths).most_common(1)[0]
        if count > len(tenths) / 2:
            most = count / len(tenths)
            detail = f"{100 * most:.0f} % of all {name} are in the same tenth of the text ({tenth + 1} of 10)"
            every.append(Shortcut("the place in the text", "", most, 0.0, detail))
    copies = len({index for pair in near_pairs([plain(text) for text in texts]) for index in pair[:2]}) / len(texts)
    if copies >= LARGE:
        detail = f"{100 * copies:.0f} % of the texts nearly copy another"
        every.append(Shortcut("near copies", "", copies, 0.0, detail))
    return sorted(every, key=lambda shortcut: -shortcut.explained)


def _features(
    examples: Sequence[object], texts: Sequence[str], labels: dict[str, list[Hashable]]
) -> dict[str, list[Hashable]]:
    """The facts about each example that need no understanding of its text."""
    numbers: dict[str, list[float]] = {
        "the length": [len(text) for text in texts],
        "the number of digits": [sum(map(str.isdigit, text)) for text in texts],
        "the share of capitals": [sum(map(str.isupper, text)) / max(1, len(text)) for text in texts],
        "the place in the file": list(range(len(texts))),
    }
    features: dict[str, list[Hashable]] = {}
    for name, amounts in numbers.items():
        cuts = np.unique(np.quantile(amounts, (0.2, 0.4, 0.6, 0.8)))
        features[name] = np.searchsorted(cuts, amounts, side="left").tolist()
    split = [text.casefold().split() or [""] for text in texts]
    held = Counter(word for words in split for word in set(words))
    for name, at in (("the first word", 0), ("the last word", -1)):  # of words that are seldom elsewhere
        ends = Counter(words[at] for words in split)
        features[name] = [words[at] if ends[words[at]] > 2 / 3 * held[words[at]] else "" for words in split]
    features["the template"] = [re.sub(r"\w+(\s+\w+)*", "w", text[:60]) for text in texts]
    features["the id"] = [re.sub(r"\d+", "", str(read(example, "id", ""))) for example in examples]
    for name in ("source", "strata.source", "strata.source_type"):
        features[f"the {name}"] = [str(read(example, name, "")) for example in examples]
    for mark in sorted({letter for text in texts for letter in text if not (letter.isalnum() or letter.isspace())}):
        features[f"the mark {mark}"] = [mark in text for text in texts]
    for field, values in labels.items():
        quoted = {str(value).casefold() for value in values if len(str(value)) > 2}
        features[f"the value of {field} that the text quotes"] = [
            next((label for label in sorted(quoted) if label in text.casefold()), "") for text in texts
        ]
    return features


def _information(feature: Sequence[Hashable], label: Sequence[Hashable]) -> tuple[float, float]:
    """The share of a label's entropy that a feature explains beyond chance, and the p of that."""
    codes = []
    for values in (feature, label):  # those that few examples have are one
        common = [value for value, count in Counter(values).items() if count >= 4]
        codes.append(np.array([common.index(value) + 1 if value in common else 0 for value in values]))
    rows, labels = codes
    size = int(labels.max()) + 1
    n = len(labels)

    def shared(order: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> float:
        table = np.bincount(rows * size + order, minlength=size * (int(rows.max()) + 1)).reshape(-1, size) / n
        entropies = [scipy.special.entr(part).sum() for part in (table.sum(0), table.sum(1), table)]
        return float(entropies[0] + entropies[1] - entropies[2])

    draw = np.random.default_rng(0)
    chance = np.array([shared(draw.permutation(labels)) for _ in range(99)])
    entropy = float(scipy.special.entr(np.bincount(labels) / n).sum())
    mean = float(chance.mean())
    variance = float(chance.var())
    value = max(0.0, shared(labels))
    if not variance > 0 or not entropy > 0:
        return 0.0, 1.0
    return (value - mean) / entropy, float(scipy.special.gammaincc(mean**2 / variance, value * mean / variance))
