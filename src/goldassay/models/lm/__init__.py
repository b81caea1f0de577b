"""Language models: by name (`resolve`), in this process (`LocalLM`), with rate limits (`limited`) and short prompts.

Local models run in this process through xllamacpp (extra ``local``), on the processors that are idle when a model is
loaded, or on ``GOLDASSAY_LM_THREADS`` of them. Their answers are constrained by the program's typed outputs, so that
even a very small model returns what parses. Files of models and rate limits are described in
`goldassay.models.lm.models`.
"""

from goldassay._support.exceptions import ModelError
from goldassay.models.lm.grammar import Asked, Copied
from goldassay.models.lm.local import LocalLM, TerseAdapter
from goldassay.models.lm.models import (
    DEFAULT_MODEL,
    EndpointLimit,
    Model,
    RateLimit,
    adapter,
    bound_model,
    check_bound,
    for_program,
    limited,
    options_of,
    resolve,
    share_among,
    watch,
)

__all__ = [
    "DEFAULT_MODEL",
    "Asked",
    "Copied",
    "EndpointLimit",
    "LocalLM",
    "Model",
    "ModelError",
    "RateLimit",
    "TerseAdapter",
    "adapter",
    "bound_model",
    "check_bound",
    "for_program",
    "limited",
    "options_of",
    "resolve",
    "share_among",
    "watch",
]
