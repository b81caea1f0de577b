"""Text2KGBench's own protocol, per sentence, for numbers that can stand beside the published ones.

Predictions whose relation is not among gold's relations of the sentence are left out; what remains and gold are
compared as sets of strings (parts joined, without spaces and underscores, in lower case). Without predictions
precision, recall and F1 are 0. Conformance and hallucination look at all predictions: a relation is conformant if the
ontology has it, a subject or object is hallucinated if its stemmed words do not stand in the stemmed sentence followed
by the ontology's concepts. A sentence without predictions has conformance 1 and hallucination 0. The averages are over
all gold sentences.

Source: Mihindukulasooriya et al., Text2KGBench, ISWC 2023, and https://github.com/cenguix/Text2KGBench (run_eval.py)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nltk.stem import PorterStemmer
from nltk.tokenize.destructive import NLTKWordTokenizer

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measures.triples.objects import written
from goldassay.scorecard import Scorecard

GAPS = re.compile(r"_|\s+")
MEASURES = (
    "precision", "recall", "f1", "ontology_conformance", "subject_hallucination", "relation_hallucination",
    "object_hallucination",
)  # fmt: skip
_STEMMER = PorterStemmer()
_WORDS = NLTKWordTokenizer()


@dataclass(frozen=True, slots=True)
class Ontology:
    """The relations (spaces as underscores) and the concepts of an ontology file."""

    relations: frozenset[str]
    concepts: str

    @classmethod
    def of(cls, found: Any) -> Ontology:
        """From the content of an ontology file of the benchmark."""
        try:
            relations = [str(relation["label"]) for relation in found["relations"]]
            concepts = [str(concept["label"]) for concept in found["concepts"]]
        except (KeyError, TypeError):
            raise DataError("an ontology has 'concepts' and 'relations', each a list with a 'label'") from None
        return cls(frozenset(relation.replace(" ", "_") for relation in relations), " ".join(concepts))


@dataclass(frozen=True, slots=True)
class Sentence:
    """The official numbers of one sentence."""

    precision: float
    recall: float
    f1: float
    ontology_conformance: float
    subject_hallucination: float
    relation_hallucination: float
    object_hallucination: float


def sentence(gold: Any, pred: Any, ontology: Ontology) -> Sentence:
    """The protocol on one sentence.

    >>> ontology = Ontology.of({"relations": [{"label": "author"}], "concepts": [{"label": "book"}]})
    >>> gold = {"text": "Inkspell is a novel by Cornelia Funke.",
    ...         "triples": [{"subject": "Inkspell", "predicate": "author", "object": "Cornelia Funke"}]}
    >>> more = {"subject": "Inkspell", "predicate": "genre", "object": "drama"}
    >>> sentence(gold, {"triples": [*gold["triples"], more]}, ontology)
    Sentence(precision=1.0, recall=1.0, f1=1.0, ontology_conformance=0.5, subject_hallucination=0.0, \
relation_hallucination=0.5, object_hallucination=0.5)
    """
    wanted, said = _parts(read(gold, "triples", None)), _parts(read(pred, "triples", None))
    relations = {relation.replace(" ", "_") for _, relation, _ in wanted}
    asked = {_joined(triple) for triple in wanted}
    kept = {_joined(triple) for triple in said if triple[1] in relations}
    hits = len(asked & kept)
    precision = hits / len(kept) if kept else 0.0
    recall = hits / len(asked) if kept and asked else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    if not said:
        return Sentence(precision, recall, f1, 1.0, 0.0, 0.0, 0.0)
    conformant = sum(relation in ontology.relations for _, relation, _ in said) / len(said)
    text = _stemmed(f"{read(gold, 'text', '') or ''}{ontology.concepts}")
    absent = [sum(_entity(triple[part]) not in text for triple in said) / len(said) for part in (0, 2)]
    return Sentence(precision, recall, f1, conformant, absent[0], 1.0 - conformant, absent[1])


def scorecard(gold: Sequence[Any], pred: Sequence[Any], ontology: Any) -> Scorecard:
    """The means over all sentences, and the numbers of each sentence."""
    if ontology is None:
        raise GoldassayError("the protocol text2kgbench needs the benchmark's ontology file: --ontology FILE")
    known = ontology if isinstance(ontology, Ontology) else Ontology.of(ontology)
    rows = [sentence(example, answer, known) for example, answer in zip(gold, pred, strict=True)]
    card = Scorecard("triples", len(rows))
    for name in MEASURES:
        values = [getattr(row, name) for row in rows]
        card.values[name] = sum(values) / len(values) if values else None
        card.conventions[name] = f"{name}[protocol=text2kgbench, average=sentences, empty=0]"
        card.explain[name] = f"{EXPLAIN[name]}; mean over sentences. Source: Text2KGBench (ISWC 2023), run_eval.py."
    ids = [str(read(example, "id", index + 1)) for index, example in enumerate(gold)]
    card.by["sentence"] = {
        name: {measure: getattr(row, measure) for measure in MEASURES} for name, row in zip(ids, rows, strict=True)
    }
    return card


EXPLAIN: Mapping[str, str] = {
    "precision": "statements in gold / predictions whose relation gold has in this sentence; 0 without predictions",
    "recall": "gold statements predicted / gold statements; 0 without predictions",
    "f1": "harmonic mean of the sentence's precision and recall",
    "ontology_conformance": "predictions whose relation the ontology has / predictions; 1 without predictions",
    "subject_hallucination": "predictions whose stemmed subject is not in the sentence or a concept / predictions",
    "relation_hallucination": "1 − ontology conformance",
    "object_hallucination": "predictions whose stemmed object is not in the sentence or a concept / predictions",
}


def _parts(triples: Any) -> list[tuple[str, str, str]]:
    return [
        (written(read(triple, "subject")), str(read(triple, "predicate")), written(read(triple, "object")))
        for triple in triples or ()
    ]


def _joined(triple: tuple[str, str, str]) -> str:
    return "".join(GAPS.sub("", part).lower() for part in triple)


@lru_cache(maxsize=65536)
def _stemmed(text: str) -> str:
    """Stemmed words without spaces. The whole text is cut as one sentence, so that no model of sentences is needed."""
    return GAPS.sub("", "".join(_STEMMER.stem(word) for word in _WORDS.tokenize(text))).lower()


def _entity(text: str) -> str:
    return _stemmed(text).replace("01januari", "")
