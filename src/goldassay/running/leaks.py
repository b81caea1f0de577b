"""Leaks: a program must not be measured on examples that it learnt from or that its prompts show.

Two texts are nearly the same if 90 % of their characters are similar (`goldassay.text.normal`): a word changed,
not another text on the same subject. Audits and splits of gold search the same way, in linear time for large sets. An
instruction copies an example if it has eight words in a row of its inputs, or a shorter input of five words whole.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dspy
from rapidfuzz import fuzz, process

from goldassay._support.dspy_compat import input_keys, signature_of
from goldassay._support.exceptions import LeakError
from goldassay.core.fields import identity, read
from goldassay.core.shape import input_text, shape_of
from goldassay.text.near import ALL_CHARACTERS, NEAR_DUPLICATE, near_pairs
from goldassay.text.normal import plain

if TYPE_CHECKING:
    from goldassay.running.guard import Program

PAIRS = 500_000  # and so many comparisons
COPIED_WORDS = 8  # as many words in a row are a copy, not chance
SHORT = 5  # words of a shorter input, which counts if it is copied whole
NEAREST = "the nearest examples"
TEXT_FIELDS = ("text", "question", "query")  # of examples that do not say which fields are inputs


@dataclass(frozen=True)
class Leak:
    """A gold example that a program's prompts show, and how similar it is there in per cent (100: the same)."""

    index: int
    id: str
    place: str
    similarity: float = 100.0

    @property
    def how(self) -> str:
        """How similar it is, in words."""
        return "exactly" if self.similarity == 100 else f"nearly ({self.similarity:.0f} %)"


def text_of(example: object, keys: Collection[str] | None = None) -> str:
    """The text by which an example is recognised: its inputs (or ``keys``), one after the other."""
    keys = keys or input_keys(example) or TEXT_FIELDS
    return input_text(example, keys)


def find_leaks(program: Program, gold: Sequence[object]) -> list[Leak]:
    """The gold examples that a program's demonstrations or instructions show, each once, in the order of the gold.

    A demonstration is compared by the inputs that it shares with the gold; if it has none of them, by its own inputs,
    together and each alone. The examples of a program that shows each input its nearest ones
    (`goldassay.tuning.NearestDemos`) count only if they are nearly the same: an input is never shown itself.

    Args:
        program: A DSPy module; anything without predictors has no prompts, and no leaks.
        gold: The examples that it is measured on.

    >>> program = dspy.Predict("text -> label")
    >>> program.demos = [dspy.Example(text="The museum opened in 1885.", label="museum")]
    >>> gold = [{"id": "a", "text": "The museum opened in 1886."}, {"id": "b", "text": "An archive in Delft"}]
    >>> [(leak.id, leak.place, leak.how) for leak in find_leaks(program, gold)]
    [('a', "a demonstration of 'self'", 'nearly (96 %)')]
    """
    predictors = program.named_predictors() if hasattr(program, "named_predictors") else []
    if not predictors or not gold:
        return []
    named = input_keys(gold[0]) or {*(shape_of(program).inputs or ()), *TEXT_FIELDS}
    keys = frozenset(key for key in named if read(gold[0], key, None) is not None)
    texts_of: dict[frozenset[str], list[tuple[str, str]]] = defaultdict(list)  # by the fields to compare
    prompts: list[str] = []
    for name, predictor in predictors:
        signature = signature_of(predictor)
        origin = f"a demonstration of {name!r}"
        prompts += [str((field.json_schema_extra or {}).get("desc", "")) for field in signature.fields.values()]
        prompts.append(str(signature.instructions))
        for demo in predictor.demos or []:
            values = {key: read(demo, key, None) for key in (*signature.input_fields, *keys)}
            filled = {key: value for key, value in values.items() if value not in (None, "")}
            if shared := keys.intersection(filled):
                texts_of[shared].append((text_of(filled, shared), origin))
            elif keys:
                alone = [" ".join(str(value).split()) for value in filled.values()]
                texts_of[keys] += [(text, origin) for text in dict.fromkeys([" ".join(alone), *alone])]
    parts: list[object] = getattr(program, "prompt_parts", list)()
    pool = [example for part in parts if isinstance(part, Mapping) for example in part.get("examples", ())]
    if pool:
        texts_of[keys] += [(text_of(example, keys), NEAREST) for example in pool]

    similar: dict[int, tuple[float, str]] = {}
    for shared, pairs in texts_of.items():
        originals = [text_of(example, shared) for example in gold]
        texts = list(map(plain, originals))
        count = Counter(texts)  # what several examples share, such as their language, is none of them
        for mine, other, similarity in _near([plain(text) for text, _ in pairs], texts):
            text, origin = pairs[mine]
            itself = origin == NEAREST and text == originals[other]
            if not itself and (shared == keys or count[texts[other]] == 1) and similarity > similar.get(other, (0,))[0]:
                similar[other] = similarity, origin
    copied = _copies(prompts)
    texts = [text_of(example, keys) for example in gold]
    words = {text: copied(text) for text in texts}
    count = Counter(gram for grams in words.values() for gram in grams)  # a phrase that texts share is none of them
    for index, text in enumerate(texts):
        if any(count[gram] == 1 for gram in words[text]):
            similar.setdefault(index, (100.0, "the instructions"))
    return [Leak(at, identity(gold[at], at), origin, score) for at, (score, origin) in sorted(similar.items())]


def leak_warning(leaks: Sequence[Leak], gold: Sequence[object]) -> str:
    """A warning about gold examples in the program's prompts; empty if there is none."""
    if not leaks:
        return ""
    first = leaks[0]
    are = "is" if len(leaks) == 1 else "are"
    return (
        f"{len(leaks)} of {len(gold)} examples {are} also in the program's prompts: {first.id}, {first.how} in "
        f"{first.place}; the values are too good: remove it from the prompts, or measure on other gold"
    )


def check_program(program: Program, held_out: Mapping[str, Sequence[object]], which: str = "the program") -> None:
    """Check that a program's demonstrations and instructions hold no held-out example, exactly or nearly.

    Args:
        program: A DSPy module.
        held_out: The examples that it will be measured on, by split.
        which: What the program is called in the error.

    Raises:
        LeakError: They do.
    """
    for split, examples in held_out.items():
        for leak in find_leaks(program, examples)[:1]:
            raise LeakError(
                f"{which} has this {split} example {leak.how} in {leak.place}, so its value on {split} shows nothing; "
                "remove it from one of the two",
                record=leak.id,
            )


def check_splits(program: Program, splits: Mapping[str, Sequence[dspy.Example]]) -> None:
    """Check that neither train nor the program's prompts hold examples of dev or test.

    Raises:
        LeakError: They do.
    """
    held_out = {name: splits.get(name) or () for name in ("dev", "test")}
    check_examples(splits["train"], held_out)
    check_program(program, held_out)


def check_examples(train: Sequence[dspy.Example], held_out: Mapping[str, Sequence[dspy.Example]]) -> None:
    """Check that no train example is also in a held-out split, exactly or nearly (90 % of its characters).

    Raises:
        LeakError: One is.

    >>> import dspy
    >>> train = [dspy.Example(id="a", text="The museum opened in 1885.").with_inputs("text")]
    >>> check_examples(train, {"dev": [dspy.Example(id="b", text="The museum  opened in 1886.").with_inputs("text")]})
    Traceback (most recent call last):
    goldassay._support.exceptions.LeakError: record a: the train example is nearly (96 %) dev example b; remove it ...
    """
    held_examples = [
        (split, identity(example, index), example)
        for split, examples in held_out.items()
        for index, example in enumerate(examples)
    ]
    ours = [plain(text_of(example)) for example in train]
    held_texts = [plain(text_of(example)) for _, _, example in held_examples]
    for mine, other, score in _near(ours, held_texts):
        split, name, _ = held_examples[other]
        leak = Leak(other, name, f"{split} example", score)
        raise LeakError(
            f"the train example is {leak.how} {leak.place} {leak.id}; remove it from one side",
            record=identity(train[mine], mine),
        )


def _near(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """The pairs across that are nearly the same: each with each if ours are few, else in linear time."""
    are_many = len(ours) > 50 and len(ours) * len(theirs) > PAIRS  # so many texts cost less than an index
    if are_many or sum(map(len, ours)) * sum(map(len, theirs)) > ALL_CHARACTERS**2:
        pairs = near_pairs([*ours, *theirs])
        yield from ((mine, other - len(ours), score) for mine, other, score in pairs if mine < len(ours) <= other)
        return
    for index, text in enumerate(ours):
        if text:
            matches = process.extract(text, theirs, scorer=fuzz.ratio, score_cutoff=NEAR_DUPLICATE, limit=None)
            yield from ((index, other, score) for _, score, other in matches)


def check_instructions(instructions: Iterable[str], held_out: Mapping[str, Sequence[object]]) -> None:
    """Check that no instruction copies words of a held-out example.

    Raises:
        LeakError: One does.

    >>> check_instructions(["Find years."], {"dev": [{"id": "b", "text": "Founded in 1885 by the city of Amsterdam"}]})
    """
    copied = _copies(instructions)
    for split, examples in held_out.items():
        for index, example in enumerate(examples):
            for words in copied(text_of(example))[:1]:
                message = f"an instruction copies {words!r} from the {split} split"
                raise LeakError(message, record=identity(example, index))


def _copies(sources: Iterable[str]) -> Callable[[str], list[str]]:
    """A function that gives the words of a text that these copy: in rows of eight, or all of a short text."""

    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.casefold())

    def rows(tokens: Sequence[str]) -> list[str]:
        return [" ".join(tokens[start : start + COPIED_WORDS]) for start in range(len(tokens) - COPIED_WORDS + 1)]

    tokens = list(map(words, sources))
    lines = [f" {' '.join(line_tokens)} " for line_tokens in tokens if len(line_tokens) >= SHORT]
    grams = {gram for line_tokens in tokens for gram in rows(line_tokens)}

    def copied(text: str) -> list[str]:
        text_tokens = words(text) if lines else []
        if not SHORT <= len(text_tokens) < COPIED_WORDS:
            return [gram for gram in rows(text_tokens) if gram in grams]
        short = " ".join(text_tokens)
        return [short] if any(f" {short} " in source for source in lines) else []

    return copied
