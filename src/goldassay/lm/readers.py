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
from typing import Any

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


def reader(name: str) -> ExtractiveReader | GenerativeReader:
    """A reader by its name on Hugging Face (``deepset/minilm-uncased-squad2``) or its folder."""
    config = _loaded(name, "AutoConfig")
    kinds = getattr(config, "architectures", None) or ()
    points = any(str(kind).endswith("QuestionAnswering") for kind in kinds)
    writes = getattr(config, "is_encoder_decoder", False) and not points
    return GenerativeReader(name) if writes else ExtractiveReader(name)


def _loaded(name: str, kind: str, **options: Any) -> Any:
    """What transformers makes of a name; each fault is one line."""
    try:
        import_module("torch")
        transformers = import_module("transformers")
    except ModuleNotFoundError as error:
        raise ModelError(f"a reader needs {error.name}: pip install 'goldassay[transformers]'") from None
    try:
        return getattr(transformers, kind).from_pretrained(name, **options)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise ModelError(f"no reader {name!r}: {why}") from None


def _parts(name: str, kind: str, head: str, hint: str) -> tuple[Any, Any, Any]:
    """torch, the tokenizer and the model; one whose last layer would be drawn at random is refused."""
    tokenizer = _loaded(name, "AutoTokenizer")
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(f"the tokenizer of {name} does not say where its tokens stand in the text")
    model, info = _loaded(name, kind, output_loading_info=True)
    if any(head in key for key in info["missing_keys"]):
        raise ModelError(f"{name} ({type(model.config).__name__.removesuffix('Config')}) has not learnt to {hint}")
    return import_module("torch"), tokenizer, model.eval()


@dataclass
class ExtractiveReader:
    """A model that points at the answer.

    Called with a question and passages it gives a dict with ``answer`` (empty: none) and ``confidence``.
    """

    name: str

    @cached_property
    def _parts(self) -> tuple[Any, Any, Any]:
        """torch, the tokenizer and the model, loaded once."""
        hint = "point at answers; name one trained on questions, such as deepset/minilm-uncased-squad2"
        return _parts(self.name, "AutoModelForQuestionAnswering", "qa_outputs", hint)

    def __call__(self, question: str, contexts: Sequence[str]) -> dict[str, Any]:
        """The answer in the passages, and how sure."""
        torch, tokenizer, model = self._parts
        best, nothing = (0.0, ""), 1.0
        for context in contexts:
            if not context.strip():
                continue
            most = min(WINDOW, int(getattr(tokenizer, "model_max_length", WINDOW)))
            made = tokenizer(
                question,
                context,
                truncation="only_second",
                max_length=most,
                stride=min(STRIDE, most // 4),
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
                padding=True,
                return_tensors="pt",
            )
            offsets = made.pop("offset_mapping").tolist()
            made.pop("overflow_to_sample_mapping", None)
            with torch.inference_mode():
                out = model(**made)
            for window in range(len(offsets)):
                inside = [place == 1 for place in made.sequence_ids(window)]
                if not any(inside):
                    continue
                scores = out.start_logits[window].numpy(), out.end_logits[window].numpy()
                first, last, probability, none = span(*scores, inside)
                words = context[offsets[window][first][0] : offsets[window][last][1]]
                best = max(best, (probability, words.strip()))
                nothing = min(nothing, none - probability)
        probability, answer = best
        return {"answer": "" if nothing >= 0 else answer, "confidence": probability}


@dataclass
class GenerativeReader:
    """A model that writes the answer; ``form`` is how it is asked (`FORM`, unless it is known to want another).

    Called with a question and passages it gives a dict with ``answer`` (empty: none) and ``confidence``.
    """

    name: str
    form: str = ""

    def __post_init__(self) -> None:
        self.form = self.form or next((form for start, form in FORMS.items() if self.name.startswith(start)), FORM)

    @cached_property
    def _parts(self) -> tuple[Any, Any, Any]:
        """torch, the tokenizer and the model, loaded once."""
        return _parts(self.name, "AutoModelForSeq2SeqLM", "lm_head", "write; name one trained on questions")

    def __call__(self, question: str, contexts: Sequence[str]) -> dict[str, Any]:
        """The answer of the likeliest passage, and how sure."""
        torch, tokenizer, model = self._parts
        pieces = [piece for context in contexts for piece in self._windows(question, context)]
        if not pieces:
            return {"answer": "", "confidence": 0.0}
        asked = [self.form.format(question=question, context=piece) for piece in pieces]
        made = tokenizer(asked, padding=True, return_tensors="pt")
        with torch.inference_mode():
            out = model.generate(
                input_ids=made["input_ids"],
                attention_mask=made["attention_mask"],
                max_new_tokens=WRITTEN,
                do_sample=False,
                num_beams=1,
                output_scores=True,
                return_dict_in_generate=True,
            )
            sure = model.compute_transition_scores(out.sequences, out.scores, normalize_logits=True)
        written = out.sequences[:, -sure.shape[1] :]
        ended = (written == tokenizer.eos_token_id).long()
        before_the_end = ended.cumsum(1) - ended == 0  # what follows the end fills the batch
        chances = torch.where(before_the_end, sure, torch.zeros_like(sure)).sum(1).exp().tolist()
        best = (0.0, "")
        for text, chance in zip(tokenizer.batch_decode(written, skip_special_tokens=True), chances, strict=True):
            if text.strip() and text.strip(" .<>").casefold() not in NOTHING:
                best = max(best, (chance, text.strip()))
        return {"answer": best[1], "confidence": best[0]}

    def _windows(self, question: str, context: str) -> Iterator[str]:
        """The passage in parts that the model can be asked about, each with the end of the one before."""
        _, tokenizer, _ = self._parts
        most = min(ASKED, int(getattr(tokenizer, "model_max_length", ASKED)))
        asked = len(tokenizer(self.form.format(question=question, context=""))["input_ids"])
        room = most - asked - 2  # a passage begins and ends otherwise in a sentence than by itself
        if room < ROOM:
            raise ModelError(f"a question of {asked} tokens leaves {self.name} no room for a passage")
        read = tokenizer(context, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        places = read["offset_mapping"]
        step = max(1, room - min(STRIDE, room // 4))
        for first in range(0, len(places), step):
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
    possible = np.array([True, *inside[1:]])
    p, q = (softmax(np.where(possible, np.asarray(scores, dtype=float), -np.inf)) for scores in (starts, ends))
    places = np.flatnonzero(np.array([False, *inside[1:]]))
    both = np.triu(np.outer(p[places], q[places])) - np.triu(np.outer(p[places], q[places]), LONGEST)
    first, last = np.unravel_index(int(both.argmax()), both.shape)
    return int(places[first]), int(places[last]), float(both[first, last]), float(p[0] * q[0])
