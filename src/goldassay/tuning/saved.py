"""Saved programs, read into a program without executing anything; and the folder of a tuning.

``program.save("x.json")`` writes JSON: instructions, field descriptions and demonstrations. ``program.save("x.pkl")``
and ``save_program=True`` write pickles, which can run any code when they are opened, so they are never opened here.

`load_state` is the one function through which ``eval``, ``compare``, ``tune``, ``audit`` and `goldassay.case` read a
saved program.

A tuned program is a folder: ``state.json``, ``tuning.json``, ``prompt.diff``, and ``patches/`` that were tried.
``tuning.json`` is written when a tuning starts, so that the folder says what it holds however it ended. A tuning can be
resumed with the same program, splits, optimizer and settings only, and only by optimizers that keep a state (GEPA and
patches); the others start again, in another folder. The budget and the cost are those of all parts.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import dspy
from dspy import Module

from goldassay._support import jsonl
from goldassay._support.display import Displayed
from goldassay._support.dspy_compat import signature_of
from goldassay._support.exceptions import DataError, GoldassayError, StorageError
from goldassay._support.secrets import scrub
from goldassay.core.fields import Fields, JsonObject, Record, read
from goldassay.results.comparison import METRIC, Comparison, ComparisonVerdict
from goldassay.results.comparisons import compare_metric
from goldassay.results.view import Sentence, Table, TableRow, View, bounds, number, p_value, signed
from goldassay.running import Run
from goldassay.running.folder import locked
from goldassay.running.hashing import fingerprint
from goldassay.running.head import versions
from goldassay.running.leaks import text_of
from goldassay.running.summary import breakdown_tables, noise_lines, run_value, spent
from goldassay.statistics import PairedTest
from goldassay.tuning.acceptance import MARGIN
from goldassay.tuning.explain import lm_name
from goldassay.tuning.measuring import TuneOptions
from goldassay.tuning.patches import Ledger, view_of, write
from goldassay.tuning.units import PROOF, PromptProof, prove_patched
from goldassay.tuning.verdict import Audit, of_comparison, of_runs
from goldassay.tuning.wrappers import Splits, Wrapped, inmost, predictors, rebuilt, saveable

STATE = "state.json"
TUNING_FILE = "tuning.json"
PICKLE = "program.pkl"


def load_state(program: Module, place: Path | str) -> Module:
    """A copy of ``program`` with a saved state.

    A language model that the state names is left out, with a warning: the program keeps its own, and else runs on the
    model of the call.

    Args:
        program: The program that was saved, as its file defines it; it stays as it is.
        place: A JSON file that ``program.save`` wrote, with any DSPy from 3.0 on, or a folder with a ``state.json``.

    Raises:
        DataError: The file is a pickle, or not the state of this program.

    >>> import tempfile
    >>> program = dspy.Predict("text -> label")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program.save(f"{folder}/short.json")
    ...     load_state(program, f"{folder}/short.json").signature.instructions
    'Given the fields `text`, produce the fields `label`.'
    """
    place = Path(place)
    file = place / STATE if place.is_dir() else place
    if place.is_dir() and (place / TUNING_FILE).is_file():
        read_about(place / TUNING_FILE)  # a damaged folder is not trusted
    if file.suffix == ".pkl" or (not file.is_file() and (place / PICKLE).is_file()):
        raise DataError(
            "a pickle can run any code when it is opened, so it is not; load it where you trust it (dspy.load, "
            "program.load) and write program.save('state.json')",
            file=place / PICKLE if place.is_dir() else place,
        )
    if not file.is_file():
        expected = f"a file of program.save('x.json'), or a folder with {STATE}"
        raise GoldassayError(f"no saved program at {place}: expected {expected}")
    state = jsonl.value(file.read_bytes(), file=file, unique=False)
    if not isinstance(state, dict):
        raise DataError("not the state of a program, which program.save('x.json') writes", file=file)
    models = []
    try:
        loaded = rebuilt(program, state)
        # Has the state the predictors of this program, each with as many fields? DSPy takes what fits, without a word.
        inside = inmost(loaded)
        body = state if inside is loaded else state["program"]
        saved = {name: predictor_state for name, predictor_state in body.items() if name != "metadata"}
        if isinstance(inside, dspy.Predict):
            saved = {"self": body}
        parameters = dict(inside.named_parameters())
        if saved.keys() != parameters.keys():
            has = ", ".join(sorted(saved)) or "none"
            needs = ", ".join(sorted(parameters)) or "none"
            raise DataError(f"not the state of this program: it has {has}, and the program {needs}", file=file)
        for name, predictor in inside.named_predictors():
            saved_fields = len(saved[name]["signature"]["fields"])
            fields = len(signature_of(predictor).fields)
            if saved_fields != fields:
                has = f"{saved_fields} fields, and the program's signature has {fields}"
                raise DataError(f"not the state of this program: {has}", file=file, field=name)
            if saved[name].get("lm"):
                model = str(saved[name].pop("lm").get("model"))
                models += [model] if model != getattr(predictor.lm, "model", None) else []
                saved[name]["lm"] = None
        models_before = {name: predictor.lm for name, predictor in loaded.named_predictors()}
        loaded.load_state(state)
        for name, predictor in loaded.named_predictors():
            predictor.lm = models_before[name]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"not the state of this program: {type(error).__name__}: {error}", file=file) from None
    if models:
        names = " and ".join(sorted(set(models)))
        warning = "%s was saved with %s, which is not used: the program runs on the model of this call"
        logging.getLogger("goldassay").warning(warning, file, names)
    return loaded


def read_about(file: Path) -> Fields:
    """The content of ``tuning.json``.

    Raises:
        GoldassayError: There is no tuning.
        DataError: The file is damaged.
    """
    try:
        about = jsonl.value(file.read_bytes(), file=file)
    except OSError:
        raise GoldassayError(f"no tuning at {file.parent}: expected tuning.json there") from None
    if not isinstance(about, dict):
        raise DataError("not a tuning", file=file)
    return about


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Turn whatever a damaged ``tuning.json`` makes its reader raise into one line.

    Raises:
        DataError: The file is damaged.
    """
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"not a tuning that can be read: {type(error).__name__}: {error}", file=file) from None


def state_names(places: Sequence[Path]) -> list[str]:
    """Names for runs of saved programs: that of each file, or of the folder of a ``state.json``, after as many of the
    folders above as tell them apart.

    >>> state_names([Path("runs/gepa/state.json"), Path("short.json")])
    ['gepa', 'short']
    >>> state_names([Path("a/best.json"), Path("b/best.json")])
    ['a-best', 'b-best']
    """
    paths = [path.resolve() for path in places]
    parts = [list((path.parent if path.name == STATE else path.with_suffix("")).parts[1:]) for path in paths]
    names = []
    for size in range(1, max(map(len, parts), default=0) + 1):
        names = ["-".join(folders[-size:]) for folders in parts]
        if len(set(names)) == len(set(paths)):
            break
    return names


TUNING_SCHEMA = 1
CHARACTERS = 4  # of a prompt for each of its tokens, about
JOURNAL = "measured.jsonl"


@dataclass(frozen=True)
class Trial:
    """A program before and after on one split, compared by the metric.

    ``chosen`` says that these examples also chose the program after. Its value is then too good, and has no interval.
    """

    before: Run
    after: Run
    seed: int = 0
    chosen: bool = False

    @cached_property
    def comparison(self) -> Comparison:
        """The program after against the one before."""
        test = compare_metric(self.before.result, self.after.result, seed=self.seed)
        return Comparison((self.before.name, self.after.name), METRIC, test, margin=MARGIN)

    @property
    def difference(self) -> PairedTest:
        """The paired difference of the metric."""
        return self.comparison.gain

    def state(self) -> JsonObject:
        """As JSON."""
        inference = dict.fromkeys(("interval", "p", "test_p", "smallest_detectable")) if self.chosen else {}
        return {
            "before": self.before.values,
            "after": self.after.values,
            **({"by": self.after.breakdowns} if self.after.breakdowns else {}),
            "runs": [run.folder.name for run in (self.before, self.after) if run.folder],
            "difference": {**self.difference.state(), **inference},
            "chosen": self.chosen,
        }


@dataclass(frozen=True)
class Arm:
    """One optimizer in an arena: the values of its program, what it used of its share, and the verdict on test.

    ``calls`` are those of the model that runs the examples (``task_calls``) and of the one that writes instructions
    (``reflection_calls``). ``prompt_tokens`` are those of a prompt, by `CHARACTERS` a token. The verdict is corrected
    for the number of arms; an arm that failed has the reason there.
    """

    optimizer: str
    dev: float | None
    test: float | None
    calls: int
    tokens: int
    prompt_tokens: int | None
    minutes: float
    verdict: str
    task_calls: int = 0
    reflection_calls: int = 0
    stopped: str = ""

    @property
    def gap(self) -> float | None:
        """The value on dev, which chose, less that on test."""
        return None if self.dev is None or self.test is None else self.dev - self.test


@dataclass(frozen=True, repr=False)
class Tuned(Displayed):
    """The result of a tuning: the program, its values on dev and test, the cost, and the reason if it stopped early."""

    program: Module
    optimizer: str
    dev: Trial
    test: Trial | None
    cost: dict[str, float]
    stopped: str = ""
    ledger: Ledger = field(default_factory=Ledger)
    """Every patch that was tried, with its effect and verdict (``patches`` only)."""
    note: str = ""
    """A part that never worked, such as a reflection model whose answers cannot be read; or why nothing was tried."""
    references: Mapping[str, Trial] = field(default_factory=dict)
    """Labeled and nearest examples on test, which take no tuning, next to the tuned program (``patches`` only)."""
    arms: tuple[Arm, ...] = ()
    """The optimizers that shared the budget, if there were several; ``optimizer`` is then the chosen one, or none."""
    corrected: Audit | None = None
    """The verdict on test, corrected for the number of optimizers, if there were several."""

    def __repr__(self) -> str:
        trials = {"dev": self.dev, "test": self.test}
        values = [
            f"{split} {trial.before.value:.4f} → {trial.after.value:.4f}" for split, trial in trials.items() if trial
        ]
        return f"Tuned({self.optimizer!r}, {', '.join(values)}, {self.verdict})"

    @property
    def chosen(self) -> str | None:
        """The chosen one of several optimizers; None if no program is better on dev than the program as it is."""
        return self.optimizer if any(arm.optimizer == self.optimizer for arm in self.arms) else None

    @property
    def reference_lines(self) -> list[str]:
        """The references in words, and those that the tuned program is not better than; a better one is recommended."""
        lines = []
        no_better = []
        better = []
        for name, trial in self.references.items():
            test = trial.difference
            calls = trial.before.cost.get("calls", 0)
            gain = f"{signed(test.difference, test.interval)}, p {p_value(test.p)}"
            value = f"{trial.before.value:.3f}, {calls} calls"
            lines.append(f"{name} on test: {value}; {self.optimizer} against it {gain}.")
            if trial.comparison.verdict == ComparisonVerdict.WORSE:
                better.append(name)
            elif trial.comparison.verdict != ComparisonVerdict.BETTER:
                no_better.append(name)
        if no_better:
            names = " and ".join(no_better)
            lines.append(f"{self.optimizer} is not shown to be better than {names}: these take no tuning.")
        if better:
            best = max(better, key=lambda name: self.references[name].before.value)
            lines.append(f"{self.optimizer} is worse than {' and '.join(better)}: use {best}, which takes no tuning.")
        return lines

    def view(self) -> View:
        """The values before and after on dev and on test, the patches, the verdict, and the cost."""
        values: list[TableRow] = []
        sentences = ["The metric before and after, and the paired difference [95 %]:"]
        for split, trial in (("dev", self.dev), ("test", self.test)):
            if trial is None:
                continue
            for name, value in trial.after.values.items():
                after = number(value) if trial.chosen else run_value(trial.after, name)
                values.append([split, name, run_value(trial.before, name), after])
            test = trial.difference
            gap = f"{number(trial.before.value)} → {number(trial.after.value)}, {test.difference:+z.4f}"
            size = f"n {test.n}" if test.unit == "examples" else f"{test.n} {test.unit}"
            if trial.chosen:
                gap += f", {size}; it also chose, so no interval"
            else:
                gap += f"{bounds(test.interval, '+')}, p {p_value(test.p)}, {size}"
                gap += f", detectable {test.smallest_detectable:.3f}" if test.smallest_detectable else ""
            sentences.append(f"{split:<5}{gap}")
            sentences += [f"{split}, after: {text}" for text in noise_lines(trial.after)]
        columns = ["split", "value", "before [95 %]", "after [95 %]"]
        view: View = [Table(f"tuned with {self.optimizer}", columns, values, left=2)]
        view += [Sentence(text, unbroken=True) for text in sentences]
        view += breakdown_tables((self.test or self.dev).after, f"{'test' if self.test else 'dev'}, after: ")
        if self.ledger.patches:
            view += [*view_of(self.ledger.patches), Sentence(self.ledger.verdict.sentence)]
        view += [Sentence(f"Note: {self.note}")] if self.note else []
        view += map(Sentence, self.reference_lines)
        view += [Sentence(outcome(self.verdict, self.test.difference.difference))] if self.test is not None else []
        view += [Sentence(f"Stopped early: {self.stopped}.")] if self.stopped else []
        return [*view, Sentence(f"{spent(self.cost)} to tune.")]

    @property
    def audit(self) -> Audit:
        """Whether the optimizer helped: by the one look at test, else by dev, which chose and so proves nothing."""
        if self.corrected is not None:
            return self.corrected
        trial = self.test or self.dev
        if trial.chosen:
            return of_runs([trial.before, trial.after], selection="bred", source=self.optimizer, chosen="after")
        return of_comparison(trial.difference, examples=len(trial.before.rows), source=self.optimizer)

    @property
    def verdict(self) -> str:
        """Whether the result is proven on test, where it was looked at once, by the verdict of its audit."""
        if self.test is None:
            return "not tested"
        words = {ComparisonVerdict.BETTER: "proven on test", ComparisonVerdict.WORSE: "worse on test"}
        return words.get(self.audit.comparison.verdict, "not proven on test")


def outcome(verdict: str, difference: float) -> str:
    """The verdict of a tuning in words: of a loss nobody asks whether the gain is proven.

    >>> outcome("proven on test", 0.1), outcome("not proven on test", -0.1)
    ('The gain is proven on test.', 'No gain is shown on test.')
    """
    if verdict == "worse on test":
        return "The tuned program is worse on test."
    return "No gain is shown on test." if difference <= 0 and verdict.startswith("not") else f"The gain is {verdict}."


def plan_of(program: Module, splits: Splits, optimizer: str, options: TuneOptions) -> Fields:
    """The material of a tuning with `goldassay.tune`, which must be the same when it is resumed."""
    digests = {}
    for name, examples in splits.items():  # by ids and inputs, whatever their order
        lines = sorted(f"{read(example, 'id', '')}\t{text_of(example)}" for example in examples)
        digests[name] = {"examples": len(examples), "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest()}
    return {
        "optimizer": optimizer,
        "seed": options.seed,
        "program": fingerprint(program),
        "splits": digests,
        "options": {key: str(value) for key, value in options.settings.items()},
        "lm": options.lm and str(getattr(options.lm, "model", options.lm)),
        "resumed": options.resume,
    }


def check_same(folder: Path, earlier: Record, plan: Record) -> None:
    """Check that an earlier tuning in ``folder`` was of the same material.

    Raises:
        GoldassayError: It was not.
    """
    for key in ("optimizer", "seed", "program", "splits", "options", "lm"):  # a resumed tuning has these too
        if earlier.get(key) == plan[key]:
            continue
        which = "on other examples" if key == "splits" else f"with another {key}"
        texts = []
        for value in (earlier.get(key), plan[key]):
            if key == "splits" and value:  # by their sizes, and the first digits of their hashes
                sizes = [f"{name} {split['examples']} ({split['sha256'][:8]})" for name, split in value.items()]
                value = ", ".join(sizes)
            texts.append(str(value))
        raise GoldassayError(f"{folder} holds a tuning {which}: {texts[0]} then, {texts[1]} now")


@contextmanager
def opened(folder: Path | None, resume: bool, plan: JsonObject) -> Iterator[None]:
    """Own a tuning's folder, and write in ``tuning.json`` that the tuning starts, and how it ended if it failed.

    Raises:
        GoldassayError: The folder holds another tuning, or one that is finished.
    """
    if folder is None:
        yield
        return
    with jsonl.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    file = folder / TUNING_FILE
    with locked(folder):
        try:
            with jsonl.writing(folder), chdir("."):  # a program may change the current folder
                earlier = read_about(file) if resume or file.is_file() else {}
                if resume:
                    check_same(folder, earlier, plan)
                    if earlier.get("status") == "finished":
                        raise GoldassayError(f"the tuning in {folder} is finished; nothing to resume")
                elif (folder / "gepa").is_dir() or earlier.get("status") in ("finished", "stopped"):
                    raise GoldassayError(f"{folder} holds a tuning already; choose another folder, or resume it")
                else:
                    (folder / JOURNAL).unlink(missing_ok=True)  # of a tuning that ended badly
                _write(file, {"schema": TUNING_SCHEMA, "status": "running", **plan})
                yield
        except BaseException as error:
            status = "interrupted" if isinstance(error, (KeyboardInterrupt, StorageError)) else "failed"
            with suppress(GoldassayError):  # the first error is the one to report
                about = read_about(file)
                if about.get("status") == "running":
                    _write(file, {**about, "status": status})
            raise


def save(
    tuned: Tuned, student: Module, options: TuneOptions, plan: Mapping[str, object], inputs: Mapping[str, object]
) -> None:
    """Write a tuned program into its folder; ``state.json`` is DSPy's own and loads with ``program.load``.

    Args:
        tuned: The tuning.
        student: The program as it was.
        options: Its options, with the folder.
        plan: The material of the tuning (`plan_of`).
        inputs: Those of an example, for the prompts before and after.
    """
    folder = Path(str(options.folder))
    folder.mkdir(parents=True, exist_ok=True)
    saveable(tuned.program).save(str(folder / STATE))
    jsonl.replace(folder / "prompt.diff", diff(student, tuned.program, options.adapter, dict(inputs)))
    dev = tuned.dev.after
    model = lm_name(options.lm)
    proof = PromptProof(model, [], gold=dev.head.gold.sha256 or "", n=len(dev.rows), value=float(dev.value))
    prove_patched(tuned.program, tuned.ledger.kept, folder / PROOF, proof, (student, tuned.optimizer))
    about = {
        "schema": TUNING_SCHEMA,
        "status": "stopped" if tuned.stopped else "finished",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        **plan,
        "stopped": tuned.stopped or None,
        "note": tuned.note or None,
        "versions": versions(),
        "dev": tuned.dev.state(),
        "test": tuned.test.state() if tuned.test else None,
        "verdict": tuned.verdict,
        "audit": tuned.audit.state(),
        "references": {name: trial.state() for name, trial in tuned.references.items()},
        "reference_lines": tuned.reference_lines,
        "cost": tuned.cost,
    }
    if tuned.arms:
        about["before"] = {"dev": tuned.dev.before.value, "test": tuned.test.before.value if tuned.test else None}
        about["arms"] = [{**asdict(arm), "gap": arm.gap} for arm in tuned.arms]
        about["chosen"] = tuned.chosen
    ledger = tuned.ledger
    if ledger.patches:
        for patch in ledger.patches:
            write(patch, folder / "patches")
        jsonl.replace(folder / "ledger.jsonl", "".join(f"{jsonl.dumps(scrub(entry))}\n" for entry in ledger.entries))
        patterns = [[pattern.state() for pattern in bundle] for bundle in ledger.patterns]
        jsonl.replace(folder / "patterns.json", jsonl.dumps(patterns, indent=1))
        about["kept"] = ledger.verdict.state()
        about["failed_proposals"] = ledger.failures
        about["patches"] = ledger.statuses
    _write(folder / TUNING_FILE, about)


def conclude(tuned: Tuned, folder: Path, verdict: Comparison, proof: JsonObject) -> None:
    """Write the verdict of labels on a tuned program into its folder, and what follows for its patches.

    Args:
        tuned: The tuning.
        folder: Its folder.
        verdict: The verdict on the tuned program.
        proof: What the labels show, as JSON.
    """
    ledger = tuned.ledger
    proven = ledger.verdict.kept and verdict.verdict == "better"
    ledger.conclude(replace(ledger.verdict, proven=proven, by=f"{verdict.n} labels"))
    for patch in ledger.kept:
        write(patch, folder / "patches")
    about = read_about(folder / TUNING_FILE)
    about |= {"kept": ledger.verdict.state(), "patches": ledger.statuses, "proof": proof}
    _write(folder / TUNING_FILE, about)


def _write(file: Path, about: Mapping[str, object]) -> None:
    jsonl.replace(file, f"{jsonl.dumps(scrub(about), indent=1)}\n")


def rendered(program: Module, adapter: dspy.Adapter | None = None, inputs: Mapping[str, object] | None = None) -> str:
    """The messages that each predictor of a program would send, with ``{name}`` for its inputs.

    With ``inputs`` it has those, and a program that has nearest examples shows them too.
    """
    using = adapter or dspy.settings.adapter or dspy.ChatAdapter()
    inside = inmost(program)
    if isinstance(program, Wrapped):
        using = program.adapter(using) or using
        inside = program.inside(inputs) if inputs else inside
    parts = []
    for name, predictor in predictors(inside).items():
        signature = signature_of(predictor)
        values = {}
        for key, input_field in signature.input_fields.items():
            absent = dspy.History(messages=[]) if input_field.annotation is dspy.History else f"{{{key}}}"
            values[key] = (inputs or {}).get(key, absent)
        parts.append(f"=== {name}")
        for message in using.format(signature, list(predictor.demos or []), values):
            text = message["content"]
            if not isinstance(text, str):
                text = json.dumps(text, ensure_ascii=False, indent=1, default=str)
            parts += [f"--- {message['role']}", text]
    return "\n".join(parts) + "\n"


def diff(
    before: Module,
    after: Module,
    adapter: dspy.Adapter | None = None,
    inputs: Mapping[str, object] | None = None,
) -> str:
    """The rendered prompts of two programs as a unified diff; empty when they are the same.

    A wrapper changes the prompt by its inputs, so with one the prompts are those for ``inputs``.
    """
    values = inputs if isinstance(before, Wrapped) or isinstance(after, Wrapped) else None
    old = rendered(before, adapter, values).splitlines()
    new = rendered(after, adapter, values).splitlines()
    text = "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm=""))
    return f"{text}\n" if text else ""
