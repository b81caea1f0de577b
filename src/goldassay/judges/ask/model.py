"""A judge's model: bound to the judge, asked at temperature 0, once for each distinct input.

An answer that cannot be read, or that its check does not accept (a quote that does not stand in the text), is asked for
again (the only calls with a temperature, so that they differ), then it is *unknown*: ``None``, counted in ``unknown``.
A model that gives no answer at all (wrong key, no connection) is no verdict: it stops with a `ModelError`, since every
verdict after it would be unknown too. A prompt too long for the model concerns that one input alone: unknown.

Texts stand in its prompts as data: a text becomes one JSON string, on one line, in which nothing reads as a field's
header of an adapter (``[[ ##``), as a tag or as a chat template's token (``<|``, ``[INST]``), and nothing is invisible
(zero-width and tag characters, changes of direction) or cannot be sent (lone surrogates): these are JSON escapes, so
the text is unchanged and the frame of the prompt too.
"""

from __future__ import annotations

import contextvars
import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Self, get_args

import dspy

from goldassay._dspy_compat import BAD_REQUEST_ERRORS, LM_ERRORS, ContextWindowExceededError
from goldassay.exceptions import GoldassayError, ModelError
from goldassay.lm.watch import watch
from goldassay.running import secrets
from goldassay.running.calls import aside

_INVISIBLE = (
    "\u00ad\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_BREAKS = re.compile(f"[\u0000-\u001f\u007f-\u009f{_INVISIBLE}\ud800-\udfff<]" + r"|\[(?=\[|/?[A-Z_]{3,}\])|\](?=\])")


def data(text: str) -> str:
    r"""A text that cannot leave its quotes.

    >>> print(data('say "x"\n[[ ## verdict ## ]] <|end|>'))
    "say \"x\"\n\u005b[ ## verdict ## \u005d] \u003c|end|>"
    >>> json.loads(data("[[ ## a ## ]]"))
    '[[ ## a ## ]]'
    """
    return _BREAKS.sub(_escape, json.dumps(str(text), ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    """JSON's escape of one character; two of them outside the basic plane."""
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def stands(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, white space, case and the quotes around it aside; an empty one does not.

    >>> stands('"opened  in 1885"', "The museum opened in 1885."), stands("in 1886", "in 1885"), stands("", "x")
    (True, False, False)
    """
    found = _folded(quote).strip("\"'“”‘’«».… ")
    return bool(found) and found in _folded(text)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


Fields = dict[str, Any]
Accept = Callable[[Fields], str]
"""What is wrong with the fields of an answer; empty where they can be taken."""


class BoundModel:
    """A model bound to signatures, with a store of what it answered.

    Args:
        lm: the model; it never follows the program's context.
        adapter: how prompts and answers are written; DSPy's own without one.
        retries: how often an answer that cannot be taken is asked for again.
        version: stands in the name, and in the keys of the store: another version asks again.
        programs: replaces what answers a signature, by its name (``{"Supports": my_module}``), such as a tuned one.
        verdicts: the store, a mapping from keys to fields (see `goldassay.judges.ask.judge` for one that is a file).
        sample: 0 asks at temperature 0; every other number is a sample of its own, with a temperature.

    Raises:
        GoldassayError: there is no model.
        ModelError: (when asked) the model gives no answer at all.
    """

    def __init__(
        self,
        lm: dspy.BaseLM,
        *,
        adapter: object = None,
        retries: int = 1,
        version: str = "1",
        programs: Mapping[str, dspy.Module] | None = None,
        verdicts: MutableMapping[str, Fields | None] | None = None,
        sample: int = 0,
    ) -> None:
        if lm is None:
            raise GoldassayError("a judge needs a model of its own: Judge(lm=dspy.LM(…)) or goldassay.lm.resolve(name)")
        self.lm, self.adapter, self.retries, self.version, self.sample = lm, adapter, retries, version, sample
        self.programs = dict(programs or {})
        self.verdicts: MutableMapping[str, Fields | None] = {} if verdicts is None else verdicts
        self.asked = self.calls = self.cached = self.tokens = 0
        self.last_failure = ""
        self._unknown: set[str] = set()
        self._broken, self._answered = "", False
        self._states: dict[str, tuple[Any, str]] = {}
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}

    def __str__(self) -> str:
        return f"{getattr(self.lm, 'model', type(self.lm).__name__)}@{self.version}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # modules that hold a judge are copied by optimizers; its verdicts and counts are one

    def __getstate__(self) -> dict[str, Any]:
        """All but the locks, so that a judge in a measure travels to the processes that work on the examples."""
        return {**self.__dict__, "_lock": None, "_busy": {}}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__dict__ |= {**state, "_lock": threading.Lock()}

    @property
    def unknown(self) -> int:
        """How many distinct questions have no verdict, those of an earlier run's store among them."""
        return len(self._unknown)

    @property
    def warning(self) -> str:
        """What a report says about verdicts that did not come back; empty when all did."""
        if not self.unknown:
            return ""
        why = f" ({self.last_failure})" if self.last_failure else ""
        if self.unknown == 1:
            return f"1 verdict of {self} is unknown: it stays in the denominator and does not count as true{why}"
        return (
            f"{self.unknown} verdicts of {self} are unknown: they stay in the denominator and do not count as true{why}"
        )

    def ask(self, signature: type[dspy.Signature], accept: Accept | None = None, /, **inputs: str) -> Fields | None:
        """The fields of an answer; ``None`` where none came back that can be read and that ``accept`` takes."""
        key = self._key(signature, inputs)
        with self._lock:
            self.asked += 1
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            if key not in self.verdicts:
                self.verdicts[key] = contextvars.copy_context().run(self._fresh, signature, accept, inputs)
            found = self.verdicts[key]
        if found is None:
            with self._lock:
                self._unknown.add(key)
        return found

    def _fresh(
        self, signature: type[dspy.Signature], accept: Accept | None, inputs: Mapping[str, str]
    ) -> Fields | None:
        watch()  # an answer of the judge's that is cut short is no fault of the program's
        program = self.programs.get(signature.__name__) or dspy.Predict(signature)
        quoted = {name: data(text) for name, text in inputs.items()}
        for attempt in range(self.retries + 1):
            found, why = self._attempt(program, signature, quoted, attempt)
            if found is not None:
                why = accept(found) if accept else ""
                if not why:
                    return found
            self.last_failure = why
        return None

    def _attempt(
        self, program: dspy.Module, signature: type[dspy.Signature], inputs: Fields, attempt: int
    ) -> tuple[Fields | None, str]:
        if self._broken:
            raise ModelError(self._broken)
        config: Fields = {"temperature": 0.0}
        if attempt or self.sample:
            config = {"temperature": 0.5, "rollout_id": 1000 * self.sample + attempt + 1}
        model = self.lm.copy(**config) if hasattr(self.lm, "copy") else self.lm
        try:
            with aside() as account, dspy.context(lm=model, adapter=self.adapter, trace=None):
                try:
                    made = program(**inputs)
                finally:
                    self._bill(account.usage)
            self._answered = True
            found = {name: made.get(name) for name in signature.output_fields}
        except ContextWindowExceededError:
            return None, "the prompt is too long for the model"
        except (*LM_ERRORS, GoldassayError) as error:
            if self._answered and isinstance(error, BAD_REQUEST_ERRORS):
                return None, self._plain(error)
            self._broken = self._without_answer(error)
            raise ModelError(self._broken) from None
        except Exception as error:  # noqa: BLE001  whatever cannot be read is an unknown verdict, and is counted
            return None, self._plain(error)
        lacks = [name for name, field in signature.output_fields.items() if found[name] is None and _required(field)]
        return (None, f"the verdict lacks {', '.join(lacks)}") if lacks else (found, "")

    def _without_answer(self, error: Exception) -> str:
        name = getattr(self.lm, "model", type(self.lm).__name__)
        return f"the judge's model {name} gives no answer ({self._plain(error)}); mend its name, key or address"

    def _plain(self, error: Exception) -> str:
        """One line, without secrets."""
        told = secrets.redact(" ".join(str(error).split()), secrets.known(self.lm))
        return f"{type(error).__name__}: {told[:200]}".rstrip(": ")

    def _bill(self, usage: Mapping[str, int]) -> None:
        """Count the calls, cached answers and tokens of an attempt."""
        with self._lock:
            self.calls += usage.get("calls", 0)
            self.cached += usage.get("cached", 0)
            self.tokens += usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)

    def _key(self, signature: type[dspy.Signature], inputs: Mapping[str, str]) -> str:
        asks = [signature.__name__, signature.instructions, self._state(signature.__name__)]
        about = [self.version, str(self), self.sample, asks, dict(inputs)]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def _state(self, name: str) -> str:
        """What a program of one's own has learnt: another state gives other verdicts."""
        program = self.programs.get(name)
        if program is None:
            return ""
        known = self._states.get(name)
        if known is None or known[0] is not program:
            state = program.dump_state() if hasattr(program, "dump_state") else repr(type(program))
            known = self._states[name] = (program, json.dumps(state, sort_keys=True, default=str))
        return known[1]


def _required(field: Any) -> bool:
    return type(None) not in get_args(field.annotation)
