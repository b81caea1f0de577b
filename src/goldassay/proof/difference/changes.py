"""Other data that a claimed number may have been computed from: what people leave out, fold or read otherwise.

Each change makes new gold and new predictions of records. Changes that would change nothing are not made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from goldassay.fields import names, read

Sides = tuple[Sequence[Any], Sequence[Any]]
FIELDS = {
    "extraction": ("entities", "entities"),
    "classification": ("label", "label"),
    "linking": ("links", "links"),
    "retrieval": ("relevant", "results"),
    "answering": ("answers", "answer"),
    "triples": ("triples", "triples"),
}
MOST = 30  # types, languages and so on that are tried one by one


@dataclass(frozen=True)
class DataChange:
    """What is done to both sides, and how that is said; ``kind`` is ``part`` where it is one of many of its like."""

    says: str
    made: Callable[[Sequence[Any], Sequence[Any]], Sides]
    kind: str = "data"

    def __call__(self, gold: Sequence[object], pred: Sequence[object]) -> Sides:
        """Both sides after it."""
        return self.made(gold, pred)


def changes(task: str, gold: Sequence[object], pred: Sequence[object]) -> Iterator[DataChange]:
    """Every change of these data that makes a difference, the commonest first.

    >>> [change.says for change in changes("classification", [{"label": "A"}], [{"label": "a"}])]
    ['labels compared without case', 'without the examples whose label is A']
    """
    wanted, given = FIELDS[task]
    for says, keep in (
        ("without the examples that have nothing in gold", lambda g, _: bool(_field(g, wanted))),
        ("without the examples that have no prediction", lambda _, p: bool(_field(p, given))),
        (
            "without the examples that have nothing on either side",
            lambda g, p: bool(_field(g, wanted) or _field(p, given)),
        ),
    ):
        if not all(keep(*pair) for pair in zip(gold, pred, strict=True)):
            yield DataChange(says, _kept(keep))
    if task in ("extraction", "triples"):
        yield from _of_items(task, gold, pred)
    if task == "classification":
        yield from _of_labels(gold, pred)
    if task == "retrieval":
        yield from _of_grades(gold)
    if task == "answering" and any(len(_field(one, "answers") or ()) > 1 for one in gold):
        yield DataChange(
            "only the first answer of gold",
            lambda g, p: ([_with(one, answers=_field(one, "answers")[:1]) for one in g], p),
        )
    yield from _strata(gold, wanted)


def _of_items(task: str, gold: Sequence[Any], pred: Sequence[Any]) -> Iterator[DataChange]:
    """Spans and triples: their types or properties left out, folded or cut."""
    field, kind = ("entities", "type") if task == "extraction" else ("triples", "predicate")
    noun = "type" if task == "extraction" else "property"
    stand = Counter(str(_field(item, kind)) for one in gold for item in _field(one, field) or ())
    said = Counter(str(_field(item, kind)) for one in pred for item in _field(one, field) or ())

    def folded(fold: Callable[[str], str]) -> Callable[[Sequence[Any], Sequence[Any]], Sides]:
        def made(gold: Sequence[Any], pred: Sequence[Any]) -> Sides:
            return tuple(  # type: ignore[return-value]
                [
                    _with(
                        one,
                        **{field: [_with(i, **{kind: fold(str(_field(i, kind)))}) for i in _field(one, field) or ()]},
                    )
                    for one in side
                ]
                for side in (gold, pred)
            )

        return made

    def without(drop: Callable[[Any], bool], sides: str = "both") -> Callable[[Sequence[Any], Sequence[Any]], Sides]:
        def kept(side: Sequence[Any]) -> list[Any]:
            return [_with(one, **{field: [i for i in _field(one, field) or () if not drop(i)]}) for one in side]

        return lambda gold, pred: (kept(gold) if sides == "both" else gold, kept(pred))

    names_ = {*stand, *said}
    if len({name.casefold() for name in names_}) < len(names_):
        yield DataChange(f"{noun}s compared without case", folded(str.casefold))
    if any("." in name for name in names_):
        yield DataChange(f"{noun}s cut at the first dot", folded(lambda name: name.partition(".")[0]))
        yield DataChange(f"{noun}s cut before the last dot", folded(lambda name: name.rpartition(".")[0] or name))
    if set(said) - set(stand):
        yield DataChange(
            f"predictions of a {noun} that gold does not have left out",
            without(_among({*stand}, kind, False), "pred"),
        )
    if any(_twice(_field(one, field) or ()) for one in (*gold, *pred)):
        yield DataChange("what is given twice counted once", lambda g, p: (_once(g, field), _once(p, field)))
    if task == "extraction":
        yield DataChange("ends of predictions read as inclusive", lambda g, p: (g, _moved(p, 1)))
        yield DataChange("ends of gold read as inclusive", lambda g, p: (_moved(g, 1), p))
    for name, _ in (stand + said).most_common(MOST) if len(names_) > 1 else ():
        yield DataChange(f"without the {noun} {name}", without(_among({name}, kind)), "part")
        yield DataChange(f"the {noun} {name} alone", without(_among({name}, kind, False)), "part")


def _of_labels(gold: Sequence[Any], pred: Sequence[Any]) -> Iterator[DataChange]:
    labels = Counter(str(_field(one, "label")) for one in gold)
    seen = {*labels, *(str(_field(one, "label")) for one in pred)}
    if len({label.casefold() for label in seen}) < len(seen):

        def folded(gold: Sequence[Any], pred: Sequence[Any]) -> Sides:
            return tuple(
                [_with(one, label=str(_field(one, "label")).casefold()) for one in side] for side in (gold, pred)
            )  # type: ignore[return-value]

        yield DataChange("labels compared without case", folded)
    for label, _ in labels.most_common(MOST):
        yield DataChange(
            f"without the examples whose label is {label}",
            _kept(_stands("label", label, False)),
            "part",
        )


def _of_grades(gold: Sequence[Any]) -> Iterator[DataChange]:
    if any(
        grade > 1 for one in gold if isinstance(_field(one, "relevant"), dict) for grade in one["relevant"].values()
    ):

        def flat(gold: Sequence[Any], pred: Sequence[Any]) -> Sides:
            return [
                _with(one, relevant={d: float(g > 0) for d, g in dict(_field(one, "relevant")).items()}) for one in gold
            ], pred

        yield DataChange("grades flattened to 0 and 1", flat)


def _strata(gold: Sequence[Any], wanted: str) -> Iterator[DataChange]:
    """Parts of the data: a field of gold with a few words as its values, such as the language or the split."""
    for name in dict.fromkeys(name for one in gold for name in names(one)):
        values = [_field(one, name) for one in gold]
        words = Counter(value for value in values if isinstance(value, str))
        if name == wanted or not 1 < len(words) <= MOST or len(words) * 2 > len(gold):
            continue
        for word, _ in words.most_common():
            yield DataChange(f"the examples whose {name} is {word} alone", _kept(_stands(name, word)), "part")


def _among(words: Collection[str], kind: str, yes: bool = True) -> Callable[[Any], bool]:
    """Whether an item's type or property is among the words (or, without ``yes``, is not)."""
    return lambda item: (str(_field(item, kind)) in words) == yes


def _stands(name: str, word: str, yes: bool = True) -> Callable[[Any, Any], bool]:
    """Whether a field of gold holds the word (or, without ``yes``, does not)."""
    return lambda gold, _: (str(_field(gold, name)) == word) == yes


def _kept(keep: Callable[[Any, Any], bool]) -> Callable[[Sequence[Any], Sequence[Any]], Sides]:
    def made(gold: Sequence[Any], pred: Sequence[Any]) -> Sides:
        both = [pair for pair in zip(gold, pred, strict=True) if keep(*pair)]
        return [one for one, _ in both], [other for _, other in both]

    return made


def _field(one: Any, name: str) -> Any:
    if isinstance(one, list):  # bare spans
        return one if name == "entities" else None
    if isinstance(one, tuple):  # (start, end, type)
        return one[2] if name == "type" else None
    return None if one is None else read(one, name, None)


def _with(one: Any, **values: Any) -> Any:
    """A record, or a span, with other values."""
    replaced = getattr(one, "_replace", None)
    if replaced is not None:
        return replaced(**values)
    if isinstance(one, tuple):
        return (*one[:2], values.get("type", one[2]), *one[3:])
    if isinstance(one, list):
        return values["entities"]
    return {**{name: read(one, name) for name in names(one)}, **values}


def _key(item: Any) -> str:
    return repr(sorted(item.items()) if isinstance(item, dict) else item)


def _twice(items: Sequence[Any]) -> bool:
    return len({_key(item) for item in items}) < len(items)


def _once(side: Sequence[Any], field: str) -> list[Any]:
    return [
        _with(one, **{field: list({_key(item): item for item in _field(one, field) or ()}.values())}) for one in side
    ]


def _moved(side: Sequence[Any], by: int) -> list[Any]:
    """Spans that end so many characters later."""

    def later(item: Any) -> Any:
        if isinstance(item, dict):
            return item if item.get("end") is None else {**item, "end": item["end"] + by}
        if hasattr(item, "_replace"):
            return item if item.start < 0 else item._replace(end=item.end + by)
        return (item[0], item[1] + by, *item[2:])

    return [_with(one, entities=[later(item) for item in _field(one, "entities") or ()]) for one in side]
