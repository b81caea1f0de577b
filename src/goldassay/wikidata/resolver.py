"""Which item a name means: by id, article title, redirect, label or alias, exact or similar, and by its kind.

Names compare after NFKC, case folding and removal of punctuation; similar names have a rapidfuzz ratio of at least
``threshold`` and the same numbers. Ids compare with ids only. If several items have the name, the expected kind (the
class P31, followed upwards) decides; if it does not, nothing is guessed. Every answer gives its method, its confidence
and a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rapidfuzz import fuzz, process

from goldassay import files
from goldassay.measures.triples import objects
from goldassay.text.normal import normal, numbers

CLASS_TREE = Path(__file__).resolve().parents[1] / "data" / "class-tree.yaml"


@cache
def _class_tree() -> dict[str, Any]:
    tree: dict[str, Any] = files.yaml_value(CLASS_TREE)
    return tree


def kinds_of(types: Iterable[str], domain: str | None = None) -> frozenset[str]:
    """What kinds of thing an item is, by its classes (P31) followed upwards (P279) to a few broad kinds.

    An item without any is of the kind of the benchmark's domain.

    >>> kinds_of(["Q515"]), kinds_of([], "biography_living")
    (frozenset({'place'}), frozenset({'person'}))
    """
    tree = _class_tree()
    seen, queue = set(types), list(types)
    while queue:
        above = [name for name in tree["parents"].get(queue.pop(), ()) if name not in seen]
        seen.update(above)
        queue += above
    kinds = frozenset(tree["kinds"][name] for name in seen & tree["kinds"].keys())
    return kinds or frozenset([tree["domains"][domain]] if domain in tree["domains"] else [])


CONFIDENCE = {"id": 1.0, "sitelink": 1.0, "redirect": 0.98, "label": 0.95, "alias": 0.9, "fuzzy": 0.9, "context": 0.8}
TIE = 2.0
"""Similar names whose ratios (0–100) differ by less are equally good."""
THRESHOLD = 90.0  # from which ratio (0–100) names are similar
QUALIFIED = re.compile(r"(.+?)\s*\(([^()]+)\)\s*$")


class Resolution(NamedTuple):
    """The item that a name means, or None; how it was resolved, how surely, and why."""

    id: str | None
    kind: str
    confidence: float
    reason: str


class EntityResolver:
    """Resolves names against candidates.

    Args:
        names: The names of each item that a name may mean, by its id: its label first, then its aliases.
        types: Their classes (P31).
        titles: Article titles of items.
        redirects: From an id or a title to another.

    >>> names = {"Q7186": ["Marie Curie", "Maria Skłodowska"]}
    >>> resolver = EntityResolver(names, titles={"Marie Curie": "Q7186"}, redirects={"Madame Curie": "Marie Curie"})
    >>> [resolver.resolve(name).kind for name in ("ex:Marie_Curie", "Madame Curie", "MARIA SKŁODOWSKA", "Paris")]
    ['sitelink', 'redirect', 'alias', 'none']
    """

    def __init__(
        self,
        names: Mapping[str, Iterable[str]],
        types: Mapping[str, Iterable[str]] | None = None,
        *,
        titles: Mapping[str, str] | None = None,
        redirects: Mapping[str, str] | None = None,
    ) -> None:
        self.types = types or {}
        self.redirects = {_key(name): target for name, target in (redirects or {}).items()}
        self.titles = {normal(title): qid for title, qid in (titles or {}).items()}
        self._by_name: dict[str, dict[str, str]] = {}  # folded name -> id -> label or alias
        for qid, several in names.items():
            for index, name in enumerate(several):
                self._by_name.setdefault(normal(name), {}).setdefault(qid, "alias" if index else "label")

    def resolve(self, name: object, kinds: Iterable[str] = ()) -> Resolution:
        """The item that ``name`` means; ``kinds`` (person, place, …) are the expected ones."""
        item = objects.item(name)
        text = item.id if item and item.id else objects.label(objects.written(name).strip())
        folded, target = normal(text), self._follow(text)
        if not folded:
            return Resolution(None, "none", 0.0, "the name is empty")
        if folded in self.titles:
            return _resolution(self._follow(self.titles[folded]), "sitelink", f"{text!r} is the title of its article")
        qid = target if objects.QID.fullmatch(target) else self.titles.get(normal(target))
        if qid and target == text:
            return _resolution(qid, "id", f"the id {qid} itself")
        if qid:
            return _resolution(qid, "redirect", f"{text!r} redirects to {target!r}")
        named = self._by_name.get(folded)
        if named is None and (qualified := QUALIFIED.fullmatch(text)):
            named = self._by_name.get(normal(qualified[1]))  # "Drake (musician)" means an item labelled "Drake"
        return self._choose(named, text, frozenset(kinds)) if named else self._similar(folded, text, frozenset(kinds))

    def _similar(self, folded: str, text: str, expected: frozenset[str]) -> Resolution:
        """The items with names similar to this one that have the same numbers in them."""
        hits = process.extract(folded, list(self._by_name), scorer=fuzz.ratio, score_cutoff=THRESHOLD, limit=8)
        hits = [hit for hit in hits if numbers(hit[0]) == numbers(folded)]
        if not hits:
            return Resolution(None, "none", 0.0, f"no label or alias is similar to {text!r}")
        best = hits[0][1]
        named = {qid: "fuzzy" for name, score, _ in hits if score >= best - TIE for qid in self._by_name[name]}
        return self._choose(named, text, expected, best / 100)

    def _choose(
        self, named: Mapping[str, str], text: str, expected: frozenset[str], similarity: float = 1.0
    ) -> Resolution:
        """Of the items with a name, the only one, the only one of an expected kind, or the only one labelled so."""
        qids = sorted({self._follow(qid) for qid in named})
        if len(qids) == 1:
            kind = named.get(qids[0]) or next(iter(named.values()))
            return _resolution(qids[0], kind, f"{text!r} is its {kind} (similarity {similarity:.2f})", similarity)
        fitting = [qid for qid in qids if expected & kinds_of(self.types.get(qid, ()))]
        labelled = [qid for qid in qids if named.get(qid) == "label"]
        if len(fitting) == 1:
            reason = f"of those named {text!r} only it is a {' or '.join(sorted(expected))}"
            return _resolution(fitting[0], "context", reason, similarity)
        if len(labelled) == 1:
            return Resolution(labelled[0], "label", CONFIDENCE["context"], "its label, and only an alias of others")
        return Resolution(None, "ambiguous", 0.0, f"{text!r} may be {', '.join(qids)}")

    def _follow(self, name: str) -> str:
        """The end of a chain of redirects; a circle ends where it began."""
        seen = {_key(name)}
        while (target := self.redirects.get(_key(name))) is not None and _key(target) not in seen:
            seen.add(_key(target))
            name = target
        return name


def _resolution(qid: str, kind: str, reason: str, similarity: float = 1.0) -> Resolution:
    return Resolution(qid, kind, round(CONFIDENCE[kind] * similarity, 4), reason)


def _key(name: str) -> str:
    return name if objects.QID.fullmatch(name) else normal(name)
