"""Readers: transformers models for question answering, which point at the answer in a text or write it.

`reader` gives the kind that a model is. Both read each passage by itself (in windows where it is long), and the answer
is the likeliest of all passages: nothing where every window says that there is none.

An extractive model gives every token a score as the answer's first and as its last. With p and q the softmax of these
over the passage's tokens and the one that stands for "no answer", the best span is max p(i) · q(j) over
i ≤ j < i + `LONGEST`, and "no answer" has p(0) · q(0). Its confidence is the span's probability.

A generative model (T5, BART) is asked ``question: … context: …`` and writes token by token, each time the likeliest.
Its confidence is the probability of the whole answer with its end, Π p(token | what stands before it), so long answers
are less sure; the mean over tokens is the other custom.

Devlin et al., "BERT", 2019, section 4.2 and 4.3; Raffel et al., "T5", 2020, appendix D. Extra ``transformers``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from goldassay.exceptions import ModelError

LONGEST, WINDOW, STRIDE = 30, 384, 128  # tokens of an answer, of question and passage together, and of the overlap
WRITTEN, ASKED = 64, 512  # tokens of an answer that is written, and of what is asked
ROOM = 16  # tokens of a passage that there has to be room for beside the question
FORM = "question: {question} context: {context}"
FORMS = {"consciousAI/question-answering-generative-t5": "question: {question}</s> question_context: {context}"}
"""How models ask that were trained on other words than T5's own, by how their names begin."""
NOTHING = ("no answer", "unanswerable", "not answerable", "none", "n/a")
"""What models write that were trained on questions without an answer."""


def reader(name: str) -> Reader:
    """A reader by its name on Hugging Face (``deepset/minilm-uncased-squad2``) or its folder."""
    config = _load("AutoConfig", name)
    points = any(str(kind).endswith("QuestionAnswering") for kind in getattr(config, "architectures", None) or ())
    writes = getattr(config, "is_encoder_decoder", False) and not points
    return GenerativeReader(name) if writes else ExtractiveReader(name)


def _load(kind: str, name: str) -> Any:
    """What transformers makes of a name; each fault is one line."""
    try:
        import_module("torch")
        return getattr(import_module("transformers"), kind).from_pretrained(name)
    except ModuleNotFoundError as error:
        raise ModelError(f"a reader needs {error.name}: pip install 'goldassay[transformers]'") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"no reader {name!r}: {' '.join(str(error).split())[:200]}") from None


@dataclass
class Reader:
    """A model of transformers that is called with a question and passages.

    It gives a dict with ``answer`` (empty: none) and ``confidence``.
    """

    name: str
    kind: ClassVar[str]

    @cached_property
    def _parts(self) -> tuple[Any, Any, Any]:
        """torch, the tokenizer and the model, loaded once."""
        tokenizer, model = _load("AutoTokenizer", self.name), _load(self.kind, self.name)
        return import_module("torch"), tokenizer, model.eval()

    def __call__(self, question: str, contexts: Sequence[str]) -> dict[str, Any]:
        """The answer in the passages, and how sure."""
        passages = [context for context in contexts if context.strip()]
        confidence, answer = self._best(question, passages) if passages else (0.0, "")
        return {"answer": answer, "confidence": confidence}

    def _best(self, question: str, passages: Sequence[str]) -> tuple[float, str]:
        raise NotImplementedError


class ExtractiveReader(Reader):
    """A model that points at the answer."""

    kind = "AutoModelForQuestionAnswering"

    def _best(self, question: str, passages: Sequence[str]) -> tuple[float, str]:
        torch, tokenizer, model = self._parts
        most = min(WINDOW, int(tokenizer.model_max_length))
        windows = tokenizer(
            [question] * len(passages),
            passages,
            truncation="only_second",
            max_length=most,
            stride=min(STRIDE, most // 4),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            padding=True,
            return_tensors="pt",
        )
        offsets, sources = windows.pop("offset_mapping").tolist(), windows.pop("overflow_to_sample_mapping").tolist()
        with torch.inference_mode():
            output = model(**windows)
        best, nothing = (0.0, ""), 1.0
        for window, source in enumerate(sources):
            inside = [place == 1 for place in windows.sequence_ids(window)]
            if any(inside):
                scores = output.start_logits[window].numpy(), output.end_logits[window].numpy()
                first, last, probability, none = span(*scores, inside)
                words = str(passages[source])[offsets[window][first][0] : offsets[window][last][1]]
                best, nothing = max(best, (probability, words.strip())), min(nothing, none - probability)
        return best[0], "" if nothing >= 0 else best[1]


class GenerativeReader(Reader):
    """A model that writes the answer; ``form`` is how it is asked: T5's own words, or those that it was trained on."""

    kind = "AutoModelForSeq2SeqLM"

    @property
    def form(self) -> str:
        """What is asked, with places for the question and the passage."""
        return next((form for start, form in FORMS.items() if self.name.startswith(start)), FORM)

    def _best(self, question: str, passages: Sequence[str]) -> tuple[float, str]:
        torch, tokenizer, model = self._parts
        pieces = [piece for passage in passages for piece in self._windows(question, passage)]
        asked = [self.form.format(question=question, context=piece) for piece in pieces]
        tokens = tokenizer(asked, padding=True, return_tensors="pt")
        options = {"max_new_tokens": WRITTEN, "do_sample": False, "num_beams": 1}
        options |= {"output_scores": True, "return_dict_in_generate": True}
        with torch.inference_mode():
            output = model.generate(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"], **options)
            sure = model.compute_transition_scores(output.sequences, output.scores, normalize_logits=True)
        written = output.sequences[:, -sure.shape[1] :]
        ended = (written == tokenizer.eos_token_id).long()
        before_the_end = ended.cumsum(1) - ended == 0  # what follows the end fills the batch
        chances = torch.where(before_the_end, sure, torch.zeros_like(sure)).sum(1).exp().tolist()
        texts = tokenizer.batch_decode(written, skip_special_tokens=True)
        answers = [
            (chance, text.strip())
            for text, chance in zip(texts, chances, strict=True)
            if text.strip() and text.strip(" .<>").casefold() not in NOTHING
        ]
        return max(answers, default=(0.0, ""))

    def _windows(self, question: str, context: str) -> Iterator[str]:
        """The passage in parts that the model can be asked about, each with the end of the one before."""
        _, tokenizer, _ = self._parts
        asked = len(tokenizer(self.form.format(question=question, context=""))["input_ids"])
        room = min(ASKED, int(tokenizer.model_max_length)) - asked - 2  # a passage begins and ends otherwise inside
        if room < ROOM:
            raise ModelError(f"a question of {asked} tokens leaves {self.name} no room for a passage")
        tokens = tokenizer(context, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        places = tokens["offset_mapping"]
        for first in range(0, len(places), room - min(STRIDE, room // 4)):
            part = places[first : first + room]
            yield context[part[0][0] : part[-1][1]]
            if first + room >= len(places):
                return


def span(starts: ArrayLike, ends: ArrayLike, inside: Sequence[bool]) -> tuple[int, int, float, float]:
    """The best span of a window by the scores of its tokens, how likely it is, and how likely no answer is.

    The first token stands for no answer.

    >>> first, last, probability, _ = span([0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 2.0], [False, False, True, True])
    >>> first, last, round(probability, 3)     # e²/(1 + e² + 1) for each of both ends
    (2, 3, 0.619)
    """
    places = np.flatnonzero(np.array([False, *inside[1:]]))
    some = np.concatenate(([0], places))
    p, q = (softmax(np.asarray(scores, float)[some]) for scores in (starts, ends))
    both = np.triu(np.outer(p[1:], q[1:]))
    both -= np.triu(both, LONGEST)
    first, last = np.unravel_index(int(both.argmax()), both.shape)
    return int(places[first]), int(places[last]), float(both[first, last]), float(p[0] * q[0])
