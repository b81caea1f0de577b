"""Agreement between annotators, with bootstrap intervals: on spans by pairwise F1, on values by kappa and alpha.

Values are the label of a document, the identifier of a mention, the grade of a judgement, an answer. Secondary labels
are a set, so they are compared by F1 like spans, if anybody gave one.

Sets are spans, statements and fields: pairwise F1, where one annotator stands for gold. F1 is the same whoever stands
for gold, and it needs no count of what nobody marked, which spans do not have; a kappa over words counts all the words
outside as agreement and looks better than it is (Hripcsak and Rothschild 2005). The kappa is given as ``word_kappa``
because cards promise it, and ``word_alpha`` is Krippendorff's over the words that at least one annotator marked.

>>> one = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "A"}]
>>> two = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "L"}]
>>> result = agree({"Ada": one, "Bo": two}, "classification")
>>> result.figure("observed").value, result.disagreements[0].values
(0.5, {'Ada': 'A', 'Bo': 'L'})
"""

from __future__ import annotations

from goldassay.gold.agreement.annotators import agree, agree_files
from goldassay.gold.agreement.coefficients import alpha, cohen_kappa, fleiss_kappa
from goldassay.gold.agreement.results import Agreement, Disagreement, Figure

__all__ = ["Agreement", "Disagreement", "Figure", "agree", "agree_files", "alpha", "cohen_kappa", "fleiss_kappa"]
