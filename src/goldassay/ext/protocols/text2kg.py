"""Text to graph as its official scripts count it: Text2KGBench and WebNLG.

Text2KGBench, per sentence, for numbers that compare with the published ones. Predictions whose relation is not
among gold's relations of the sentence are left out; what remains and gold are compared as sets of strings (parts
joined, without spaces and underscores, in lower case). Without predictions precision, recall and F1 are 0. Conformance
and hallucination look at all predictions: a relation is conformant if the ontology has it, a subject or object is
hallucinated if its stemmed words are not in the stemmed sentence followed by the ontology's concepts. An output
without predictions has conformance 1 and hallucination 0; a sentence without any output adds 0 to every sum. The
averages are over all gold sentences.

WebNLG's four matchings of triples: ``ent_type``, ``partial``, ``strict`` and ``exact``. Each part of a predicted triple
is laid on the same part of a gold one: the longest common runs of words first. Runs, and the words between them that
gold lacks, are spans, which are counted as in SemEval'13. Parts that have no word in common are tried in exchanged
places. A text's triples are paired so that the mean F1 of the four is highest; values are means over pairs. This
follows the official script to its oddities: a run that is followed by missing words counts once for each of them, and
spans overlap if they share a word other than their last (as in nervaluate 0.1.7, which the script pins). The "Full
triple scores" compare triples as written: each is a class, and the values are means over the classes.

Source: Mihindukulasooriya et al., Text2KGBench, ISWC 2023, and https://github.com/cenguix/Text2KGBench (run_eval.py);
Castro Ferreira et al., WebNLG 2020, and https://github.com/WebNLG/WebNLG-Text-to-triples (Evaluation_script.py)
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache, partial
from itertools import permutations
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.evidence import Floats
from goldassay.core.fields import read
from goldassay.core.measure import NO_EVIDENCE, Batches, Conventions, Names, failed
from goldassay.core.tally import Counts, Macro, Mean, divide, harmonic
from goldassay.measures import Examples
from goldassay.measures.protocols import Protocol
from goldassay.measures.triples.measures import TripleMeasure
from goldassay.measures.triples.objects import written
from goldassay.measures.triples.records import as_written, listed
from goldassay.measures.triples.scorecard import OntologyContent
from goldassay.results.result import RATE_NAMES, Result, Sections, by_example, fold

PARTS = ("subject", "predicate", "object")
SPACING = re.compile(r"_|\s+")
ABBREVIATIONS = """adm ala ariz aug ave bros calif chg cie co col colo conn corp cos ct dec dr feb fla fri ft ga gen
ill inc jan jr kan ky lt ltd maj messrs mg mich minn mr mrs ms nev nov oct ok okla ore pa prof rep
reps sen sep sept sr st sw tenn tues va vs vt wash wed wis yr a.a a.c a.d a.g a.h a.m a.m.e a.s a.t
b.f b.v c c.i.t c.o.m.b c.v d d.c d.h d.w e e.f e.h e.l e.m f f.g f.j g g.d g.f g.k h h.c h.f h.m
i.m.s j.b j.c j.j j.k j.p j.r k l l.a l.f l.p m m.b.a m.d.c m.j n n.c n.d n.h n.j n.m n.v n.y p
p.a.m p.m ph.d r r.a r.h r.i r.j r.k r.t s s.a s.a.y s.c s.g s.p.a s.s t t.j u.k u.n u.s u.s.a
u.s.s.r v w w.c w.r w.va w.w"""
"""Punkt's English abbreviations: they end no sentence, but before `STARTERS`."""
STARTERS = """according although among both but despite even he however i if in indeed instead it many meanwhile
moreover most nevertheless nonetheless nor sales separately similarly since so some the there these
they this though thus under when while yet"""
"""The words that begin a sentence where they follow an abbreviation with a capital."""


class Ontology(NamedTuple):
    """The relations (spaces as underscores) and the concepts of an ontology file; written as a tuple, to be parsed."""

    relations: Names = ()
    concepts: str = ""

    def __repr__(self) -> str:
        return tuple.__repr__(self)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Ontology:
        """From the content of an ontology file of the benchmark.

        Raises:
            DataError: it lacks the concepts or the relations.
        """
        try:
            relations = [str(row["label"]) for row in content["relations"]]
            concepts = [str(row["label"]) for row in content["concepts"]]
        except (KeyError, TypeError):
            raise DataError("an ontology has 'concepts' and 'relations', each a list with a 'label'") from None
        return cls(tuple(relation.replace(" ", "_") for relation in relations), " ".join(concepts))


NO_ONTOLOGY = Ontology()
Numbers = list[dict[str, float]]
"""The numbers of each sentence by name, which `Official.tally` gets."""
VALUES = (
    "precision",
    "recall",
    "f1",
    "ontology_conformance",
    "subject_hallucination",
    "relation_hallucination",
    "object_hallucination",
)


def sentence(gold: object, pred: object, ontology: Ontology) -> dict[str, float]:
    """The protocol on one sentence; all numbers are 0 if the system has no output for it.

    >>> ontology = Ontology.of({"relations": [{"label": "author"}], "concepts": [{"label": "book"}]})
    >>> gold = {"text": "Inkspell is a novel by Cornelia Funke.",
    ...         "triples": [{"subject": "Inkspell", "predicate": "author", "object": "Cornelia Funke"}]}
    >>> more = {"subject": "Inkspell", "predicate": "genre", "object": "drama"}
    >>> list(sentence(gold, {"triples": [*gold["triples"], more]}, ontology).values())
    [1.0, 1.0, 1.0, 0.5, 0.0, 0.5, 0.5]
    """
    if failed(pred):
        return dict.fromkeys(VALUES, 0.0)
    expected = [*map(_written, listed(read(gold, "triples", None)))]
    predicted = [*map(_written, listed(read(pred, "triples", None)))]
    relations = {relation.replace(" ", "_") for _, relation, _ in expected}
    right = {_joined(triple) for triple in expected}
    keys = {_joined(triple) for triple in predicted if triple[1] in relations}
    hits = len(right & keys)
    precision = divide(hits, len(keys))
    recall = divide(hits, len(right))
    f1 = harmonic(precision, recall)
    text = _stemmed(f"{read(gold, 'text', '') or ''}{ontology.concepts}")
    size = len(predicted)
    conformant = divide(sum(relation in ontology.relations for _, relation, _ in predicted), size, empty=1.0)
    subjects, objects = [
        divide(sum(_stemmed(triple[part]).replace("01januari", "") not in text for triple in predicted), size)
        for part in (0, 2)
    ]
    values = (precision, recall, f1, conformant, subjects, 1.0 - conformant, objects)
    return dict(zip(VALUES, map(float, values), strict=True))


@dataclass(frozen=True)
class Official(TripleMeasure[Mean, Numbers]):
    """One of the benchmark's numbers: its mean over sentences.

    Source: Text2KGBench (ISWC 2023), run_eval.py

    Formula: mean over sentences of precision (statements in gold / predictions whose relation gold has in this
        sentence; 0 without predictions), recall (gold statements predicted / gold statements), their harmonic
        mean, ontology conformance (predictions whose relation the ontology has / predictions; 1 without
        predictions), and hallucination of subjects, relations and objects (predictions whose stemmed part is
        not in the sentence or a concept / predictions; 1 − ontology conformance)

    >>> gold = {"text": "", "triples": []}
    >>> Official("ontology_conformance")(gold, {"triples": []}).tally.value, Official()(gold, None).tally.value
    (1.0, 0.0)
    """

    name = "text2kgbench_{value}"
    shares = ("ontology",)
    counted: ClassVar[str] = ""
    attains_one: ClassVar[bool] = False  # a sentence without statements is 0
    choices = {"value": VALUES}

    value: str = "f1"
    ontology: Ontology = NO_ONTOLOGY

    @property
    def lower_is_better(self) -> bool:
        """Whether it counts hallucinations."""
        return self.value.endswith("hallucination")

    @property
    def conventions(self) -> str:
        """The protocol says the rest."""
        return f"{self.key}[protocol=text2kgbench, average=sentences, empty=0]"

    def batch(self, gold: Examples, pred: Examples) -> Numbers:
        """The numbers of all sentences."""
        ontology = Ontology(*self.ontology)
        return [sentence(*pair, ontology) for pair in zip(gold, pred, strict=True)]

    def tally(self, numbers: dict[str, float]) -> Mean:
        """The value of one sentence."""
        return Mean.of(numbers[self.value])


def _scorecard(shared: Batches, *, ontology: OntologyContent | None = None) -> Result:
    """The means over all sentences, and the numbers of each sentence.

    Raises:
        GoldassayError: there is no ontology.
    """
    if ontology is None:
        raise GoldassayError("the protocol text2kgbench needs the benchmark's ontology file: ontology=FILE")
    read_ontology = Ontology.of(ontology if isinstance(ontology, Mapping) else {})
    measures = {name: Official(name, read_ontology) for name in VALUES}
    return fold("triples", measures, shared, sections=Sections(by={"sentence": by_example}))


TEXT2KGBENCH = Protocol("text2kgbench", ("triples",), _scorecard, options=("ontology",))


def _written(triple: object) -> list[str]:
    return [written(read(triple, field)) for field in PARTS]


def _joined(triple: Iterable[str]) -> str:
    return "".join(SPACING.sub("", value).lower() for value in triple)


@cache
def _nltk() -> tuple[Any, ...]:
    """Tokenizers of sentences, of words and of WebNLG's words, stemmers of words and of names.

    NLTK takes a second to import.
    """
    import nltk.tokenize.punkt

    punkt = nltk.tokenize.punkt.PunktParameters()
    # WebNLG pins NLTK 3.4.5, whose words are the Treebank's with the rules for quotes and the last full stop.
    newer = nltk.NLTKWordTokenizer()
    pinned = nltk.TreebankWordTokenizer()
    single = re.compile(r"(?i)'(?!re|ve|ll|m|t|s|d)(\w)\b"), r"' \1"
    double = [(re.compile('"'), " '' "), (re.compile(r"(\S)''"), r"\1 '' ")]
    pinned.STARTING_QUOTES = [newer.STARTING_QUOTES[0], *pinned.STARTING_QUOTES, single]
    pinned.ENDING_QUOTES = [newer.ENDING_QUOTES[0], *double, *pinned.ENDING_QUOTES[2:]]
    pinned.PUNCTUATION = [newer.PUNCTUATION[0], *pinned.PUNCTUATION]
    names = nltk.PorterStemmer()
    punkt.abbrev_types = set(ABBREVIATIONS.split())
    punkt.sent_starters = set(STARTERS.split())
    names.pool = {}  # the NLTK of the published numbers has exceptions for "sky" and "news", not for "Sky"
    return nltk.PunktSentenceTokenizer(punkt), newer, pinned, nltk.PorterStemmer(), names


@lru_cache(maxsize=65536)
def words(text: str, webnlg: bool = False) -> tuple[str, ...]:
    """The words of a text as NLTK cuts it, sentence by sentence: the last full stop of each is not a part of a word."""
    sentences, newer, pinned, *_ = _nltk()
    tokenizer = pinned if webnlg else newer
    return tuple(word for sentence in sentences.tokenize(text) for word in tokenizer.tokenize(sentence))


@lru_cache(maxsize=65536)
def _stemmed(text: str) -> str:
    """Stemmed words without spaces."""
    *_, stemmer, names = _nltk()
    return SPACING.sub("", "".join((stemmer if word.islower() else names).stem(word) for word in words(text))).lower()


MATCHINGS = ("ent_type", "partial", "strict", "exact")
WHOLE_AND_PARTS = ("triple", *PARTS)
SWAPS = ((0, 2), (0, 1), (1, 2))  # parts whose places are exchanged, in the order in which that is tried
PERMUTED = 7  # as many triples are paired by trying every order, of equals the first
MARK = f"[{re.escape(string.punctuation)}]"
SIGNS = (f"{MARK}+", MARK)  # signs of several characters stay on the candidate's side
ANY_SIGN = (f".*{MARK}.*",) * 2
Parts = tuple[str, ...]
Totals = list[list[float]]
"""The number of pairs of each example, and the sums of all values over them, which `WebNLG.tally` gets."""
Span = tuple[int, int, int]  # the part of the triple, first word, last word


class Laid(NamedTuple):
    """Two texts laid on each other: their spans, how many places they take, whether they share a word."""

    gold: list[tuple[int, int]]
    pred: list[tuple[int, int]]
    width: int
    shared: bool


@dataclass(frozen=True)
class WebNLG(TripleMeasure[Mean, Totals]):
    """Precision, recall or F1 of paired triples in one of WebNLG's matchings.

    Formula: mean over pairs of triples of SemEval'13's precision, recall or F1
    Source: Castro Ferreira et al., WebNLG 2020 (Evaluation_script.py)

    Args:
        matching: ``strict`` (words and place), ``exact`` (words, any place), ``partial`` (some words, any place, half),
            ``ent_type`` (some words, same place).
        rate: ``f1``, ``precision`` or ``recall``.
        part: Of whole triples, or of gold's ``subject``, ``predicate`` or ``object``; predicted words that gold has in
            no place count for each of the three, as in nervaluate 0.1.7.

    >>> gold = {"triples": [{"subject": "Jane_Austen", "predicate": "notableWork", "object": "Emma"}]}
    >>> pred = {"triples": [{"subject": "Austen", "predicate": "notable work", "object": "Emma"}]}
    >>> [round(WebNLG(matching)(gold, pred).tally.value, 3) for matching in MATCHINGS]
    [0.667, 0.667, 0.667, 0.667]
    """

    fixed: ClassVar[Conventions] = {
        "words": "as NLTK 3.4.5 (U+2012 to U+2015 and * do not separate)",
        "pairs": "best mean F1 of the four",
        "average": "pairs",
        "empty": NO_EVIDENCE,
    }
    in_key: ClassVar[Names] = ("matching", "rate", "part")
    choices = {"matching": MATCHINGS, "rate": RATE_NAMES, "part": WHOLE_AND_PARTS}

    matching: str = "strict"
    rate: str = "f1"
    part: str = "triple"

    @property
    def official(self) -> str:
        """``strict_f1``, ``subject_strict_f1`` and so on."""
        return f"{self.part}_{self.matching}_{self.rate}".removeprefix("triple_")

    @property
    def key(self) -> str:
        """``webnlg_strict_f1``, ``webnlg_subject_strict_f1`` and so on."""
        return f"webnlg_{self.official}"

    def batch(self, gold: Examples, pred: Examples) -> Totals:
        """The best pairs of each example."""
        totals: Totals = []
        for pair in zip(gold, pred, strict=True):
            triples = as_written(*pair)
            size = max(map(len, triples))
            references, candidates = [[*map(_normal, side), *[("", "", "")] * (size - len(side))] for side in triples]
            rates = [[_rates(reference, candidate) for reference in references] for candidate in candidates]
            f1 = np.array([[fmean(cell[2:12:3]) for cell in row] for row in rates], float)
            best = (row[column] for row, column in zip(rates, _best(f1), strict=True))
            totals.append([size, *sum(best, np.zeros(len(PAIRED)))])
        return totals

    def tally(self, sums: list[float]) -> Mean:
        """The sum and the number of one example."""
        return Mean(sums[1 + [*PAIRED].index(self.official)], sums[0])


@dataclass(frozen=True)
class FullTriples(TripleMeasure[Macro, Examples]):
    """WebNLG's "Full triple scores": every triple, as written in lower case, is a class; the mean over the classes.

    A triple counts once a text. A rate without evidence is 0, as in scikit-learn.

    Formula: mean over the triples of gold and predictions of their precision, recall or F1 over the texts
    Source: Castro Ferreira et al., WebNLG 2020 (Evaluation_script.py, calculateExactTripleScore)

    >>> gold = {"triples": [{"subject": "Emma", "predicate": "author", "object": name} for name in ("Austen", "Jane")]}
    >>> pred = {"triples": [{"subject": "emma", "predicate": "author", "object": "Austen"}]}
    >>> [FullTriples(rate)(gold, pred).tally.value for rate in RATE_NAMES]      # one triple of two
    [0.5, 0.5, 0.5]
    """

    name = "full_triple_{rate}"
    fixed: ClassVar[Conventions] = {
        "match": "as written, in lower case",
        "repeated": "once",
        "average": "macro over the triples seen",
        "empty": NO_EVIDENCE,
    }
    choices = {"rate": RATE_NAMES}

    rate: str = "f1"

    @property
    def zero(self) -> Macro:
        """No evidence."""
        return Macro(rate=self.rate, share="seen")

    def batch(self, gold: Examples, pred: Examples) -> Examples:
        """The triples of both sides of each example."""
        return [as_written(*pair) for pair in zip(gold, pred, strict=True)]

    def tally(self, expected: Examples, predicted: Examples) -> Macro:
        """The counts of each triple of one example."""
        gold, pred = [{" | ".join(_written(triple)).lower() for triple in side} for side in (expected, predicted)]
        counts = {
            triple: Counts(triple in gold & pred, triple in pred - gold, triple in gold - pred)
            for triple in gold | pred
        }
        return Macro(counts, self.rate, "seen")


PAIRED = {
    measure.official: measure
    for measure in (WebNLG(m, rate, part) for part in WHOLE_AND_PARTS for m in MATCHINGS for rate in RATE_NAMES)
}
OFFICIAL: dict[str, TripleMeasure] = {
    **PAIRED,
    **{f"full_triple_{rate}": FullTriples(rate) for rate in RATE_NAMES},
}
"""The values that the evaluation script prints, by name."""
WEBNLG = Protocol("webnlg", ("triples",), partial(fold, "triples", OFFICIAL), format="webnlg")
MEASURES = (*map(WebNLG, MATCHINGS), FullTriples(), Official())


def _best(scores: Floats) -> Sequence[int]:
    """The column of each row with the highest sum."""
    if len(scores) > PERMUTED:
        return scipy.optimize.linear_sum_assignment(scores, maximize=True)[1].tolist()  # type: ignore[no-any-return]
    orders = np.array([*permutations(range(len(scores)))], int)
    totals = sum(row[orders[:, at]] for at, row in enumerate(scores))
    return orders[np.argmax(totals)].tolist()  # type: ignore[no-any-return]


def _normal(triple: object) -> Parts:
    """Words apart at capitals and underscores, in lower case; an object loses a last note in parentheses."""
    parts = [re.sub(r"([a-z])([A-Z])", r"\1 \2", text) for text in _written(triple)]
    *heads, value = [re.sub(r"[_\s]+", " ", text).lower() for text in parts]
    return *heads, re.sub(r"^(.*?)\s\(.*?\)$", r"\1", value)


@lru_cache(maxsize=65536)
def _rates(reference: Parts, candidate: Parts) -> Floats:
    """Precision, recall and F1 of a pair in each matching, in the order of `PAIRED`."""
    places = [0, 1, 2]
    laid = [_laid(*pair) for pair in zip(reference, candidate, strict=True)]
    starts = [0, laid[0].width, laid[0].width + laid[1].width]
    for left, right in SWAPS:
        if laid[left].shared or laid[right].shared:
            continue
        swapped = [_laid(reference[a], candidate[b], ANY_SIGN) for a, b in ((left, right), (right, left))]
        if swapped[0].shared or swapped[1].shared:
            places[left] = right
            places[right] = left
            laid[left], laid[right] = swapped
            starts[1] = laid[0].width
            if right == 2:  # sic: where subject and object are exchanged, the predicate keeps its old width
                starts[2] = starts[1] + laid[1].width
            if (left, right) == (0, 2):  # sic: the script lays the object's words for the predicate
                laid[1] = _laid(reference[right], candidate[left], ANY_SIGN, linked=False)
            break
    parts = list(zip(laid, places, starts, strict=True))
    gold = [(n, start + a, start + b) for n, (overlay, _, start) in enumerate(parts) for a, b in overlay.gold]
    pred = [(place, start + a, start + b) for overlay, place, start in parts for a, b in overlay.pred]
    # SemEval'13: each predicted span against the same, else the first that it overlaps
    near: list[Span | None] = []
    for span in pred:
        _, first, last = span
        met = (g for g in gold if g[1:] == (first, last) or max(first, g[1]) < min(last, g[2]))
        near.append(span if span in gold else next(met, None))
    missed = {*gold} - {*near}
    rates = []
    for counted in ({0, 1, 2}, {0}, {1}, {2}):  # sic: what meets no span of gold counts for every part
        pairs = [(span, g) for span, g in zip(pred, near, strict=True) if not g or g[0] in counted]
        hits = [(span[0] == g[0], span[1:] == g[1:]) for span, g in pairs if g]
        points = [(typed, (1 + exact) / 2, typed and exact, exact) for typed, exact in hits]
        credit = np.array(points, float).reshape(-1, len(MATCHINGS)).sum(axis=0)
        precision = credit / max(len(pairs), 1)
        recall = credit / max(len(hits) + sum(span[0] in counted for span in missed), 1)
        f1 = harmonic(precision, recall)
        rates.append(np.stack([precision, recall, f1], axis=1).ravel())
    return np.concatenate(rates)


def _laid(gold: str, pred: str, left_out: Sequence[str] = SIGNS, linked: bool = True) -> Laid:
    """A candidate's words laid on the reference's, without those that a pattern of that side leaves out.

    ``linked`` words before the run that begins the reference, and after the one that ends it, belong to that run.
    """
    gold_pattern, pred_pattern = left_out
    reference = [word for word in words(gold, webnlg=True) if not re.fullmatch(gold_pattern, word)]
    candidate = [word for word in words(pred, webnlg=True) if not re.fullmatch(pred_pattern, word)]
    runs, positions = _runs(reference, candidate)
    common = [at for at, position in enumerate(positions) if isinstance(position, int)]
    if not common:
        # Either side by itself; a reference without a candidate takes one place, whatever its length.
        counted = bool(candidate or not reference)
        width = len(reference) + len(candidate) if counted else 1
        return Laid([(0, len(reference) - 1)][: len(reference)], [(len(reference), width - 1)] * counted, width, False)
    before = common[0] if positions[common[0]] == 0 else 0
    after = len(positions) - 1 - common[-1] if positions[common[-1]] == len(runs) - 1 else 0
    # Each stretch of other words is a span of its own, named by the number of shared words before it.
    free = range(before, len(positions) - after)
    stretches = [1 + sum(at < position for at in common) for position in free if position not in common]
    if not linked:
        before = after = 0
    spans: list[tuple[int, int]] = []
    current = 0
    begin = 0
    line = [*runs[:1] * before, *runs, *runs[-1:] * after, *stretches]
    for at, name in enumerate([*line, ""]):
        if current and name != current and (at < len(line) or isinstance(line[-1], int)):
            spans.append((begin, at - 1))  # at every missing word after a run the script closes that run again
        if isinstance(name, int) and name != current:
            current = name
            begin = at
    return Laid([(before, before + len(reference) - 1)], spans, len(line), True)


def _runs(reference: list[str], candidate: list[str]) -> tuple[list[str | int], list[str | int]]:
    """The longest common runs of words, one after the other.

    A word of the reference becomes the negative number of its run, the candidate's word its place in the reference.
    """
    runs = list[str | int](reference)
    places = list[str | int](candidate)
    number = 0
    while (run := SequenceMatcher(None, places, runs, autojunk=False).find_longest_match()).size:
        number -= 1
        runs[run.b : run.b + run.size] = [number] * run.size
        places[run.a : run.a + run.size] = range(run.b, run.b + run.size)
    return runs, places
