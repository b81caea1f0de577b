"""Conformance: replay official results with our measures, and count the numbers that come out the same.

Suites: ``trec_eval`` (its own test files), ``text2kgbench`` (every sentence of the systems that are given),
``ragchecker`` (the example of RAGChecker), ``squad`` (the published rules, and gold against itself), ``hipe-scorer``
(the unit data of the HIPE scorer), ``coreference`` (the 36 cases of CoNLL's scorer), ``webnlg``, ``carb`` and
``neleval`` (what these scripts printed), ``kilt``, ``quoref``, ``triviaqa`` and ``drop`` (the tests of these scripts),
``hipe-official`` (the HIPE scorer's counts on 14 damaged system files) and ``hipe2022`` (folders gold, systems and
official of a campaign's files). `live` compares with installed implementations
and needs no files; `official` gets those that have a public home.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.conformance import hipe as hipe_scorer
from tests.conformance import published, questions, scripts
from tests.conformance.official import SuiteResult

from goldassay._support.exceptions import GoldassayError

SUITES: dict[str, tuple[str, Callable[[Path], SuiteResult]]] = {
    hipe_scorer.NAME: ("hipe-scorer", hipe_scorer.run),
    hipe_scorer.DAMAGED: ("hipe-official", hipe_scorer.damaged),
    "trec_eval": ("trec", published.trec_eval),
    "text2kgbench": ("text2kgbench", published.text2kgbench),
    "ragchecker": ("ragchecker", published.ragchecker),
    "squad": ("xquad", published.squad),
    "coreference": ("conll", scripts.coreference),
    **{name: (name, scripts.printed(name)) for name in scripts.PRINTED},
    **{name: (name, questions.expected(name)) for name in questions.EXPECTED},
    "drop": ("drop", questions.drop),
    hipe_scorer.CAMPAIGN: (f"{hipe_scorer.CAMPAIGN}/official", hipe_scorer.campaign),
}
"""By name: the folder of the data that it needs, and what replays it."""


def run(data: Path, suites: Sequence[str] | None = None) -> list[SuiteResult]:
    """Replay the suites named, or all whose data is there.

    >>> run(Path("nowhere"))
    Traceback (most recent call last):
    goldassay._support.exceptions.GoldassayError: nowhere: no such folder; name the folder of official data with --data
    """
    if not data.is_dir():
        raise GoldassayError(f"{data}: no such folder; name the folder of official data with --data")
    wrong = [name for name in suites or () if name not in SUITES]
    if wrong:
        raise GoldassayError(f"no suite {wrong[0]!r}; there are {', '.join(SUITES)}")
    chosen = suites or [name for name, (folder, _) in SUITES.items() if (data / folder).is_dir()]
    if not chosen:
        raise GoldassayError(f"{data} holds none of {', '.join(folder for folder, _ in SUITES.values())}")
    results = []
    for name in chosen:
        folder, replay = SUITES[name]
        if not (data / folder).is_dir():
            raise GoldassayError(f"the suite {name} needs {data / folder}, which is not there")
        results.append(replay(data))
    return results


__all__ = ["SUITES", "SuiteResult", "run"]
