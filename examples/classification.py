"""Classification: one label for a text, accuracy and macro-F1. Run it: python examples/classification.py"""

import dspy

from goldassay import Metric, evaluate
from goldassay.measures import classification

WORDS = {"painting": "museum", "letters": "archive", "books": "library"}


class Keywords(dspy.Module):
    """The label of the first word that it knows, else the commonest one."""

    def forward(self, text):
        return dspy.Prediction(label=next((label for word, label in WORDS.items() if word in text), "museum"))


texts = {
    "Shows paintings of the Golden Age.": "museum",
    "A thousand paintings, most of them by women.": "museum",
    "Keeps the letters of the city since 1400.": "archive",
    "Deeds, charters and maps of the province.": "archive",
    "Lends books to everybody.": "library",
    "Old books, and paintings of their writers.": "library",
}
gold = [dspy.Example(text=text, label=label).with_inputs("text") for text, label in texts.items()]
metric = Metric({classification.Accuracy(): 0.5, classification.LabelF1(over="supported"): 0.5})
run = evaluate(Keywords(), gold, metric, progress=False)
interval = run.intervals["macro_f1_supported"]
print(f"macro-F1 {run.values['macro_f1_supported']:.3f} [{interval.low:.3f}, {interval.high:.3f}] on {len(gold)} texts")
print("An error:", next(error.message for case in run.cases for error in case.errors))
