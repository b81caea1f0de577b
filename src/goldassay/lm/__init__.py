"""Language models: by name (`resolve`), in this process (`LocalLM`), with rate limits (`limited`) and short prompts.

Local models run in this process through xllamacpp (extra ``local``), on the processors that are idle when a model is
loaded, or on ``GOLDASSAY_LM_THREADS`` of them. Their answers are constrained by the program's typed outputs, so that
even a very small model returns what parses. Files of models are described in `goldassay.lm.models`, rate limits in
`goldassay.lm.limits`.
"""

from goldassay.exceptions import ModelError
from goldassay.lm.grammar import Asked, Copied
from goldassay.lm.limits import EndpointLimit, RateLimit, limited, share_among, watch
from goldassay.lm.local import LocalLM
from goldassay.lm.models import DEFAULT, Model, adapter, for_program, options_of, resolve
from goldassay.lm.terse import TerseAdapter

__all__ = [
    "DEFAULT",
    "Asked",
    "Copied",
    "EndpointLimit",
    "LocalLM",
    "Model",
    "ModelError",
    "RateLimit",
    "TerseAdapter",
    "adapter",
    "for_program",
    "limited",
    "options_of",
    "resolve",
    "share_among",
    "watch",
]
