"""``Patches``: an optimizer that patches prompts from their errors, in bundles, and says what it could prove.

Every example of train and dev is measured with edits that were made without it: examples are dealt into folds, and what
a fold is measured with comes from the errors of the others (demonstrations always from train). So all examples that are
not test say whether the edits help. The order of a campaign is fixed, and what moves models most comes first (see
docs/how-to/tuning.md): the nearest demonstrations for each input; a few that are the same for all, chosen in a race;
the other form of the answer; one call a type, where
there are few; the demonstrations that cover the most costly errors, with those that are there kept, replaced or
dropped; edits in words. Each bundle is tested alone, the first at the full level, and kept if it is better than what
was kept before (see `goldassay.tuning.acceptance`); a set in the place of the nearest, which costs no more, is kept
where it is better by the estimate. Leave-one-out drops what carries nothing. The program that comes out has the edits
made from all examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldassay._dspy_compat import Teleprompter
from goldassay.exceptions import DataError, GoldassayError
from goldassay.tuning.acceptance import ALPHA, KEEP, WINS, Ledger
from goldassay.tuning.campaign import Campaign, Settings
from goldassay.tuning.demonstrations import CounterExample, Covering, NearestExamples, Revised, SelectedExamples
from goldassay.tuning.leaks import ordered
from goldassay.tuning.measuring import Bench, guards
from goldassay.tuning.proposing import AnswerForm, OneCallAType, Part, PerPattern, Proposer, Reflection
from goldassay.tuning.race import LEAST, MEASURED, count_measured, spare
from goldassay.tuning.rules import Definitions, LabelOrder, ListLength, Rules

if TYPE_CHECKING:
    import dspy


class Patches(Teleprompter):
    """Patch a program's prompts from its errors.

    Args:
        metric: a `goldassay.Metric`, or any function of (gold, prediction) that DSPy takes.
        proposers: who proposes edits for a pattern; with them these alone make the bundle.
        reflection_lm: a model that proposes edits in words, too.
        bundles: parts of the bundles that are tested one after the other, in place of those above.
        rounds: how often new errors are looked for, as long as the round before kept anything.
        folds: into how many parts train and dev are dealt.
        alpha: the chance of proving anything in a whole campaign when no edit helps.
        keep: the two-sided p up to which what is better by the estimate is kept: for the first bundle; half of it for
            each later one, and half of it together for the edits of a bundle that are tried alone.
        nearest: how many demonstrations to show each input, the nearest ones or a set for all; 0 tries neither.
        singles: how many edits of a bundle that failed are tried alone.
        guarded: measures that must not drop, with the drop that is tolerated; by default those of weight 0.
        threads: how many examples at once.
        seed: of the folds, of the order of examples, of the resamples.
        resamples: of the intervals and permutations.
        most: how many examples are measured at most; more of train are only shown. A third of train is left out of the
            measuring, for the race of sets (`goldassay.tuning.race.left_out`).
        held_out: splits that no edit may show or copy, beside dev.
        heard: called with the value and the program whenever a better one is kept.
        tell: called with a line on what is measured, now and then.
        journal: the file in which measured examples are kept; a campaign that was killed goes on from it.

    After `compile`, ``ledger`` holds every edit with its effect and verdict, the patterns, and ``ledger.verdict``.
    """

    def __init__(
        self,
        metric: Any,
        *,
        proposers: Sequence[Proposer] = (),
        reflection_lm: Any = None,
        bundles: Sequence[Sequence[Part]] = (),
        rounds: int = 1,
        folds: int = 3,
        alpha: float = ALPHA,
        keep: float = KEEP,
        nearest: int = 4,
        singles: int = 4,
        guarded: Mapping[str, float] | None = None,
        threads: int = 1,
        seed: int = 0,
        resamples: int = 4000,
        most: int = MEASURED,
        held_out: Mapping[str, Sequence[Any]] | None = None,
        heard: Callable[[float, Any], None] | None = None,
        tell: Callable[[str], None] | None = None,
        journal: Path | None = None,
    ) -> None:
        super().__init__()
        if min(rounds, most) < 1 or folds < 2 or not 0 < alpha < 1 or not 0 < keep <= 1:
            raise GoldassayError(
                "patching needs at least one round, two folds and an example, an alpha in (0, 1) and a keep in (0, 1]"
            )
        self.metric, self.threads, self.resamples, self.most, self.journal = metric, threads, resamples, most, journal
        self.guarded = guards(self.metric, guarded)
        own: list[list[Part]] = [[PerPattern(one) for one in proposers]] if proposers else []
        self.settings = Settings(
            bundles=[list(one) for one in bundles] or own or strongest_first(nearest, reflection_lm),
            rounds=rounds,
            folds=folds,
            alpha=alpha,
            keep=keep,
            singles=singles,
            seed=seed,
            held_out=dict(held_out or {}),
            heard=heard,
            tell=tell,
        )
        self.ledger = Ledger()

    def compile(
        self,
        student: dspy.Module,
        *,
        trainset: list[dspy.Example],
        valset: list[dspy.Example] | None = None,
        **_: object,
    ) -> dspy.Module:
        """The student with the edits that are kept; without ``valset`` everything is learnt from ``trainset``."""
        dev = list(valset or [])
        if not trainset:
            raise DataError("patching needs train examples to learn from")
        if not student.named_predictors():
            raise GoldassayError("this program has no predictor, so there is no prompt to patch")
        seed, tell = self.settings.seed, self.settings.tell
        shuffled = [trainset[index] for document in ordered(trainset, seed) for index in document]
        most = max(0, self.most - len(dev))
        examples = [*dev, *shuffled[: count_measured(len(trainset), len(dev), self.most, self.settings.races)]]
        if len(spare(shuffled, examples)) < 2 * LEAST:  # one document, or two: what was left out is no race
            examples = [*dev, *shuffled[:most]]
        if len(examples) < WINS and not self.settings.held_out:
            raise DataError(
                f"train and dev have {len(examples)} examples: nothing can be shown on fewer than {WINS}; add some"
            )
        bench = Bench(examples, self.metric, self.guarded, self.threads, seed, self.resamples, self.journal, tell)
        self.ledger = Ledger()
        campaign = Campaign(self.settings, bench, student, shuffled, dev, self.ledger)
        try:
            return campaign.run()
        finally:
            campaign.close()


def strongest_first(nearest: int = 4, reflection_lm: dspy.BaseLM | None = None) -> list[list[Part]]:
    """The bundles in the order in which they are tested; no result changes it."""
    words: list[Part] = [PerPattern(Rules()), Definitions(), ListLength(), LabelOrder()]
    if reflection_lm is not None:
        words.insert(0, PerPattern(Reflection(reflection_lm), 2))
    first: list[list[Part]] = [[NearestExamples(nearest)], [SelectedExamples(nearest)]] if nearest else []
    return [*first, [AnswerForm()], [OneCallAType()], [Revised(), Covering(), CounterExample()], words]
