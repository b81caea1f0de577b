"""What stands around a program and changes its prompts at each call: nearest demonstrations, the form of the answer.

A wrapper is a program like the one inside, and may be wrapped again. Its state names what it adds, so that a saved
program is built again from its state alone (`rebuilt`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import dspy

from goldassay.exceptions import GoldassayError
from goldassay.lm.terse import TerseAdapter

WRITTEN = ("json", "lines", "types")


class Wrapper(dspy.Module):  # type: ignore[misc]
    """A program around ``program``; what it adds is ``own``, as JSON."""

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.program = program

    @property
    def own(self) -> dict[str, Any]:
        """What it adds to the prompts."""
        raise NotImplementedError

    def take(self, own: Mapping[str, Any]) -> None:
        """Take what a saved program added."""
        raise NotImplementedError

    def prompt_parts(self) -> list[Any]:
        """What stands in the prompts beside the predictors' own: for the fingerprint of the program."""
        inner = self.program.prompt_parts() if isinstance(self.program, Wrapper) else []
        return [type(self).__name__, self.own, *inner]

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """The program's state and what is added."""
        return {"program": self.program.dump_state(json_mode=json_mode), **self.own}

    def load_state(self, state: dict[str, Any], **options: Any) -> None:
        """The program's state and what was added again."""
        self.program.load_state(state["program"], **options)
        self.take(state)


class Nearest(Wrapper):
    """A program that is shown, at each call, the training examples most like its input.

    Calls work on a copy of the program, so threads do not meet. An example with the very inputs that are asked about is
    not shown: it would give the answer away. ``save`` and ``load`` keep the examples as JSON.
    """

    def __init__(self, program: Any, k: int) -> None:
        super().__init__(program)
        self.k = k
        self.examples: list[dict[str, Any]] = []
        self.keys: list[str] = []

    @property
    def own(self) -> dict[str, Any]:
        """How many examples are shown, what is compared, and those to choose from."""
        return {"k": self.k, "keys": self.keys, "examples": self.examples}

    def learn(self, examples: list[dict[str, Any]], keys: Sequence[str]) -> None:
        """Take the examples to choose from, which are compared by their fields ``keys``."""
        if not examples:
            raise GoldassayError("nearest demonstrations need training examples")
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.examples, self.keys = examples, list(keys)
        self._vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
        try:
            self._vectors = self._vectorizer.fit_transform([self._text(example) for example in examples])
        except ValueError:
            raise GoldassayError(f"the training examples have no text in {', '.join(keys) or 'any input'}") from None

    def nearest(self, **inputs: Any) -> list[dict[str, Any]]:
        """The ``k`` examples most like these inputs, the nearest one last: next to the question."""
        if not self.examples:
            raise GoldassayError("this program has no examples to show yet: compile it, or load its state")
        question: Any = self._vectorizer.transform([self._text(inputs)])
        likeness = (self._vectors @ question.T).toarray().ravel()
        asked = {key: inputs[key] for key in self.keys if key in inputs}
        others = [i for i, one in enumerate(self.examples) if any(one.get(key) != asked[key] for key in asked)]
        chosen = sorted(others, key=lambda i: (-likeness[i], i))[: self.k]
        return [self.examples[i] for i in reversed(chosen)]

    def forward(self, **inputs: Any) -> Any:
        """The program on these inputs, with its nearest examples shown."""
        return self.shown(inputs)(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        """The same, asynchronously, for a program that has an ``aforward``."""
        return await self.shown(inputs).acall(**inputs)

    def shown(self, inputs: Mapping[str, Any]) -> Any:
        """The program inside, with the nearest examples of these inputs as demonstrations."""
        nearest = self.nearest(**inputs)
        program = self.program.deepcopy()
        for predictor in program.predictors():
            fields = predictor.signature.fields
            demos = [demo for demo in nearest if shows(demo, predictor.signature)]
            found = [dspy.Example(**{key: demo[key] for key in fields if key in demo}) for demo in demos]
            predictor.demos = [*(demo for demo in predictor.demos or [] if demo not in found), *found]
        return program

    def _text(self, example: Mapping[str, Any]) -> str:
        return " ".join(str(example.get(key, "")) for key in self.keys)

    def take(self, own: Mapping[str, Any]) -> None:
        """The examples of a saved program."""
        self.k = int(own["k"])
        self.learn(own["examples"], own["keys"])


class Formed(Wrapper):
    """A program whose answers are written as ``json``, as ``lines``, or in a call for each of its ``types``.

    That holds whatever the adapter's own form is.

    It concerns answers that `goldassay.lm.TerseAdapter` asks for, that is those of local models; under another adapter
    the program is as it was.

    >>> made = Formed(dspy.Predict("text -> label"), "lines")
    >>> made.asking(TerseAdapter("json")).form, made.asking(None)
    ('lines', None)
    """

    def __init__(self, program: Any, form: str) -> None:
        super().__init__(program)
        self.take({"form": form})

    @property
    def own(self) -> dict[str, Any]:
        """The form."""
        return {"form": self.form}

    def take(self, own: Mapping[str, Any]) -> None:
        """The form of a saved program."""
        if own["form"] not in WRITTEN:
            raise GoldassayError(f"no form of answers {own['form']!r}; there are {', '.join(WRITTEN)}")
        self.form = str(own["form"])

    def asking(self, adapter: Any) -> Any:
        """The adapter that asks for this form in place of ``adapter``; one that is not terse stays."""
        return TerseAdapter(self.form, adapter.copied) if isinstance(adapter, TerseAdapter) else adapter

    @contextmanager
    def _asked(self) -> Iterator[None]:
        with dspy.context(adapter=self.asking(dspy.settings.adapter)):
            yield

    def forward(self, **inputs: Any) -> Any:
        """The program on these inputs, asked for the form."""
        with self._asked():
            return self.program(**inputs)

    async def aforward(self, **inputs: Any) -> Any:
        """The same, asynchronously."""
        with self._asked():
            return await self.program.acall(**inputs)


def wrappers(program: Any) -> Iterator[Wrapper]:
    """What stands around a program, the outermost first."""
    while isinstance(program, Wrapper):
        yield program
        program = program.program


def inmost(program: Any) -> Any:
    """The program inside all that stands around it."""
    for one in wrappers(program):
        program = one.program
    return program


def unfolded(program: Any, inputs: Mapping[str, Any]) -> Any:
    """The program inside as it is asked for these inputs: with its nearest examples among its demonstrations."""
    nearest = [one for one in wrappers(program) if isinstance(one, Nearest)]
    return inmost(nearest[0].shown(inputs) if nearest else program)


def rebuilt(program: Any, state: Mapping[str, Any]) -> Any:
    """A copy of ``program`` with what stood around it when its ``state`` was saved, still empty."""
    own = set(state) - {"metadata"}
    if own == {"program", "k", "keys", "examples"}:
        return Nearest(rebuilt(program, state["program"]), int(state["k"]))
    if own == {"program", "form"}:
        return Formed(rebuilt(program, state["program"]), str(state["form"]))
    return program.deepcopy()


def predictors(program: Any) -> dict[str, Any]:
    """The predictors by the names that they have without what stands around the program."""
    depth = sum(1 for _ in wrappers(program))
    return {name.removeprefix("program." * depth): one for name, one in program.named_predictors()}


def shows(example: Mapping[str, Any], signature: Any) -> bool:
    """Whether a predictor can learn from this example."""
    known = {key for key, value in example.items() if value is not None}
    return known.issuperset(signature.input_fields) and not known.isdisjoint(signature.output_fields)
