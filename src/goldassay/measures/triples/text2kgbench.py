"""Text2KGBench's own protocol, per sentence, for numbers that can stand beside the published ones.

Predictions whose relation is not among gold's relations of the sentence are left out; what remains and gold are
compared as sets of strings (parts joined, without spaces and underscores, in lower case). Without predictions
precision, recall and F1 are 0. Conformance and hallucination look at all predictions: a relation is conformant if the
ontology has it, a subject or object is hallucinated if its stemmed words do not stand in the stemmed sentence followed
by the ontology's concepts. An output without predictions has conformance 1 and hallucination 0; a sentence without any
output adds 0 to every sum. The averages are over all gold sentences.

Source: Mihindukulasooriya et al., Text2KGBench, ISWC 2023, and https://github.com/cenguix/Text2KGBench (run_eval.py)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import identity, read
from goldassay.measure import Measure, failed
from goldassay.measures.triples.objects import written
from goldassay.scorecard import Batches, Scorecard, each, fold
from goldassay.statistics.evidence import Floats
from goldassay.tally import Mean, divide

GAPS = re.compile(r"_|\s+")
ABBREVIATIONS = """adm ala ariz aug ave bros calif chg cie co col colo conn corp cos ct dec dr feb fla fri ft ga gen
ill inc jan jr kan ky lt ltd maj messrs mg mich minn mr mrs ms nev nov oct ok okla ore pa prof rep
reps sen sep sept sr st sw tenn tues va vs vt wash wed wis yr a.a a.c a.d a.g a.h a.m a.m.e a.s a.t
b.f b.v c c.i.t c.o.m.b c.v d d.c d.h d.w e e.f e.h e.l e.m f f.g f.j g g.d g.f g.k h h.c h.f h.m
i.m.s j.b j.c j.j j.k j.p j.r k l l.a l.f l.p m m.b.a m.d.c m.j n n.c n.d n.h n.j n.m n.v n.y p
p.a.m p.m ph.d r r.a r.h r.i r.j r.k r.t s s.a s.a.y s.c s.g s.p.a s.s t t.j u.k u.n u.s u.s.a
u.s.s.r v w w.c w.r w.va w.w"""
"""Punkt's English abbreviations: they end no sentence."""


@dataclass(frozen=True, slots=True)
class Ontology:
    """The relations (spaces as underscores) and the concepts of an ontology file."""

    relations: frozenset[str] = frozenset()
    concepts: str = ""

    @classmethod
    def of(cls, content: Any) -> Ontology:
        """From the content of an ontology file of the benchmark."""
        try:
            relations = [str(relation["label"]) for relation in content["relations"]]
            concepts = [str(concept["label"]) for concept in content["concepts"]]
        except (KeyError, TypeError):
            raise DataError("an ontology has 'concepts' and 'relations', each a list with a 'label'") from None
        return cls(frozenset(relation.replace(" ", "_") for relation in relations), " ".join(concepts))


EXPLAIN = {
    "precision": "statements in gold / predictions whose relation gold has in this sentence; 0 without predictions",
    "recall": "gold statements predicted / gold statements; 0 without predictions",
    "f1": "harmonic mean of the sentence's precision and recall",
    "ontology_conformance": "predictions whose relation the ontology has / predictions; 1 without predictions",
    "subject_hallucination": "predictions whose stemmed subject is not in the sentence or a concept / predictions",
    "relation_hallucination": "1 − ontology conformance",
    "object_hallucination": "predictions whose stemmed object is not in the sentence or a concept / predictions",
}


MEASURES = tuple(EXPLAIN)


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
        return dict.fromkeys(MEASURES, 0.0)
    expected, predicted = _parts(read(gold, "triples", None)), _parts(read(pred, "triples", None))
    relations = {relation.replace(" ", "_") for _, relation, _ in expected}
    right = {_joined(triple) for triple in expected}
    keys = {_joined(triple) for triple in predicted if triple[1] in relations}
    hits = len(right & keys)
    precision, recall = divide(hits, len(keys)), divide(hits, len(right))
    text, size = _stemmed(f"{read(gold, 'text', '') or ''}{ontology.concepts}"), len(predicted)
    conformant = divide(sum(relation in ontology.relations for _, relation, _ in predicted), size, empty=1.0)
    absent = [divide(sum(_entity(triple[part]) not in text for triple in predicted), size) for part in (0, 2)]
    f1 = divide(2 * precision * recall, precision + recall)
    values = precision, recall, f1, conformant, absent[0], 1.0 - conformant, absent[1]
    return dict(zip(MEASURES, map(float, values), strict=True))


@dataclass(frozen=True)
class Official(Measure[Mean]):
    """One of the benchmark's numbers: its mean over sentences.

    >>> gold = {"text": "", "triples": []}
    >>> Official("ontology_conformance")(gold, {"triples": []}).tally.value, Official()(gold, None).tally.value
    (1.0, 0.0)
    """

    task = "triples"
    zero = Mean()
    gold_fields = ("text", "triples")
    pred_fields = ("triples",)
    source = "Text2KGBench (ISWC 2023), run_eval.py"
    shares = ("ontology",)
    counted = ""  # pyright: ignore[reportAssignmentType]
    choices = {"value": MEASURES}

    value: str = "f1"
    ontology: Ontology = Ontology()

    @property
    def key(self) -> str:
        """The name of the value."""
        return self.value

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The definition of the value."""
        return f"{EXPLAIN[self.value]}; mean over sentences"

    @property
    def lower_is_better(self) -> bool:  # type: ignore[override]
        """Whether it counts hallucinations."""
        return self.value.endswith("hallucination")

    @property
    def conventions(self) -> str:
        """The protocol stands for the rest."""
        return f"{self.value}[protocol=text2kgbench, average=sentences, empty=0]"

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Floats:
        """The numbers of all sentences, a row each."""
        rows = [list(sentence(*pair, self.ontology).values()) for pair in zip(gold, pred, strict=True)]
        return np.array(rows, float).reshape(-1, len(MEASURES))

    def tallies(self, batch: Floats) -> Mean:
        """The value of each sentence."""
        return Mean(batch[:, MEASURES.index(self.value)], np.ones(len(batch)))


def scorecard(shared: Batches, ontology: object) -> Scorecard:
    """The means over all sentences, and the numbers of each sentence."""
    if ontology is None:
        raise GoldassayError("the protocol text2kgbench needs the benchmark's ontology file: ontology=FILE")
    content = ontology if isinstance(ontology, Ontology) else Ontology.of(ontology)
    ids: list[str] = []

    def look(part: Batches) -> None:
        ids.extend(identity(example, index) for index, example in enumerate(part.gold, len(ids) + 1))

    card = fold("triples", [Official(name, content) for name in MEASURES], shared, look)
    card.by["sentence"] = each(ids, card.tallies)
    return card


def _parts(triples: Any) -> list[tuple[str, str, str]]:
    return [
        (written(read(triple, "subject")), str(read(triple, "predicate")), written(read(triple, "object")))
        for triple in triples or ()
    ]


def _joined(triple: tuple[str, str, str]) -> str:
    return "".join(GAPS.sub("", part).lower() for part in triple)


@cache
def _nltk() -> tuple[Any, ...]:
    """Tokenizers of sentences and words, stemmers of words and of names; NLTK takes a second to import."""
    from nltk.stem import PorterStemmer
    from nltk.tokenize.destructive import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    punkt, names = PunktParameters(), PorterStemmer()
    punkt.abbrev_types = set(ABBREVIATIONS.split())
    names.pool = {}  # the NLTK of the published numbers has exceptions for "sky" and "news", not for "Sky"
    return PunktSentenceTokenizer(punkt), NLTKWordTokenizer(), PorterStemmer(), names


@lru_cache(maxsize=65536)
def words(text: str) -> tuple[str, ...]:
    """The words of a text as NLTK cuts it, sentence by sentence: the last full stop of each is no part of a word."""
    sentences, tokenizer, *_ = _nltk()
    return tuple(word for sentence in sentences.tokenize(text) for word in tokenizer.tokenize(sentence))


@lru_cache(maxsize=65536)
def _stemmed(text: str) -> str:
    """Stemmed words without spaces."""
    *_, stemmer, names = _nltk()
    return GAPS.sub("", "".join((stemmer if word.islower() else names).stem(word) for word in words(text))).lower()


def _entity(text: str) -> str:
    return _stemmed(text).replace("01januari", "")
