"""How linking is judged: by the first candidate, by the rank of the right one, and by NIL.

Hits@1 is what ends up in a database, so it carries half of the weight. MRR says how near the right id was, which is
what an optimizer can climb on, and carries 0.3. F1 of NIL carries 0.2: one in six or seven mentions of heritage
bodies is in no knowledge base, and a program that links everything must not pass unseen. Hits and MRR have one
denominator, every gold mention. Targets and the state of the art are those of the project's design. Only an example
that is all right may be shown as a demonstration (``pass_mark`` 1).
"""

from goldassay import Metric
from goldassay.measures import linking

metric = Metric(
    {linking.HitsAt(1): 0.5, linking.MRR(): 0.3, linking.NILF1(): 0.2},
    targets={"hits@1": 0.70, "mrr": 0.75, "nil_f1": 0.65},
    state_of_the_art={"hits@1": 0.75, "mrr": 0.82, "nil_f1": 0.72},
    pass_mark=1.0,
)
