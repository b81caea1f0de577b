"""The measures of linking: ranks (hits@k, MRR), NIL, and links: a mention together with its id.

The key of a mention is (document, start, end). Ranks have one denominator, every gold mention that counts (``over``:
``all``, ``inkb`` or ``nil``); a mention without an answer has rank 0, and a NIL mention is right at rank 1 if the
answer is NIL. Links match by overlap (HIPE fuzzy) or on the same span (HIPE strict), one-to-one with the most pairs, or
in the order in which the official HIPE scorer takes answers (``matching="hipe"``).

``equivalent`` holds pairs of ids that mean the same (redirects). ``bounds="word"`` first widens the spans of both sides
to whole words, as ELEVANT does; its optional and child labels are a link's ``optional`` and ``parent``.

P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from hashlib import sha256
from typing import ClassVar

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import NO_EVIDENCE, Conventions, Names, Review
from goldassay.core.tally import RATE_TALLIES, Counts, Mean, T
from goldassay.measures import Examples, TaskMeasure
from goldassay.measures.linking.matching import LINK_MATCHINGS, OVER, Matching
from goldassay.measures.linking.records import IdPairs, sides

KEY = "document, start, end"
MERGED = "one answer with the candidates of all"
MentionBatch = list[Matching]
LINK_NAMES = {
    "overlap": "link",
    "span": "strong_link",
    "entity": "entity_link",
    "mention": "strong_mention",
}  # by match


@dataclass(frozen=True)
class LinkMeasure(TaskMeasure[T, MentionBatch]):
    """A measure over the mentions and answers of a document.

    Source: Ehrmann et al. 2022 (HIPE: fuzzy, strict, @k); Hachey et al. 2014 (neleval)
    """

    task = "linking"
    shares = ("equivalent", "bounds", "typed")
    # of a measure without such a field: all mentions count, by overlap, document by document, without types
    over = "all"
    match = "overlap"
    scope = "document"
    rate = "f1"
    k = 1
    typed = False
    linked = False
    choices = {
        "bounds": ("given", "word"),
        "over": OVER,
        "match": tuple(LINK_NAMES),
        "matching": LINK_MATCHINGS,
        "rate": tuple(RATE_TALLIES),
    }

    _: KW_ONLY
    equivalent: IdPairs = ()
    bounds: str = "given"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.k, int) or self.k < 1:
            raise GoldassayError(f"k is a whole number from 1, not {self.k!r}")

    @property
    def counted(self) -> str:
        """No counts, but for those of links."""
        return ""

    def batch(self, gold: Examples, pred: Examples) -> MentionBatch:
        """Every document, read and matched once."""
        pairs = zip(gold, pred, strict=True)
        return [Matching(sides(*pair, self.equivalent, self.bounds, typed=self.typed)) for pair in pairs]

    def reviews(self, batch: MentionBatch) -> list[Review]:
        """The errors of each document."""
        return [matching.review for matching in batch]

    @property
    def key(self) -> str:
        """The name, with what the measure is over."""
        return self.named(self.name)

    def named(self, name: str) -> str:
        """A name whose ``{parts}`` say what the fields are."""
        typed = "typed_" if self.typed else ""
        linked = "linked_" if self.linked else ""
        parts = {
            "among": "" if self.over == "all" else f"_{self.over}",
            "at": f"@{self.k}" if self.k > 1 else "",
            "start": f"{typed}{linked}{'corpus_' if self.scope == 'corpus' else ''}",
            "noun": LINK_NAMES[self.match],
        }
        return name.format_map({**vars(self), **parts})

    @property
    def chosen(self) -> Mapping[str, object]:
        """For a table of ids, its number of pairs and a hash of them."""
        values = {name: value for name, value in super().chosen.items() if name != "equivalent"}
        if self.equivalent:
            digest = sha256(repr(self.equivalent).encode()).hexdigest()[:8]
            values["equivalent"] = f"{len(self.equivalent)} pairs #{digest}"
        return values


@dataclass(frozen=True)
class _Ranked(LinkMeasure[Mean]):
    """A mean over the gold mentions that count."""

    fixed: ClassVar[Conventions] = {
        "key": KEY,
        "denominator": "every gold mention",
        "NIL": "right at 1 if answered NIL",
        "order": "by score if all candidates have one, else as given",
        "repeated": MERGED,
    }

    @abstractmethod
    def gain(self, matching: Matching, mention: int) -> float:
        """The amount that a mention adds."""

    def tally(self, matching: Matching) -> Mean:
        """The mentions of one document."""
        mentions = matching.roots(self.over)
        return Mean(sum((float(self.gain(matching, i)) for i in mentions), 0.0), len(mentions))


@dataclass(frozen=True)
class HitsAt(_Ranked):
    """The share of gold mentions with the right id among the first ``k`` candidates.

    Formula: mentions with rank ≤ k / gold mentions

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}, {"start": 9, "end": 12, "ids": {}}]
    >>> HitsAt(1)(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally.value
    0.0
    >>> HitsAt(5)(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally
    Mean(total=1.0, weight=2.0)
    """

    k: int = 1
    over: str = "all"
    name = "hits@{k}{among}"

    def gain(self, matching: Matching, mention: int) -> float:
        return 0 < matching.ranks[mention] <= self.k


@dataclass(frozen=True)
class MRR(_Ranked):
    """The mean over gold mentions of 1 / rank of the right candidate; 0 if it is not listed.

    Formula: mean over gold mentions of 1 / rank

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q90"]}}]
    >>> MRR()(gold, [{"start": 0, "end": 5, "candidates": ["Q1", "Q90"]}]).tally.value
    0.5
    """

    over: str = "all"
    name = "mrr{among}"

    def gain(self, matching: Matching, mention: int) -> float:
        rank = matching.ranks[mention]
        return 1 / rank if rank else 0.0


@dataclass(frozen=True)
class Coverage(_Ranked):
    """The share of gold mentions that have any answer, even NIL; to be read with hits and MRR.

    Formula: answered gold mentions / gold mentions

    >>> Coverage()([{"start": 0, "end": 5, "ids": {}}], []).tally
    Mean(total=0.0, weight=1.0)
    """

    over: str = "all"
    name = "coverage{among}"
    fixed: ClassVar[Conventions] = {"key": KEY, "repeated": MERGED}

    def gain(self, matching: Matching, mention: int) -> float:
        return mention in matching.answered


@dataclass(frozen=True)
class _Counted(LinkMeasure[Counts]):
    """Precision, recall or F1 of counts; ``rate`` says which."""

    @property
    def zero(self) -> Counts:
        """No evidence."""
        return RATE_TALLIES[self.rate]()


@dataclass(frozen=True)
class NILF1(_Counted):
    """F1 (or ``rate`` precision, recall) of finding the mentions that are in no knowledge base.

    Formula: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn)

    >>> NILF1()([{"start": 0, "end": 5, "ids": {}}], [{"start": 0, "end": 5, "candidates": ["Q1"]}]).tally
    Counts(tp=0.0, fp=0.0, fn=1.0)
    >>> NILF1("precision").key, NILF1("recall")([{"start": 0, "end": 5, "ids": {}}], []).tally.value
    ('nil_precision', 0.0)
    """

    name = "nil_{rate}"
    rate: str = "f1"
    counted: ClassVar[str] = "nil"
    in_key: ClassVar[Names] = ("rate",)
    fixed: ClassVar[Conventions] = {"key": KEY, "average": "micro", "repeated": MERGED, "empty": NO_EVIDENCE}

    def tally(self, matching: Matching) -> Counts:
        """Answered NIL and NIL; answered NIL and not (or no mention); NIL and not answered NIL."""
        hits = sum(matching.gold[i].nil and matching.pred[j].nil for i, j in matching.answered.items())
        answers = sum(answer.nil for answer in matching.pred)
        mentions = sum(mention.nil for mention in matching.gold)
        return type(self.zero)(hits, answers - hits, mentions - hits)


@dataclass(frozen=True)
class LinkF1(_Counted):
    """F1 (or ``rate`` precision, recall) of links, a mention with the right id among the first ``k`` candidates.

    ``match="overlap"``: the mentions overlap (HIPE fuzzy); ``"span"``: they have the same span (HIPE strict);
    ``"entity"``: the document has the id, wherever (TAC); ``"mention"``: the same span, whatever the id (TAC).
    ``typed``: the types of the links are the same, too.

    Formula: P = tp / (tp + fp), R = tp / (tp + fn), F1 = 2 tp / (2 tp + fp + fn)

    >>> gold = [{"start": 0, "end": 5, "ids": {"wikidata": ["Q1"]}}]
    >>> LinkF1()(gold, [{"start": 2, "end": 9, "candidates": ["Q1"]}]).tally
    Counts(tp=1.0, fp=0.0, fn=0.0)
    >>> LinkF1(match="span")(gold, [{"start": 2, "end": 9, "candidates": ["Q1"]}]).tally
    Counts(tp=0.0, fp=1.0, fn=1.0)
    >>> LinkF1(5, "inkb", match="span", rate="recall").key
    'strong_link_inkb_recall@5'
    """

    k: int = 1
    over: str = "all"
    matching: str = "one-to-one"
    _: KW_ONLY
    match: str = "overlap"
    rate: str = "f1"
    typed: bool = False
    name = "{start}{noun}{among}_{rate}{at}"
    in_key: ClassVar[Names] = ("match", "rate", "typed")

    @property
    def counted(self) -> str:
        """``link``, ``strong_link@3`` and so on."""
        return self.named(self.name.replace("_{rate}", ""))

    @property
    def fixed(self) -> Conventions:
        """How a pair matches."""
        compared = "span" if self.match == "mention" else f"{self.match}+id"
        return {"match": compared, "average": "micro", "repeated": MERGED, "empty": NO_EVIDENCE}

    def tally(self, matching: Matching) -> Counts:
        """The counts of one document."""
        counts = matching.counts(self.match, self.k, self.over, self.matching)
        return self.zero.from_state(counts.state())


@dataclass(frozen=True)
class MacroDocLink(LinkMeasure[Mean]):
    """The mean over documents of the precision, recall or F1 of their links, by overlap or on the span.

    A document that is empty on both sides counts 1 (GERBIL). With ``matching="hipe"`` documents without answers leave
    precision and F1, and documents without mentions leave recall and F1.

    Formula: mean over documents of precision, recall or F1
    Source: Röder et al. 2018 (GERBIL); Ehrmann et al. 2022 (HIPE)

    >>> MacroDocLink()([], []).tally, MacroDocLink(matching="hipe")([], []).tally
    (Mean(total=1.0, weight=1.0), Mean(total=0.0, weight=0.0))
    """

    rate: str = "f1"
    match: str = "overlap"
    matching: str = "one-to-one"
    name = "macro_doc_{noun}_{rate}"

    @property
    def fixed(self) -> Conventions:
        """The protocol says what an empty document counts."""
        empty = "left out" if self.matching == "hipe" else "1"
        return {"average": "macro by document", "repeated": MERGED, "empty document": empty, "failed": "0"}

    def tally(self, matching: Matching) -> Mean:
        """The rate of one document."""
        counts = matching.counts(self.match, 1, "all", self.matching)
        mentions = counts.support > 0
        answers = counts.predicted > 0 or (matching.document.failed and mentions)  # a failure is not left empty
        applies = {"precision": answers, "recall": mentions, "f1": answers and mentions}[self.rate]
        if self.matching == "hipe" and not applies:
            return Mean()
        return Mean.of(float(getattr(counts, self.rate)) if counts.weight else 1.0)
