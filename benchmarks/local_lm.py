"""A local model through DSPy beside the same prompts asked of llama.cpp itself: calls a second, tokens a call.

The prompts and grammars that `dspy.Predict` sends are recorded once and then asked of the model directly, in the same
order, so both sides share prefixes alike. Also: the same answers as JSON and as lines, and with copied names.
"""

from __future__ import annotations

import time
from typing import Any

import dspy

from goldassay import load, workspace
from goldassay.models.lm import TerseAdapter, resolve

EXAMPLES, DEMOS = 12, 4


def main() -> None:
    data = load("heritage", task="extraction").extraction
    program = workspace.target("extraction").tunable()
    demos = [{"text": example["text"], **program.to_demo(example)} for example in data.train[:DEMOS]]
    texts = [example["text"] for example in data.dev[:EXAMPLES]]
    for form, copied in (("json", False), ("json", True), ("lines", False), ("lines", True)):
        ours, tokens, bodies = through_dspy(program, demos, texts, TerseAdapter(form, copied=copied))
        raw = directly(bodies)
        print(
            f"{form:<6} {'copied' if copied else 'free  '} {EXAMPLES / ours:6.2f} calls/s, llama.cpp itself "
            f"{EXAMPLES / raw:6.2f} ({raw / ours:.0%} of it); {tokens / EXAMPLES:.1f} new tokens a call",
            flush=True,
        )


def through_dspy(program: Any, shown: list[Any], texts: list[str], adapter: Any) -> tuple[float, int, list[Any]]:
    """Seconds, new tokens, and what was asked."""
    lm = resolve(cache=False)
    copy = program.deepcopy()
    copy.predictors()[0].demos = shown
    with dspy.context(lm=lm, adapter=adapter):
        copy(text=texts[-1])  # the model is loaded, the prefix is read
        before, used = time.perf_counter(), 0
        for text in texts:
            copy(text=text)
            used += int(lm.history[-1]["usage"]["completion_tokens"])
        seconds = time.perf_counter() - before
    calls = lm.history[-len(texts) :]
    settings = {key: lm.kwargs[key] for key in ("temperature", "max_tokens")}
    return seconds, used, [{"messages": call["messages"], **settings, **call["kwargs"]["extra_body"]} for call in calls]


def directly(bodies: list[Any]) -> float:
    """Seconds for the same bodies asked of the model alone."""
    model: Any = resolve()
    handle = model.server.handle
    handle.handle_chat_completions(bodies[-1])
    before = time.perf_counter()
    for body in bodies:
        handle.handle_chat_completions(body)
    return time.perf_counter() - before


if __name__ == "__main__":
    main()
