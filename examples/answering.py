"""Answering: short answers from a passage, or none, exact match and F1. Run it: python examples/answering.py"""

import re

import dspy

from goldassay import Metric, evaluate
from goldassay.measures import answering

PASSAGE = "The museum of Jan Bakker opened in 1884 in Delft. It has 42 rooms and a garden."


class Rules(dspy.Module):
    """The first year for when, the first small number for how many, the first capitals for who."""

    def forward(self, question):
        patterns = {"When": r"\b\d{4}\b", "How many": r"\b\d{1,3}\b", "Who": r"(?!The)[A-Z]\w+ [A-Z]\w+"}
        pattern = next((pattern for word, pattern in patterns.items() if question.startswith(word)), "$")
        return dspy.Prediction(answer=re.search(pattern, PASSAGE)[0])


questions = {
    "When did the museum open?": ["1884", "in 1884"],
    "How many rooms are there?": ["42", "42 rooms"],
    "Who founded the museum?": ["Jan Bakker", "Bakker"],
    "Where is it?": ["Delft", "in Delft"],
    "When was it rebuilt?": [],  # the passage does not say it: the right answer is empty
}
gold = [
    dspy.Example(question=question, answers=answers).with_inputs("question") for question, answers in questions.items()
]
metric = Metric({answering.ExactMatch(): 0.5, answering.F1(): 0.5})
run = evaluate(Rules(), gold, metric, progress=False)
interval = run.intervals["f1"]
print(f"F1 {run.values['f1']:.3f} [{interval.low:.3f}, {interval.high:.3f}] on {len(gold)} questions")
print("An error:", next(error.message for case in run.cases for error in case.errors))
