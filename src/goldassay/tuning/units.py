"""The units of a program's prompts: each statement of an instruction, and each demonstration.

An instruction is cut into its `statements`: sentences, list items, code blocks, tables, and the headings over them. The
texts of all statements, joined, are the instruction. A heading is not tested: it goes when all that it heads is gone.
Such are lines with ``#``, lines in bold, and lines that end with a colon.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum

import scipy
from dspy import Module
from rapidfuzz import fuzz

from goldassay._support import jsonl
from goldassay._support.dspy_compat import serialize_for_json, signature_of
from goldassay.core.fields import Fields, JsonObject
from goldassay.results.comparison import ComparisonVerdict
from goldassay.results.view import Cell, Chart, Point, Table, View
from goldassay.statistics import PairedTest, examples_needed
from goldassay.statistics.intervals import Interval
from goldassay.text.near import NEAR_DUPLICATE
from goldassay.text.normal import plain
from goldassay.tuning.patches import Patch
from goldassay.tuning.wrappers import Wrapped, predictors

HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?\s*$")
LIST_ITEM = re.compile(r"\s*(?:[-*•+–]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S")
SENTENCE_BREAK = re.compile(r"""[.!?…]["'”’)\]*_]*\s+(?=\S)|[。！？]\s*(?=\S)|:?[ \t]*\n\s*(?=\S)""")
ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|cf|vs|ca|approx|no|dr|mr|mrs|ms|prof|st|fig|incl|resp|z\.B|d\.h|bzw)|\b\w)$", re.I
)
WRAPPED = 60  # a line of so many characters without a full stop goes on in the next one


@dataclass(frozen=True)
class Statement:
    """A statement with the blanks after it.

    ``kind`` is ``sentence``, ``item``, ``block`` (code, a table) or ``heading``, which ``heads`` the statements of
    these indices.
    """

    text: str
    kind: str
    heads: range = range(0)


def statements(text: str) -> list[Statement]:
    """The statements of an instruction, in order.

    >>> [s.text for s in statements("# Task\\nLabel it, e.g. so. No more.\\nRules:\\n- one\\n  goes on\\n- two")]
    ['# Task\\n', 'Label it, e.g. so. ', 'No more.\\n', 'Rules:\\n', '- one\\n  goes on\\n', '- two']
    """
    lines = text.splitlines(keepends=True)
    cut: list[Statement] = []
    start = 0
    while start < len(lines):
        kind = _kind(lines[start])
        end = start + 1
        if kind == "code":
            fence = lines[start].lstrip()[:3]
            while end < len(lines) and not lines[end].lstrip().startswith(fence):
                end += 1
            end += 1
        elif kind in ("table", "sentence"):
            while end < len(lines) and _kind(lines[end]) == kind:
                end += 1
        elif kind == "item":
            while end < len(lines):  # it, or the next line with text, is indented more
                following = next((line for line in lines[end:] if line.strip()), "")
                if _indent(following) <= _indent(lines[start]):
                    break
                end += 1
        piece = "".join(lines[start:end])
        start = end
        if kind == "sentence":
            cut += [Statement(sentence, kind) for sentence in _sentences(piece)]
        elif kind == "blank" and cut:
            cut[-1] = replace(cut[-1], text=cut[-1].text + piece)
        else:
            cut.append(Statement(piece, "block" if kind in ("code", "table") else kind))
    levels = [len(statement.text) - len(statement.text.lstrip("#")) or 7 for statement in cut]  # of bold headings 7
    headed = []
    for index, statement in enumerate(cut):
        end = index + 1
        if statement.kind == "heading":
            while end < len(cut) and not (cut[end].kind == "heading" and levels[end] <= levels[index]):
                end += 1
        elif statement.kind == "sentence" and statement.text.rstrip().endswith(":"):
            listed = end < len(cut) and cut[end].kind in ("item", "block")
            while end < len(cut) and (
                cut[end].kind in ("item", "block")
                if listed
                else cut[end].kind == "sentence" and (end == index + 1 or "\n\n" not in cut[end - 1].text)
            ):
                end += 1
        if end > index + 1:
            statement = replace(statement, kind="heading", heads=range(index + 1, end))
        elif statement.kind == "heading":
            statement = replace(statement, kind="sentence")
        headed.append(statement)
    return headed


def _kind(line: str) -> str:
    """What a line begins: code, a table, a heading, an item or a sentence; else it is blank."""
    text = line.lstrip()
    if text.startswith(("```", "~~~")):
        return "code"
    if text.startswith("|"):
        return "table"
    if HEADING.match(line):
        return "heading"
    if LIST_ITEM.match(line):
        return "item"
    return "sentence" if text else "blank"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def without(cut: Sequence[Statement], removed: Collection[int]) -> str:
    """The instruction without the statements of these indices.

    >>> without(statements("Be brief. Rules:\\n- one\\n- two"), {2, 3})
    'Be brief.'
    """
    left = []
    for index, statement in enumerate(cut):
        gone = all(under in removed for under in statement.heads if not cut[under].heads) if statement.heads else False
        if not gone and index not in removed:
            left.append(statement.text)
        elif left and statement.text.count("\n") and len(_blank(left[-1])) < len(_blank(statement.text)):
            left[-1] = left[-1].rstrip() + _blank(statement.text)
    return "".join(left) if len(left) == len(cut) else "".join(left).strip()


def _blank(text: str) -> str:
    """The blanks at the end of a text."""
    return text[len(text.rstrip()) :]


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for match in SENTENCE_BREAK.finditer(text):
        before = text[start : match.start()]
        following = text[match.end()]
        stop = match[0][0]
        if stop in "\n \t":  # the end of a line without a full stop
            wrapped = following.islower() or len(before.rpartition("\n")[2]) >= WRAPPED
        else:
            wrapped = stop == "." and (following.islower() or ABBREVIATION.search(before) is not None)
        if not wrapped:
            yield text[start : match.end()]
            start = match.end()
    yield text[start:]


class UnitVerdict(StrEnum):
    """What is shown of a unit."""

    HELPS = "helps"
    HURTS = "hurts"
    NOTHING = "nothing"
    OPEN = "open"

    @property
    def style(self) -> str:
        """How the verdict is shown."""
        return {"helps": "better", "hurts": "worse", "nothing": "same"}.get(self, "open")


OF_GAIN = {
    ComparisonVerdict.BETTER: UnitVerdict.HELPS,
    ComparisonVerdict.WORSE: UnitVerdict.HURTS,
    ComparisonVerdict.NO_LARGER: UnitVerdict.NOTHING,
    ComparisonVerdict.OPEN: UnitVerdict.OPEN,
}


@dataclass(frozen=True)
class Unit:
    """A statement of an instruction, or a demonstration: what it is worth, and what it costs.

    ``kind`` is that of a `Statement`, ``demonstration``, or ``example``: one of a set that patches show all predictors,
    or all of those that each input is shown its nearest of.

    ``effect`` is the value of the whole program less that without the unit, with the ends of its interval, on ``n``
    examples (0: not measured); ``halves``
    is its mean effect beside random halves of the other units, with the ends of its interval. ``needed`` is how many
    examples would settle an open unit: they show an effect of this size, or else that it is no larger than the margin,
    four times in five. ``notes`` name units that say the same, or the opposite, and the only stratum in which the unit
    helps. ``origin`` says who wrote the unit, if that is known: optimizer, patch, pattern, examples, failure mode.
    """

    text: str
    kind: str
    predictor: str
    index: int
    tokens: int
    effect: float = 0.0
    low: float = 0.0
    high: float = 0.0
    n: int = 0
    verdict: UnitVerdict = UnitVerdict.OPEN
    needed: int | None = None
    halves: tuple[float, float, float] | None = None
    notes: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_statement(self) -> bool:
        """Whether it is part of an instruction."""
        return self.kind not in ("demonstration", "example")

    @property
    def sha256(self) -> str:
        """The hash of the text, in which blanks do not count, with the predictor's name."""
        return hashlib.sha256(f"{self.predictor}\n{' '.join(self.text.split())}".encode()).hexdigest()

    @property
    def sentence(self) -> str:
        """The verdict as people read it."""
        if not self.n:
            return "not measured"
        if self.verdict == UnitVerdict.NOTHING:
            return f"nothing larger than {max(-self.low, self.high):.3f}"
        return f"open: {self.needed} examples would settle it" if self.needed else str(self.verdict)

    def judged(self, test: PairedTest, level: float, margin: float) -> Unit:
        """The unit with its effect and verdict, by a test of the whole program against the one without it."""
        low, high = test.interval.ends
        verdict = OF_GAIN[ComparisonVerdict.of_gain(low, high, margin)]
        needed = None
        if verdict == UnitVerdict.OPEN:
            error = max(test.standard_error, (high - low) / 2 / float(scipy.special.ndtri((1 + level) / 2)))
            size = max(abs(test.difference), margin)
            needed = max(test.n + 1, examples_needed(size, error, test.n, alpha=1 - level))
        return replace(self, effect=test.difference, low=low, high=high, n=test.n, verdict=verdict, needed=needed)

    def state(self) -> JsonObject:
        """As JSON."""
        return {**asdict(self), "sha256": self.sha256}


def units_of(program: Module, origins: Sequence[Patch] = ()) -> list[Unit]:
    """The statements and demonstrations of all predictors; an instruction that DSPy wrote itself has none.

    Units that say the same, or the opposite, are noted.

    Args:
        program: The program.
        origins: Patches of this program: a unit that one of them wrote names it.
    """
    units = []
    named = predictors(program)
    for name, predictor in named.items():
        signature = signature_of(predictor)
        text = signature.instructions
        if text != signature.with_instructions("").instructions:
            for index, statement in enumerate(statements(text)):
                if not statement.heads:
                    units.append(Unit(statement.text.strip(), statement.kind, name, index, tokens(statement.text)))
        for index, demo in enumerate(predictor.demos or []):
            lines = "\n".join(_lines({key: demo[key] for key in signature.fields if key in demo}))
            units.append(Unit(lines, "demonstration", name, index, tokens(lines)))
    if isinstance(program, Wrapped):  # the examples beside the predictors' own
        fields = {key for predictor in named.values() for key in signature_of(predictor).fields}
        shown_to_all = [
            "\n".join(_lines({key: value for key, value in example.items() if key in fields}))
            for example in program.examples
        ]
        all_names = ", ".join(named)
        if len(shown_to_all) > program.k:  # chosen for each input: one unit, as long as k of them are on average
            text = f"the {program.k} nearest of {len(shown_to_all)} examples, for each input"
            length = round(program.k * sum(map(tokens, shown_to_all)) / len(shown_to_all))
            units.append(Unit(text, "example", all_names, 0, length))
        else:
            units += [Unit(text, "example", all_names, i, tokens(text)) for i, text in enumerate(shown_to_all)]
    negation = re.compile(r"\b(?:not|never|no|don't|avoid|without|nicht|nie|kein\w*|niet|geen|nooit)\b", re.I)
    texts = [plain(unit.text) for unit in units]
    noted = []
    for index, unit in enumerate(units):
        notes = []
        for other, text in enumerate(texts):
            if other == index or fuzz.token_set_ratio(texts[index], text) < NEAR_DUPLICATE:
                continue
            opposite = bool(negation.search(text)) != bool(negation.search(texts[index]))
            if unit.is_statement and units[other].is_statement and opposite:
                notes.append(f"contradicts {other + 1}")
            elif fuzz.ratio(texts[index], text) >= NEAR_DUPLICATE:
                notes.append(f"repeats {other + 1}")
        origin: dict[str, str] = {}  # who wrote the unit, and from what: what is known of it
        if patch := next((patch for patch in origins if _wrote(patch, unit)), None):
            names = {
                "optimizer": patch.proposer,
                "patch": patch.id,
                "pattern": patch.pattern,
                "examples": ", ".join(patch.examples),
                "mode": patch.mode,
                "review": patch.review,
            }
            origin = {name: text for name, text in names.items() if text}
        noted.append(replace(unit, notes=tuple(notes), origin=origin))
    return noted


def _wrote(patch: Patch, unit: Unit) -> bool:
    """Whether a patch wrote a unit."""
    if unit.kind == "example":
        return patch.action == "show_nearest"
    if unit.is_statement:
        return bool(patch.text) and " ".join(unit.text.split()) in " ".join(str(patch.text).split())
    return patch.action == "add_example" and set(unit.text.splitlines()) <= set(_lines(patch.example or {}))


def _lines(example: Fields) -> list[str]:
    """A demonstration as text, a line a field."""
    return [f"{key}: {jsonl.dumps(serialize_for_json(value))}" for key, value in example.items()]


def omit(program: Module, units: Sequence[Unit], removed: Collection[int]) -> Module:
    """A copy of a program without some of its units."""
    copy = program.deepcopy()
    gone = [units[index] for index in removed]
    examples = {unit.index for unit in gone if unit.kind == "example"}
    if isinstance(copy, Wrapped) and examples:
        at_choice = len(copy.examples) > copy.k
        left = [] if at_choice else [example for index, example in enumerate(copy.examples) if index not in examples]
        copy.learn(left, copy.keys, copy.k)
    for name, predictor in predictors(copy).items():
        lines = {unit.index for unit in gone if unit.predictor == name and unit.is_statement}
        demos = {unit.index for unit in gone if unit.predictor == name and unit.kind == "demonstration"}
        if lines:
            signature = signature_of(predictor)
            predictor.signature = signature.with_instructions(without(statements(signature.instructions), lines))
        predictor.demos = [demo for index, demo in enumerate(predictor.demos or []) if index not in demos]
    return copy


def tokens(text: str) -> int:
    """The tokens of a text, as LiteLLM counts them where it does not know the model."""
    import litellm

    return int(litellm.token_counter(model="", text=text))


def short(text: str, most: int = 70) -> str:
    """A text in one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def summary(units: Sequence[Unit]) -> str:
    """How many units help, hurt or do nothing, in one line.

    >>> summary([Unit("Be brief.", "sentence", "self", 0, 3, n=9, verdict=UnitVerdict.HELPS)])
    '1 helps'
    """
    one = {"helps": "helps", "hurts": "hurts", "nothing": "does nothing", "open": "is open"}
    many = {"helps": "help", "hurts": "hurt", "nothing": "do nothing", "open": "are open"}
    counts = Counter(str(unit.verdict) for unit in units)
    return ", ".join(f"{counts[name]} {(one if counts[name] == 1 else many)[name]}" for name in one if counts[name])


def view_of(units: Sequence[Unit], most: int = 70, in_halves: bool = False) -> View:
    """The units in their order: what each is worth, and a chart of their effects.

    Args:
        units: The units.
        most: Characters of a unit that are shown.
        in_halves: Whether to show their effects in random halves, if these were measured.
    """
    rows = []
    points = []
    in_halves = in_halves and any(unit.halves for unit in units)
    named = len({unit.predictor for unit in units}) > 1
    for number, unit in enumerate(units, start=1):
        origin = [f"{name} {text}" for name, text in unit.origin.items()]
        text = Cell(short(unit.text, most), detail="; ".join([*unit.notes, *origin]))
        effect = None
        if unit.n:
            effect = Interval(unit.effect, unit.low, unit.high, 0.95, unit.n, "newcombe")
            points.append(Point(f"{number} {short(unit.text, 28)}", unit.effect, unit.low, unit.high))
        halves = [unit.halves and Interval(*unit.halves, 0.95, unit.n, "newcombe")] if in_halves else []
        verdict = Cell(unit.sentence, unit.verdict.style)
        predictor = [unit.predictor] if named else []
        rows.append([number, text, *predictor, verdict, effect, unit.tokens, *halves])
    columns = ["", "unit", *(["predictor"] if named else []), "verdict", "effect", "tokens"]
    columns += ["in random halves"] if in_halves else []
    chart = Chart("intervals", "effect", [("effect", points)])
    return [Table(None, columns, rows, left=3 + named, bars=True), *([chart] if points else [])]
