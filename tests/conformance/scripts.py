"""Replays of what official scripts say of links and triples.

`coreference`: the 36 cases of the CoNLL reference scorer, whose values its test configuration holds as arithmetic; five
places are compared, as it does. `printed`: what a script printed for a gold and a system file, put beside them:

| suite | files | printed by |
|---|---|---|
| ``webnlg`` | ``Refs.xml``, ``NAME.xml``, ``NAME.txt`` | ``Evaluation_script.py Refs.xml NAME.xml`` |
| ``carb`` | ``test.tsv``, ``NAME.tsv``, ``NAME.txt`` | ``carb.py --gold test.tsv --tabbed NAME.tsv`` |
| ``neleval`` | ``gold.tsv``, ``NAME.tsv``, ``NAME.txt`` | ``neleval evaluate -g gold.tsv NAME.tsv`` |

Source: https://github.com/conll/reference-coreference-scorers, test/; https://github.com/WebNLG/WebNLG-Text-to-triples;
https://github.com/dair-iitd/CaRB; https://github.com/wikilinks/neleval
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.conformance.official import SuiteResult

import goldassay
from goldassay._support import files
from goldassay._support.exceptions import GoldassayError

CONFIGURATION = "CorefMetricTestConfig.pm"
METRICS = {"muc": "muc", "bcub": "b_cubed", "ceafm": "ceaf_m", "ceafe": "ceaf_e", "lea": "lea", "blanc": "blanc"}
CASE = re.compile(r'id\s*=>\s*"(\w+)".*?key_file\s*=>\s*"\w+/([^"]+)".*?response_file\s*=>\s*"\w+/([^"]+)"', re.DOTALL)
VALUES = re.compile(r'"(\w+)"\s*=>\s*\[([^\]]*)\]')
SIGNS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def number(text: str) -> float:
    """The value of written arithmetic.

    >>> number("(1+1/2+2/3)/6")
    0.3611111111111111
    """

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.BinOp):
            return SIGNS[type(node.op)](value(node.left), value(node.right))
        return float(ast.literal_eval(node))  # type: ignore[arg-type]

    return value(ast.parse(text.strip(), mode="eval").body)


def coreference(data: Path) -> SuiteResult:
    """Every value of the configuration; each metric has recall, precision and F1. A note counts the cases."""
    folder = data / "conll"
    result = SuiteResult("coreference")
    cases = []
    text = "\n".join(line.partition("#")[0] for line in files.lines(folder / CONFIGURATION))
    for block in re.split(r"\}\s*,\s*\{(?=\s*id)", text):
        case = CASE.search(block)
        if case is None:
            continue
        name, *pair = case.groups()
        wrong = result.total - result.reproduced
        values = goldassay.score("linking", *(folder / file for file in pair), protocol="conll", intervals=False).values
        for metric, numbers in VALUES.findall(block):
            rates = zip(("recall", "precision", "f1"), numbers.split(","), strict=True) if metric in METRICS else ()
            for rate, official in rates:
                ours = values[f"{METRICS[metric]}_{rate}"]
                result.near(f"{name} {metric} {rate}", number(official), ours, within=1e-5)
        cases.append(result.total - result.reproduced == wrong)
    result.note(f"{sum(cases)} of {len(cases)} cases")
    return result


def _webnlg(text: str) -> Iterator[tuple[str, str]]:
    blocks = re.findall(
        r"(Ent_type|Partial|Strict|Exact)\nCorrect.*?Precision: (\S+) Recall: (\S+)\s+F1: (\S+)", text, re.DOTALL
    )
    for place, (name, *values) in enumerate(blocks[:16]):  # four of whole triples, then four of each part
        part = ("", "subject_", "predicate_", "object_")[place // 4]
        rates = (f"{part}{name.lower()}_{rate}" for rate in ("precision", "recall", "f1"))
        yield from zip(rates, values, strict=True)


def _carb(text: str) -> Iterator[tuple[str, str]]:
    for values in re.findall(r"AUC: (\S+).*?\[\s*(\S+)\s+(\S+)\s+(\S+?)\s*\]", text):
        yield from zip(("AUC", "Precision", "Recall", "F1"), values, strict=True)


def _neleval(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines()[1:]:
        *_, precision, recall, fscore, measure = line.split("\t")
        rates = zip(("precision", "recall", "fscore"), (precision, recall, fscore), strict=True)
        yield from ((f"{measure}_{rate}", value) for rate, value in rates)


PRINTED = {
    "webnlg": ("triples", "webnlg", "Refs.xml", _webnlg),
    "carb": ("triples", "carb", "test.tsv", _carb),
    "neleval": ("linking", "tac", "gold.tsv", _neleval),
}


def printed(suite: str) -> Callable[[Path], SuiteResult]:
    """What replays the files of a suite: values as far as they were printed."""
    task, protocol, gold, parse = PRINTED[suite]

    def replay(data: Path) -> SuiteResult:
        folder, result = data / suite, SuiteResult(suite)
        texts = sorted(folder.glob("*.txt"))
        if not texts:
            raise GoldassayError(f"{folder} has no NAME.txt with what the script printed for NAME{Path(gold).suffix}")
        for text in texts:
            values = goldassay.score(
                task, folder / gold, text.with_suffix(Path(gold).suffix), protocol=protocol, intervals=False
            )
            for name, official in parse(files.text(text)):
                if name in values.values:
                    places = len(official.partition(".")[2])
                    result.near(
                        f"{text.stem} {name}", float(official), values.values[name], 0.51 * 10.0**-places + 1e-12
                    )
        return result

    return replay
