"""Replays of what the tests of question answering's evaluation scripts expect.

`kilt` and `quoref`: the numbers of their own tests, for the files beside them. `triviaqa`: the sample, of whose two
pages one is answered, rightly. `drop`: every assertion of its tests, read (not run) from their file.

Source: https://github.com/facebookresearch/KILT, tests/; https://github.com/mandarjoshi90/triviaqa, samples/;
https://github.com/allenai/allennlp-reading-comprehension, tests/eval/
"""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.conformance.official import SuiteResult

import goldassay
from goldassay._support import files
from goldassay.ext.protocols.answering import drop as drop_rates
from goldassay.results.result import Result

KILT = {
    ("gold1.out", "guess1_1.out"): {
        **{"KILT-em": 1 / 3, "KILT-f1": 1 / 3, "KILT-rougel": 0.3333333316666667, "Rprec": 1 / 3, "recall@5": 1 / 3},
        **{"em": 2 / 3, "f1": 0.8333333333333334, "rougel": 0.7222222178240741},
    },
    ("gold1.out", "gold1.out"): {
        **{"KILT-em": 1, "KILT-f1": 1, "KILT-rougel": 0.999999995, "em": 1, "f1": 1, "rougel": 0.999999995},
        **{"Rprec": 1, "recall@5": 1},
    },
    ("gold3.out", "guess3_1.out"): {
        **{"KILT-em": 0, "KILT-f1": 0.25510204081632654, "KILT-rougel": 0.22352940932318338, "em": 0},
        **{"f1": 0.5102040816326531, "rougel": 0.44705881864636676},
    },
    ("gold2.out", "guess2_1.out"): {"Rprec": 1 / 2, "recall@5": 2 / 3},
    ("gold2.out", "guess2_2.out"): {"Rprec": 1, "recall@5": 1 / 3},
}
QUOREF = {
    ("quoref_sample.json", "quoref_sample_predictions.json"): {"em": 0.5, "f1": 0.625},
    ("quoref_sample_predictions.json", "quoref_sample_predictions.json"): {"em": 1.0, "f1": 1.0},
}
TRIVIAQA = {("triviaqa_sample.json", "sample_predictions.json"): {"exact_match": 0.5, "f1": 0.5}}
EXPECTED = {"kilt": KILT, "quoref": QUOREF, "triviaqa": TRIVIAQA}
DROP_TESTS = "drop_eval_test.py"


def expected(protocol: str) -> Callable[[Path], SuiteResult]:
    """What replays the pairs of files of a protocol."""

    def replay(data: Path) -> SuiteResult:
        result = SuiteResult(protocol)
        for (gold, pred), official in EXPECTED[protocol].items():
            values = _values(protocol, data / protocol / gold, data / protocol / pred)
            for name, value in official.items():
                result.near(f"{pred} {name}", value, values.get(name), within=1e-12)
        return result

    return replay


def _values(protocol: str, gold: Path, pred: Path) -> Mapping[str, float | None]:
    card: Result = goldassay.score("answering", gold, pred, protocol=protocol, intervals=False)
    return card.values


def drop(data: Path) -> SuiteResult:
    """Exact match and F1 of each assertion about two answers or two files."""
    result = SuiteResult("drop")
    tree = ast.parse(files.text(data / "drop" / DROP_TESTS))
    names: dict[str, Any] = {}
    for node in (node for kind in ast.walk(tree) if isinstance(kind, ast.FunctionDef) for node in kind.body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = ast.literal_eval(node.value)
        test = node.test if isinstance(node, ast.Assert) else None
        call = test.left if isinstance(test, ast.Compare) else None
        if isinstance(test, ast.Compare) and isinstance(call, ast.Call) and ast.unparse(call.func) in OURS:
            options = [*call.args, *(option.value for option in call.keywords)]
            sides = [names[each.id] if isinstance(each, ast.Name) else ast.literal_eval(each) for each in options]
            official, ours = ast.literal_eval(test.comparators[0]), OURS[ast.unparse(call.func)](*sides)
            for name, value, own in zip(("em", "f1"), official, ours, strict=True):
                result.near(f"line {node.lineno} {name}", value, own, within=1e-12)
    return result


def _of_files(gold: object, pred: object) -> tuple[float | None, float | None]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("gold.json", "pred.json")]
        for path, content in zip(paths, (gold, pred), strict=True):
            path.write_text(json.dumps(content), encoding="utf-8")
        values = _values("drop", *paths)
    return values["em"], values["f1"]


OURS: dict[str, Callable[..., tuple[float | None, float | None]]] = {
    "get_metrics": drop_rates,
    "evaluate_json": _of_files,
}
