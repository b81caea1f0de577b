"""How answers are judged: by their words, and beside that by what they rest on.

Exact match is what a reader of a table wants, F1 says how near a wrong answer was: half and half, and both ask for an
empty answer where a question has none. The rest is measured with weight 0, for the report and the feedback:
retrieval in the same run (gold's ``documents`` are the relevant passages), the share of lost answers that retrieval
lost, and lexical support, which needs no judge and does not measure faithfulness. A demonstration must be all right.

``metric_with(judge)`` has faithfulness and relevance by a judge (``--judge-lm``); in ``metric``, which has none, they
have a value only where a prediction has verdicts. Both have the targets of the project's design and weight 0:
who wants to tune on them gives them weights here, or adds others of `goldassay.measures.answering`, such as
ClaimRate("claim_f1").
"""

from typing import Any

from goldassay import Metric
from goldassay.core.fields import read
from goldassay.core.measure import Measure
from goldassay.measures import answering, retrieval
from goldassay.measures.judged import can_answer


def relevant(gold: Any) -> Any:
    """The passages that hold the answer: none where there is no answer, ``None`` where gold does not name them."""
    return read(gold, "documents", None) or None if answering.answers(gold) else []


def results(pred: Any) -> Any:
    """The retrieved passages, also of a program that failed afterwards; ``None`` if it does not retrieve."""
    return None if pred is None else read(pred, "results", None)


def judged(judge: Any) -> list[Measure[Any]]:
    """Faithfulness and relevance: by a judge where there is one (a judge of support alone knows no relevance)."""
    return [
        answering.ClaimRate("faithfulness", judge),
        answering.Relevance(judge if can_answer(judge, "relevance") else None),
    ]


def metric_with(judge: Any = None) -> Metric:
    """The metric with a judge, bound to a model of its own: ``metric_with(goldassay.judges.judge("openai/…"))``."""
    return Metric(
        {
            answering.ExactMatch(): 0.5,
            answering.F1(): 0.5,
            **dict.fromkeys(judged(judge), 0.0),
            answering.LexicalSupport(): 0.0,
            retrieval.R(1, missing="skip"): 0.0,
            retrieval.R(5, missing="skip"): 0.0,
            answering.LostByRetrieval(): 0.0,
        },
        targets={"faithfulness": 0.80, "relevance": 0.75},
        state_of_the_art={"faithfulness": 0.85, "relevance": 0.82},
        pass_mark=1.0,
        columns={"gold.relevant": relevant, "pred.results": results},
    )


metric = metric_with()
