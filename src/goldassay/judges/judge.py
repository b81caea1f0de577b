"""A judge: a language model of its own that answers questions (`goldassay.judges.questions`) with verdicts; panels.

The model is asked at temperature 0, once for each distinct input. An answer that cannot be read, or that its check
rejects (a quote that is not in the text), is asked for again, with a temperature so that it differs; then the
verdict is *unknown*: None, counted in ``unknown``. A model that gives no answer at all (wrong key, no connection) stops
the judge with a `ModelError`, since every later verdict would be unknown too. A prompt too long for the model makes
that one verdict unknown.

Texts enter the prompts as data: each becomes one JSON string on one line, in which nothing reads as a field's header
of an adapter (``[[ ##``), as a tag or as a chat template's token (``<|``, ``[INST]``), and nothing is invisible
(zero-width and tag characters, changes of direction) or cannot be sent (lone surrogates): these become JSON escapes.

A `Panel` of judges, or of samples of one, answers as one judge: each question goes to all members, and their verdicts
are counted (`goldassay.judges.questions.count`). The quote and the reason are those of a member with the panel's
verdict. Claims and names are not verdicts: they are those of the first member that answers.
"""

from __future__ import annotations

import contextvars
import hashlib
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, get_args

import dspy

from goldassay._support import jsonl
from goldassay._support.dspy_compat import BAD_REQUEST_ERRORS, LM_ERRORS, ContextWindowExceededError
from goldassay._support.exceptions import GoldassayError, ModelError, one_line
from goldassay._support.secrets import remember, scrub
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.judges import questions
from goldassay.judges.questions import SWAPPED, Question, count
from goldassay.measures.judged import Verdict
from goldassay.models.lm import models
from goldassay.running.account import aside

Check = Callable[[Fields], str]
"""A complaint about the fields of an answer; empty if they can be taken."""
COUNTS_LOCK = threading.RLock()  # held to count; judges travel to other processes, which locks of their own could not
BUSY: dict[str, threading.Lock] = defaultdict(threading.Lock)  # by question: one thread asks, the others wait

_INVISIBLE = (
    "\u00ad\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_BREAKS = re.compile(f"[\u0000-\u001f\u007f-\u009f{_INVISIBLE}\ud800-\udfff<]" + r"|\[(?=\[|/?[A-Z_]{3,}\])|\](?=\])")


def data(text: str) -> str:
    r"""Text escaped as one JSON string, which no adapter, tag or chat template can mistake for its own.

    >>> print(data('say "x"\n[[ ## verdict ## ]] <|end|>'))
    "say \"x\"\n\u005b[ ## verdict ## \u005d] \u003c|end|>"
    >>> json.loads(data("[[ ## a ## ]]"))
    '[[ ## a ## ]]'
    """

    def escape(match: re.Match[str]) -> str:  # one escape, or two for a character outside the basic plane
        units = match[0].encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[index : index + 4]}" for index in range(0, len(units), 4))

    return _BREAKS.sub(escape, json.dumps(str(text), ensure_ascii=False))


def is_quoted(quote: str, text: str) -> bool:
    """Whether a quote is in a text, apart from white space, case and quotation marks; an empty one is not.

    >>> is_quoted('"opened  in 1885"', "The museum opened in 1885."), is_quoted("in 1886", "in 1885")
    (True, False)
    >>> is_quoted("", "x")
    False
    """
    bare = " ".join(quote.split()).casefold().strip("\"'“”‘’«».… ")
    return bool(bare) and bare in " ".join(text.split()).casefold()


def folded(label: str) -> str:
    """A label without case and the marks that models put around it.

    >>> folded(' "Good". '), folded("“3”")
    ('good', '3')
    """
    return label.strip(" \n.`\"'“”„‘’«»").casefold()


class Judge:
    """A model bound to the questions of a judge; it never follows the program's context.

    Args:
        lm: the model.
        adapter: how prompts and answers are written; DSPy's own without one.
        retries: how often an answer that cannot be taken is asked for again.
        version: part of the name and of the store's keys: another version asks again.
        programs: modules that answer in place of a signature, by its name (``{"Supports": my_module}``).
        verdicts: the store, a mapping from keys to fields, such as `Verdicts` in a file.
        sample: 0 asks at temperature 0; every other number is a sample of its own, with a temperature.

    Raises:
        GoldassayError: there is no model.
        ModelError: (when asked) the model gives no answer at all.
    """

    def __init__(
        self,
        lm: dspy.BaseLM,
        *,
        adapter: dspy.Adapter | None = None,
        retries: int = 1,
        version: str = "1",
        programs: Mapping[str, dspy.Module] | None = None,
        verdicts: MutableMapping[str, JsonObject | None] | None = None,
        sample: int = 0,
    ) -> None:
        if lm is None:
            raise GoldassayError(
                "a judge needs a model of its own: Judge(lm=dspy.LM(…)) or goldassay.models.lm.resolve(name)"
            )
        remember(lm)  # a model that fails must not print its key
        self.lm = lm
        self.adapter = adapter
        self.retries = retries
        self.version = version
        self.sample = sample
        self.programs = dict(programs or {})
        self.verdicts: MutableMapping[str, JsonObject | None] = {} if verdicts is None else verdicts
        self.asked = 0
        self.calls = 0
        self.cached = 0
        self.tokens = 0
        self.last_failure = ""
        self._broken = ""
        self._unknown: set[str] = set()
        self._answered = False

    def __str__(self) -> str:
        return f"{getattr(self.lm, 'model', type(self.lm).__name__)}@{self.version}"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # optimizers copy modules that hold a judge; its verdicts and counts stay the same

    @property
    def unknown(self) -> int:
        """How many distinct questions have no verdict, including those of an earlier run's store."""
        return len(self._unknown)

    @property
    def warning(self) -> str:
        """A warning about missing verdicts; empty if there are none."""
        if not self.unknown:
            return ""
        why = f" ({self.last_failure})" if self.last_failure else ""
        return f"unknown verdicts of {self}: {self.unknown}; they stay in the denominator, not counted as true{why}"

    def verdict(self, question: Question | str, /, **inputs: Any) -> Verdict:
        """The verdict on a question (``verdict("support", text=…, claim=…)``), in both orders where it says so.

        Args:
            question: A `Question`, or its name; ``rubric`` takes the ``levels`` with their meanings.
            inputs: What the question takes (`goldassay.judges.questions`).
        """
        if isinstance(question, str):
            question = questions.question(question, inputs.pop("levels", None))
        if question.blank and not inputs[question.blank[0]].strip():
            return Verdict(question.blank[1])
        first = self._verdict(question, inputs)
        if not question.both_orders:
            return first
        second = self._verdict(question, {**inputs, "first": inputs["second"], "second": inputs["first"]})
        if first.label is None or second.label is None:
            return Verdict(None)
        return first if SWAPPED[second.label] == first.label else Verdict("tie", reason="the two orders disagree")

    def _verdict(self, question: Question, inputs: Mapping[str, str]) -> Verdict:
        signature: Any = question.signature
        levels = {folded(name): name for name in question.levels}
        if levels and isinstance(self.adapter, dspy.JSONAdapter):
            signature = signature.with_updated_fields("verdict", type_=Literal[tuple(question.levels)])

        def check(fields: Fields) -> str:
            if levels and folded(fields["verdict"]) not in levels:
                return f"the rubric has no level {fields['verdict'][:80]!r}"
            if question.quoted and fields["verdict"] != "not_stated":
                return _invented("quote", [fields["quote"]], inputs[question.quoted])
            return ""

        fields = self.ask(signature, check, **question.constants, **inputs)
        if fields is None:
            return Verdict(None)
        label = levels[folded(fields["verdict"])] if levels else fields["verdict"]
        return Verdict(label, "" if label == "not_stated" else fields.get("quote") or "", fields.get("reason") or "")

    def claims(self, text: str) -> list[str] | None:
        """The claims of a text; an empty text has none."""
        fields = self.ask(questions.Claims, text=text) if text.strip() else {"claims": []}
        return None if fields is None else [claim for claim in fields["claims"] if claim.strip()]

    def entities(self, text: str) -> list[str] | None:
        """The names in a text; an invented one is asked for again."""

        def check(fields: Fields) -> str:
            return _invented("name", fields["entities"], text)

        fields = self.ask(questions.Entities, check, text=text) if text.strip() else {"entities": []}
        return None if fields is None else list(dict.fromkeys(fields["entities"]))

    def ask(self, signature: type[dspy.Signature], check: Check | None = None, /, **inputs: str) -> Fields | None:
        """The fields of an answer; None if none came back that can be read and passes the check."""
        key = self._key(signature, inputs)
        with COUNTS_LOCK:
            self.asked += 1
            busy = BUSY[key]
        with busy:
            if key not in self.verdicts:
                self.verdicts[key] = contextvars.copy_context().run(self._answer, signature, check, inputs)
            fields = self.verdicts[key]
        if fields is None:
            self._unknown.add(key)
        return fields

    def _answer(self, signature: type[dspy.Signature], check: Check | None, inputs: Mapping[str, str]) -> Fields | None:
        """The fields of the first answer that can be taken; ``last_failure`` says why one could not."""
        quoted = {name: data(text) for name, text in inputs.items()}
        program = self.programs.get(signature.__name__) or dspy.Predict(signature)
        for attempt in range(self.retries + 1):
            if self._broken:
                raise ModelError(self._broken)
            config = {"temperature": 0.0}
            if attempt or self.sample:
                config = {"temperature": 0.5, "rollout_id": 1000 * self.sample + attempt + 1}
            try:
                with aside() as account, dspy.context(lm=self.lm.copy(**config), adapter=self.adapter, trace=None):
                    try:
                        prediction = program(**quoted)
                    finally:
                        with COUNTS_LOCK:
                            self.calls += int(account.usage.calls)
                            self.cached += int(account.usage.cached)
                            self.tokens += account.usage.tokens
            except ContextWindowExceededError:
                self.last_failure = "the prompt is too long for the model"
            except Exception as error:  # noqa: BLE001
                # Whatever cannot be read is an unknown verdict, and is counted; no answer at all stops the judge.
                self.last_failure = one_line(error)[:200]
                refused = self._answered and isinstance(error, BAD_REQUEST_ERRORS)
                if isinstance(error, (*LM_ERRORS, GoldassayError)) and not refused:
                    name = getattr(self.lm, "model", type(self.lm).__name__)
                    why = f"gives no answer ({self.last_failure}); check name, key and address"
                    self._broken = f"the judge's model {name} {why}"
                    raise ModelError(self._broken) from None
            else:
                self._answered = True
                fields = {}
                missing = []
                for name, field in signature.output_fields.items():
                    fields[name] = prediction.get(name)
                    if fields[name] is None and type(None) not in get_args(field.annotation):  # it is not optional
                        missing.append(name)
                problem = f"the verdict lacks {', '.join(missing)}" if missing else ""
                if check is not None and not problem:
                    problem = check(fields)
                if not problem:
                    return fields
                self.last_failure = problem
        return None

    def _key(self, signature: type[dspy.Signature], inputs: Mapping[str, str]) -> str:
        """The key of a question in the store: a program that has learnt something gives other verdicts."""
        program = self.programs.get(signature.__name__)
        state = ""
        if program is not None:
            dump = getattr(program, "dump_state", lambda: repr(type(program)))
            state = json.dumps(dump(), sort_keys=True, default=str)
        parts = [signature.__name__, signature.instructions, state]
        about = [self.version, str(self), self.sample, parts, dict(inputs)]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def _invented(kind: str, quotes: Sequence[str], text: str) -> str:
    """A complaint about the first quote that is not in the text, if there is one."""
    invented = [quote for quote in quotes if not is_quoted(quote, text)]
    return f"the {kind} {invented[0][:80]!r} is not in the text" if invented else ""


class Panel(Judge):
    """Judges that vote: the verdict is that of the majority.

    ``Panel([Judge(lm, sample=n) for n in range(5)])`` asks one model five times.
    """

    def __init__(self, members: Sequence[Judge]) -> None:
        if not members:
            raise GoldassayError("a panel has members: Panel([Judge(lm=…), Judge(lm=…)])")
        super().__init__(members[0].lm)
        self.members = tuple(members)

    def __str__(self) -> str:
        samples = [f"{member}#{member.sample}" if member.sample else str(member) for member in self.members]
        return f"panel({', '.join(samples)}; majority)"

    def _verdict(self, question: Question, inputs: Record) -> Verdict:
        """The first member's verdict that is the panel's."""
        verdicts = [member._verdict(question, inputs) for member in self.members]
        label = count([verdict.label for verdict in verdicts]).label
        self.settle(f"{question.name} {inputs}", label is not None)
        return next((verdict for verdict in verdicts if label and verdict.label == label), Verdict(None))

    def ask(self, signature: type[dspy.Signature], check: Check | None = None, /, **inputs: str) -> JsonObject | None:
        """The fields of the first member that answers."""
        answers = (member.ask(signature, check, **inputs) for member in self.members)
        fields = next((answer for answer in answers if answer is not None), None)
        self.settle(f"{signature.__name__} {inputs}", fields is not None)
        return fields

    def settle(self, question: str, answered: bool) -> None:
        """Count a question that the members, who may have been asked one by one, have answered or not."""
        with COUNTS_LOCK:
            self.asked += 1
            for name in ("calls", "cached", "tokens"):
                setattr(self, name, sum(getattr(member, name) for member in self.members))
            if not answered:
                self._unknown.add(question)
                self.last_failure = next((m.last_failure for m in self.members if m.last_failure), "no majority")

    @property
    def warning(self) -> str:
        """A warning about missing votes, or missing verdicts of members."""
        return super().warning or "; ".join(member.warning for member in self.members if member.warning)


class Verdicts(dict[str, Fields | None]):
    """Verdicts in a file, so that a run that is started again asks nothing twice.

    ``Judge(lm, verdicts=Verdicts("runs/verdicts.jsonl"))`` takes it. The file grows by one JSON object a verdict: the
    key of a question (a hash of judge, version, model, signature and inputs) and the fields of the answer, ``null`` for
    an unknown one. A last line that was cut off is ignored.
    """

    def __init__(self, file: Path | str) -> None:
        self.file = Path(file).absolute()
        if self.file.is_file():
            for row in jsonl.rows(self.file, what="a verdict: expected {key, fields}", check=_check_row):
                super().__setitem__(row["key"], row["fields"])

    def __reduce__(self) -> tuple[type[Verdicts], tuple[Path]]:
        return Verdicts, (self.file,)  # another process reads the file anew; several may write to it

    def __setitem__(self, key: str, fields: JsonObject | None) -> None:
        super().__setitem__(key, fields)
        with jsonl.Log(self.file) as log:
            log.add({"key": key, "fields": scrub(fields)})


def _check_row(row: JsonObject) -> None:
    if not isinstance(row["key"], str) or not isinstance(row["fields"], (dict, type(None))):
        raise TypeError


def named(name: str, *, verdicts: Path | str | None = None, version: str = "1", **options: Any) -> Judge:
    """The judge of a model's name, which `goldassay.models.lm.resolve` knows.

    ``verdicts`` is a file that stores verdicts; ``options`` go to the model. Local models answer under a grammar, with
    short prompts.

    Raises:
        GoldassayError: The name is empty, or no model has it.

    >>> str(named("openai/gpt-4o-mini"))
    'openai/gpt-4o-mini@1'
    """
    if not name.strip():
        raise GoldassayError("a judge needs a model's name, such as openai/gpt-4o-mini or local/smollm2-135m")
    model = models.resolve(name, **options)
    store = None if verdicts is None else Verdicts(verdicts)
    return Judge(model, adapter=models.adapter(model), version=version, verdicts=store)
