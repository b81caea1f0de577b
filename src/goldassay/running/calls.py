"""Every call of a run's models goes through here: counted, limited, tried again, and recorded with its example.

While `watching` lasts, the models themselves are watched, so that it does not matter in which thread a program calls
them: in the run's own, in those of ``dspy.Parallel``, or in threads of its own (such calls belong to no example, and
are counted for the run). DSPy's retries are off meanwhile, since there is one policy, this:

* an answer from DSPy's cache is counted as cached; it waits for nothing and costs nothing;
* every other call waits for the `Limiter` of its endpoint;
* what may pass (429, 5xx, no answer in time, a broken connection) is tried again, ``num_retries`` times (the model's
  own setting; a 429 up to `REFUSALS` times, unless that is 0), after the seconds that the server said, else after 1, 2,
  4 … seconds, with a part drawn at random. A server that asks for more than `LONGEST` seconds is not waited for.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import dspy
from dspy.clients.execution import _cached, _store, aexecute, execute, finalize, prepare
from dspy.utils.callback import with_callbacks
from dspy.utils.exceptions import LMRateLimitError, is_retryable_lm_error

from goldassay._dspy_compat import UsageTracker
from goldassay.running.budget import Meter
from goldassay.running.rows import answer, messages

REFUSALS = 10  # how often a call that was refused for coming too fast is made again
LONGEST = 120.0  # seconds that a server may ask us to wait
ACCOUNT = "goldassay_account"  # the setting of DSPy's that carries the account into its threads
TOKENS = ("prompt_tokens", "completion_tokens")

SLICE = 0.5


def limiter(_: object) -> Any:
    """None: a model keeps to its limits by itself (`goldassay.lm.limits`)."""
    return None


_own: ContextVar[bool] = ContextVar("goldassay_own_retries", default=False)
_open: list[Account] = []
_watched: dict[int, tuple[Any, type, int]] = {}
_classes: dict[type, type] = {}
_lock = threading.Lock()


class Account(UsageTracker):  # type: ignore[misc]
    """What an example asked of models: calls, cached answers, tokens, and (``record``) prompts with raw answers.

    As DSPy's usage tracker it also hears of models that are not watched. Threads of one example share it. Each example
    has one of its own, so that a thread which outlives its example cannot be put down to the next.
    """

    def __init__(self, meter: Meter | None = None, record: bool = False) -> None:
        super().__init__()
        self.meter, self.record, self.ended = meter or Meter(), record, False
        self.counted: dict[str, Counter[str]] = {}
        self.recorded: list[dict[str, Any]] = []
        self.waited = 0.0

    def __deepcopy__(self, memo: dict[int, Any]) -> Account:
        return self  # DSPy copies trackers for its threads, and forgets what the copies heard

    def note(self, model: str, **counts: int) -> None:
        """Add to what one model was asked; once the example has ended, to what the run cannot put down to any."""
        with _lock:
            kept = _open[-1] if self.ended and _open else self
            kept.counted.setdefault(model, Counter()).update(counts)

    def end(self) -> tuple[dict[str, int], list[dict[str, object]]]:
        """The example is over: what it used, and its prompts with raw answers where they are kept."""
        with _lock:
            self.ended = True
            recorded = list(self.recorded)
        return self.usage, recorded

    @property
    def usage(self) -> dict[str, int]:
        """Calls, cached answers and tokens; empty where no model was asked.

        A watched model is counted here and heard of by DSPy's tracker too, so the larger of both is right.
        """
        if not self.counted and not self.usage_data:
            return {}
        out: Counter[str] = Counter()
        with _lock:
            for model in {*self.counted, *self.usage_data}:
                heard, counted = list(self.usage_data.get(model, ())), self.counted.get(model, Counter())
                out["calls"] += max(counted["calls"], len(heard))
                out["cached"] += counted["cached"]
                for name in TOKENS:
                    out[name] += max(counted[name], sum(int(one.get(name) or 0) for one in heard))
        found = {name: out[name] for name in ("calls", *TOKENS)}
        return (found | ({"cached": out["cached"]} if out["cached"] else {})) if any(out.values()) else {}


@contextmanager
def watching(models: Sequence[object], meter: Meter) -> Iterator[Account]:
    """Watch these models; gives the account of the calls that belong to no example."""
    loose = Account(meter)
    with _lock:
        for lm in models:
            _, plain, times = _watched.get(id(lm), (lm, type(lm), 0))
            if times or plain.__call__ is dspy.BaseLM.__call__:
                _watched[id(lm)] = (lm, plain, times + 1)
                lm.__class__ = _class(plain)
        _open.append(loose)
    try:
        yield loose
    finally:
        with _lock:
            _open.remove(loose)
            for lm in models:
                _, plain, times = _watched.pop(id(lm), (lm, type(lm), 0))
                if times > 1:
                    _watched[id(lm)] = (lm, plain, times - 1)
                elif times:
                    lm.__class__ = plain


def _class(plain: type) -> type:
    """A model's own class with `_Watched` before it, under the same name."""
    if issubclass(plain, _Watched):
        return plain
    if plain not in _classes:
        about = {"__module__": plain.__module__, "__qualname__": plain.__qualname__}
        _classes[plain] = type(plain.__name__, (_Watched, plain), about)
    return _classes[plain]


class _Watched:
    """Comes before a model's own class; where nothing is watched (any more) it does nothing."""

    @property
    def num_retries(self) -> int:
        """The model's own setting, but for the time in which we try again ourselves."""
        return 0 if _own.get() else int(vars(self).get("num_retries", 0))

    @num_retries.setter
    def num_retries(self, value: int) -> None:
        vars(self)["num_retries"] = value

    @with_callbacks  # type: ignore[untyped-decorator]
    def __call__(self, prompt: object = None, *, messages: object = None, **options: Any) -> Any:
        call = _with_address(self, prepare(self, prompt, messages, options))
        account, started = _account(), time.perf_counter()
        result = _cached(self, call, False)
        try:
            if result is None:
                result = execute(self, call) if account is None else _sync(self, call, account)
        except BaseException as error:
            _record(self, account, call, None, error, started)
            raise
        return _record(self, account, call, result, finalize(self, call, result), started)

    @with_callbacks  # type: ignore[untyped-decorator]
    async def acall(self, prompt: object = None, *, messages: object = None, **options: Any) -> Any:
        call = _with_address(self, await asyncio.to_thread(prepare, self, prompt, messages, options, asynchronous=True))
        account, started = _account(), time.perf_counter()
        result = await asyncio.to_thread(_cached, self, call, True) if call.cache else None
        try:
            if result is None:
                result = await (aexecute(self, call) if account is None else _async(self, call, account))
        except BaseException as error:
            _record(self, account, call, None, error, started)
            raise
        return _record(self, account, call, result, finalize(self, call, result), started)


def _with_address(lm: Any, call: Any) -> Any:
    """The call, cached apart for each address: DSPy's own key leaves it out, and gives one server's answers as those of
    another whose model has the same name."""
    settings = getattr(lm, "kwargs", None) or {}
    address = settings.get("api_base") or settings.get("base_url")
    if address and call.cache:
        plain = call.key
        call.key = lambda *asked: {**plain(*asked), "address": str(address)}
    return call


def _account() -> Account | None:
    """The account of the example at work, or that of the last watch that is open."""
    found: Account | None = dspy.settings.get(ACCOUNT)
    return found if found is not None else (_open[-1] if _open else None)


def aside() -> Account | None:
    """An account of its own on the same budget: what is asked on it is put down to no example."""
    found = _account()
    return None if found is None else Account(found.meter)


def _record(lm: Any, account: Account | None, call: Any, result: Any, said: Any, started: float) -> Any:
    """Count what came back, and keep it with its prompt where that is asked for; gives ``said`` back."""
    if account is None:
        return said
    model = str(lm.model)
    if result is not None and result.cache_hit:
        account.note(model, cached=1)
        account.meter.from_cache()
    elif result is not None:
        used = {name: int(result.usage.get(name) or 0) for name in TOKENS}
        account.note(model, **used)
        account.meter.spent(model, int(result.usage.get("total_tokens") or sum(used.values())), result.cost)
    if account.record:
        kept: dict[str, Any] = {"lm": model, "prompt": messages({"messages": call.messages, "prompt": call.prompt})}
        kept["seconds"] = round(time.perf_counter() - started, 6)
        came = {"error": str(said)[:2000]} if isinstance(said, BaseException) else {"answer": answer(said)}
        account.recorded.append({**kept, **came})
    return said


def _tries(lm: dspy.BaseLM, call: Any, account: Account) -> Generator[float | None, Any, Any]:
    """The one policy: seconds to wait for, or ``None`` where the call is to be made; its result in the end."""
    gate, own = limiter(lm), int(vars(lm).get("num_retries", 0) or 0)
    tokens = len(str(call.legacy.get("messages") or call.prompt or "")) / 4
    for attempt in range(1 + max(own, REFUSALS if own else 0)):
        while gate is not None and (wait := gate.ask(tokens)):
            account.waited += yield wait
        began = gate.clock() if gate else 0.0
        try:
            account.meter.take()
            account.note(str(lm.model), calls=1)
            result = yield None
        except BaseException as error:
            pause = _pause(error, attempt, own)
            if gate is not None and isinstance(error, LMRateLimitError):
                gate.refused(began, pause if getattr(error, "retry_after", None) is not None else None)
            elif gate is not None:
                gate.failed(isinstance(error, Exception) and is_retryable_lm_error(error))
            if pause is None:
                raise
        else:
            if gate is not None:
                gate.answered(tokens, float(result.usage.get("total_tokens") or 0))
            return result
        until = time.monotonic() + pause
        while (left := until - time.monotonic()) > 0:
            account.waited += yield min(left, SLICE)
    raise AssertionError("the last try returns or raises")


def _pause(error: BaseException, attempt: int, own: int) -> float | None:
    """Seconds until a failed call is made again; ``None`` where it is not."""
    if not isinstance(error, Exception) or not is_retryable_lm_error(error):
        return None
    most = max(own, REFUSALS if own else 0) if isinstance(error, LMRateLimitError) else own
    said = getattr(error, "retry_after", None)
    if attempt >= most or (said is not None and said > LONGEST):
        return None
    return float(said) if said is not None else min(2.0**attempt, 30.0) * random.uniform(0.5, 1.0)


def _sync(lm: Any, call: Any, account: Account) -> Any:
    gate = limiter(lm)
    sleep: Callable[[float], None] = time.sleep if gate is None else gate.sleep
    policy = _tries(lm, call, account)
    step = next(policy)
    try:
        while True:
            began = time.monotonic()
            if step is not None:
                sleep(step)
                step = policy.send(time.monotonic() - began)
                continue
            try:
                with _once(call):
                    result = execute(lm, call)
            except BaseException as error:  # noqa: BLE001  the policy decides
                step = policy.throw(error)
            else:
                _store(lm, call, result, False)
                step = policy.send(result)
    except StopIteration as done:
        return done.value


async def _async(lm: Any, call: Any, account: Account) -> Any:
    policy = _tries(lm, call, account)
    step = next(policy)
    try:
        while True:
            began = time.monotonic()
            if step is not None:
                await asyncio.sleep(min(step, 0.02))
                step = policy.send(time.monotonic() - began)
                continue
            try:
                with _once(call):
                    result = await aexecute(lm, call)
            except BaseException as error:  # noqa: BLE001  the policy decides
                step = policy.throw(error)
            else:
                await asyncio.to_thread(_store, lm, call, result, True)
                step = policy.send(result)
    except StopIteration as done:
        return done.value


@contextmanager
def _once(call: Any) -> Iterator[None]:
    """One attempt: DSPy neither tries again nor looks into its cache, which was done."""
    cache, call.cache = call.cache, False
    token = _own.set(True)
    try:
        yield
    finally:
        _own.reset(token)
        call.cache = cache
