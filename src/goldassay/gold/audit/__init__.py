"""``audit`` a gold set: everything that is wrong in it, found in one pass and reported with its place.

`records` has the faults of records, `cards` those of cards, `kits` those of the YAML files of a Wikidata kit.

>>> import json, tempfile
>>> from pathlib import Path
>>> file = Path(tempfile.mkdtemp()) / "extraction.jsonl"
>>> span = {"start": 4, "end": 9, "type": "TOP", "text": "Delft"}
>>> _ = file.write_text(json.dumps({"id": "a", "text": "In Delft", "entities": [span]}))
>>> finding = audit(file).findings[0]
>>> finding.kind, finding.message, finding.fix
('offset', '4:9 reaches beyond the text, which has 8 characters; it is at 3:8', {'start': 3, 'end': 8})
"""

from __future__ import annotations

from goldassay.gold.audit.auditing import audit, repaired
from goldassay.gold.audit.findings import FINDING_KINDS, Finding, GoldAudit

__all__ = ["FINDING_KINDS", "Finding", "GoldAudit", "audit", "repaired"]
