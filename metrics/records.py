"""How records are judged: by F1 over their fields, with whole records and the tree edit accuracy beside it.

Field F1 alone makes the score: it rises with every field that a patch puts right. The share of records without any
error is what a catalogue needs in the end, and is measured for its target; it weighs nothing, since a single example
of many fields hardly ever reaches it. Institutions and sources are compared without case; an amount may differ by half
a cent. A demonstration must be all right. The project's design names no targets for records; these are ours.
"""

from goldassay import Metric
from goldassay.measures import records

COMPARE = {"institution": "normalised", "source": "normalised", "price.amount": "money", "objects.number": "identifier"}

metric = Metric(
    {
        records.FieldF1(compare=COMPARE): 1.0,
        records.RecordAccuracy(compare=COMPARE): 0.0,
        records.TreeEdit(): 0.0,
    },
    targets={"field_f1": 0.85, "record_accuracy": 0.30},
    pass_mark=1.0,
)
