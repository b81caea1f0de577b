"""Metrics that are themselves tested: right predictions are damaged, and the table says which measure notices.

A measure that falls by less than 0.15 although every example is damaged is *blind* to the damage: ROUGE to a negation,
cosine to an echo of the question. Every damage that concerns a task is noticed by one of its measures; a harmless one
(another order of a list) is noticed by none. Both are tests.

Source: the idea is mutation testing (DeMillo, Lipton and Sayward, IEEE Computer 1978), turned on metrics; compare
Sai et al., Perturbation CheckLists for evaluating NLG evaluation metrics, EMNLP 2021.
"""

from benchmarks.mutation.damages import Damage
from benchmarks.mutation.running import DAMAGES, NOTICED, Reaction, table

__all__ = ["DAMAGES", "NOTICED", "Damage", "Reaction", "table"]
