"""The event loop of servlets: asyncio in the time of the journal. Used where the servlet loads asyncio.

Nothing happens while code runs: there are no sockets and no threads, and host functions block. So what tasks ask of the host is
collected, and sent together once no task can go on by itself; then timers are waited for.
"""

import asyncio
import contextlib
import sys
import threading
import time
from asyncio import events, tasks, timeouts
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from . import _asks, _calls, _drive, _host
from ._drive import Deadlock
from ._errors import folder_of
from ._host import WARN, running

type _Answer = dict[str, Any]
type _Cause = tuple[Callable[..., Any], object]
"""What ends a wait at a time, and whose wait: such as `asyncio.timeout` and a task."""


class _Waiting:
    """A request of a task that waits to be sent."""

    __slots__ = ("future", "interrupted_by", "request", "task")

    def __init__(self, request: dict[str, Any], loop: Loop) -> None:
        self.request = request
        self.future: asyncio.Future[_Answer] = loop.create_future()
        self.task = asyncio.current_task(loop)
        self.interrupted_by: set[_Cause] = set()

    def settle(self, answer: _Answer) -> None:
        if not self.future.done():
            self.future.set_result(answer)


class _Task(asyncio.Task[Any]):
    """Knows who has begun it. A set has tasks in the same order in each run, wherever in memory they are."""

    def __init__(self, coro: Any, loop: Loop, **options: Any) -> None:
        self.begun_by = asyncio.current_task(loop)
        loop.begun += 1
        self._number = loop.begun
        super().__init__(coro, loop=loop, **options)

    def __hash__(self) -> int:
        return self._number


class Loop(asyncio.BaseEventLoop):
    """One serves all calls, so that locks and queues at module scope work in each; others serve `asyncio.run`."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self
        self._asks: list[_Waiting] = []
        self._calls: list[_Waiting] = []
        self._closing: set[asyncio.Task[Any]] = set()
        self.begun = 0
        """How many tasks this call has begun."""

    def drive(self, awaitable: Awaitable[Any]) -> Any:
        """Runs an awaitable as a task, which begins at once: most come to their end before they wait for anything."""
        coroutine = awaitable if asyncio.iscoroutine(awaitable) else _awaited(awaitable)
        self._thread_id = _THREAD
        self.begun = 0
        _drive.asker = self
        events._set_running_loop(self)
        task = None
        try:
            task = self.create_task(coroutine, eager_start=True)
            if (
                not task.done()
                or self._ready
                or self._scheduled
                or self._asks
                or self._calls
                or self._asyncgens
            ):
                self._run_tasks(task)
        except BaseException:
            # Of the loop, such as `SystemExit`: what the handler raises is the result of its task.
            self._end_tasks()
            raise
        else:
            return task.result()
        finally:
            # An error knows this frame: it would be garbage only together with its task.
            task = None
            self._stopping = False
            self._ready.clear()
            self._scheduled.clear()
            self._asks.clear()
            self._calls.clear()
            self._closing.clear()
            events._set_running_loop(None)
            _drive.asker = None
            self._thread_id = None

    def _run_tasks(self, task: asyncio.Task[Any]) -> None:
        """Runs all tasks until this one is done; others are cancelled then."""
        while not task.done():
            self._run_once()
            if self._stopping:
                raise RuntimeError("The event loop was stopped, and the handler has not ended.")
        left = asyncio.all_tasks(self) - self._closing
        if left:
            text = f"{running.what} has ended before {len(left)} of its tasks, which are cancelled"
            _host.log(WARN, f"{text}: await them. They are at {_places_of(left)}.".encode())
        for one in left:
            one.cancel()
        for generator in list(self._asyncgens):
            self._asyncgen_finalizer_hook(generator)
        left |= self._closing
        with contextlib.suppress(Deadlock):
            while not self._stopping and not all(one.done() for one in left):
                self._run_once()
        self._end_tasks()

    def _end_tasks(self) -> None:
        """Ends all tasks, whatever they wait for: one that is left would go on in a later call."""
        left = asyncio.all_tasks(self)
        with contextlib.suppress(BaseException):
            for one in left:
                one._log_destroy_pending = False
                one.cancel()
                with contextlib.suppress(BaseException):
                    one.get_coro().close()  # type: ignore[union-attr]
            while self._ready and not all(one.done() for one in left):
                self._run_once()
        for one in left:
            # That it was ended is no error to be logged.
            one._log_traceback = False

    # --- what is there in place of a selector

    def select(self, timeout: float | None) -> tuple[()]:
        """Called with 0 where a task can go on, and with None where there is no timer."""
        if timeout == 0:
            return ()
        if self._calls:
            self._send_calls()
        elif self._asks:
            self._send_asks()
        elif timeout is None:
            places = _places_of(asyncio.all_tasks(self))
            raise Deadlock(
                f"{running.what or 'Module scope'} awaits something that can never happen, at {places}: nothing else runs."
            )
        else:
            time.sleep(timeout)
        return ()

    def _process_events(self, event_list: object) -> None: ...

    def _write_to_self(self) -> None: ...

    # --- requests to the host

    def ask(self, method: str, params: dict[str, Any]) -> Awaitable[_Answer]:
        waiting = _Waiting({"method": method, "params": params}, self)
        self._asks.append(waiting)
        return waiting.future

    def call_tool(self, name: str, arguments: dict[str, Any]) -> Awaitable[_Answer]:
        waiting = _Waiting({"name": name, "arguments": arguments}, self)
        self._calls.append(waiting)
        return waiting.future

    def _send_calls(self) -> None:
        made, self._calls = [one for one in self._calls if not one.future.done()], []
        for one, answer in zip(made, _sent(made, _calls.call, [one.request for one in made])):
            one.settle(answer)

    def _send_asks(self) -> None:
        made, self._asks = [one for one in self._asks if not one.future.done()], []
        limits = [self._limits(one) for one in made]
        sent = [self._limited(one, given) for one, given in zip(made, limits)]
        for one, answer, given in zip(made, _sent(made, _asks.ask, sent), limits):
            now = self.time()
            due = [(when, cause) for when, cause in given if when <= now + _MILLISECOND]
            if due and answer.get("result", {}).get("action") == "cancel":
                # What waits for that time comes first. Where it does not end the question, that is asked again, but only
                # once for each: whoever looks every second would keep its user from answering.
                one.interrupted_by.update(cause for _, cause in due)
                self._asks.append(one)
                time.sleep(max(0, max(when for when, _ in due) - now))
            else:
                one.settle(answer)

    def _limited(self, waiting: _Waiting, limits: list[tuple[float, _Cause]]) -> dict[str, Any]:
        """The request, which the user can answer until the first of these times."""
        if not limits:
            return waiting.request
        params = waiting.request["params"]
        ms = max(1, round((min(when for when, _ in limits) - self.time()) * 1000))
        params = {**params, "timeout": min(ms, params.get("timeout", ms))}
        return {**waiting.request, "params": params}

    def _limits(self, waiting: _Waiting) -> list[tuple[float, _Cause]]:
        """When something ends that waits for this question: only forms and pages have a time limit."""
        if waiting.request["method"] != "elicitation/create":
            return []
        above = set(_lineage(waiting.task))
        timers = [one for one in self._scheduled if not one.cancelled()]
        found = [*_ends(timers, above), *self._races(timers, above)]
        return [(when, cause) for when, cause in found if cause not in waiting.interrupted_by]

    def _races(
        self, timers: list[asyncio.TimerHandle], above: set[Any]
    ) -> Iterator[tuple[float, _Cause]]:
        """When an `asyncio.wait` for one of these tasks ends: by its own limit, or as another task has slept enough."""
        every = asyncio.all_tasks(self)
        for task in every:
            local = _wait_of(task)
            if local is None or above.isdisjoint(local["fs"]):
                continue
            if (handle := local["timeout_handle"]) is not None:
                yield handle.when(), (asyncio.wait, task)
            if local["return_when"] == asyncio.FIRST_COMPLETED:
                others = local["fs"] - above
                racing = {one for one in every if not others.isdisjoint(_lineage(one))}
                asleep = {one._fut_waiter: one for one in racing}  # type: ignore[attr-defined]
                for timer in timers:
                    for one in timer._args:  # type: ignore[attr-defined]
                        if isinstance(one, asyncio.Future) and one in asleep:
                            yield timer.when(), (asyncio.sleep, asleep[one])
                yield from _ends(timers, racing)

    # --- what is otherwise here than in other loops

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        self._asyncgens.discard(agen)
        if self.is_running():
            self._closing.add(self.create_task(agen.aclose()))

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        self._check_closed()
        return _Task(coro, self, **options)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not running.is_over:
            super().call_exception_handler(context)

    def run_in_executor(
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Runs the function now: there are no threads, and host functions would block all of them."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def run_forever(self) -> None:
        outer, _drive.asker = _drive.asker, self
        try:
            super().run_forever()
        finally:
            _drive.asker = outer


_MILLISECOND = 0.001
"""A limit is given to the host in milliseconds, so that its end may be a part of one too early."""


def _lineage(task: Any) -> Iterator[Any]:
    """A task, who has begun it, and so on."""
    while task is not None:
        yield task
        task = getattr(task, "begun_by", None)


def _ends(
    timers: list[asyncio.TimerHandle], tasks_of: set[Any]
) -> Iterator[tuple[float, _Cause]]:
    """When an `asyncio.timeout` of one of these tasks ends, or an `asyncio.as_completed` for them."""
    for timer in timers:
        owner = getattr(timer._callback, "__self__", None)  # type: ignore[attr-defined]
        if isinstance(owner, timeouts.Timeout) and owner._task in tasks_of:  # type: ignore[attr-defined]
            yield timer.when(), (asyncio.timeout, owner._task)  # type: ignore[attr-defined]
        elif isinstance(owner, _Completed) and not tasks_of.isdisjoint(owner._todo):
            yield timer.when(), (asyncio.as_completed, owner)


def _wait_of(task: asyncio.Task[Any]) -> Any:
    """The variables of the `asyncio.wait` that a task is in."""
    waiting: Any = task.get_coro()
    while (frame := getattr(waiting, "cr_frame", None)) is not None:
        if frame.f_code is _WAIT:
            return frame.f_locals
        waiting = waiting.cr_await
    return None


_WAIT = tasks._wait.__code__  # type: ignore[attr-defined]
_Completed: type[Any] = tasks._AsCompletedIterator  # type: ignore[attr-defined]


def _sent(
    waiting: list[_Waiting],
    send: Callable[[dict[str, Any]], dict[str, Any]],
    requests: list[dict[str, Any]],
) -> list[_Answer]:
    """The answers to these requests, which are sent together."""
    try:
        if len(waiting) < 2:
            return [send(one) for one in requests]
        answers = send({f"ask_{nth}": one for nth, one in enumerate(requests, 1)})
    except Exception as error:
        # One of them is not JSON. It is theirs, and not of the loop.
        for one in waiting:
            one.future.set_exception(error)
        return []
    # Where one cannot be asked, others may have no answer.
    failure = next((one for one in answers.values() if "result" not in one), {})
    return [answers.get(f"ask_{nth}", failure) for nth in range(1, len(waiting) + 1)]


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


_OURS = (folder_of(_sent), folder_of(asyncio.sleep))


def _places_of(waiting: Iterable[asyncio.Task[Any]]) -> str:
    """The author's lines at which tasks wait, or else what these run."""
    made = list(waiting)
    return ", ".join(sorted(filter(None, map(_place_of, made))) or sorted(map(_name_of, made)))


def _name_of(task: asyncio.Task[Any]) -> str:
    """The function that a task runs, such as `Context.elicit`."""
    run: Any = task.get_coro()
    return getattr(run, "__qualname__", type(run).__name__)


def _place_of(task: asyncio.Task[Any]) -> str | None:
    """The author's line at which a task waits."""
    found = None
    waiting: Any = task.get_coro()
    while (frame := getattr(waiting, "cr_frame", None)) is not None:
        if not frame.f_code.co_filename.startswith(_OURS):
            found = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        waiting = waiting.cr_await
    return found


_THREAD = threading.get_ident()


class _Policy(asyncio.events._AbstractEventLoopPolicy):
    """Makes `asyncio.run` work in a handler that is no coroutine, and at module scope."""

    _loop: asyncio.AbstractEventLoop | None = None

    def get_event_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError(
                "There is no current event loop: it runs in a handler that is a coroutine."
            )
        return self._loop

    def set_event_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = loop

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return Loop()


events._set_event_loop_policy(_Policy())


def install() -> None:
    """Has handlers run as tasks of one loop; called once, for a servlet that has loaded asyncio."""
    loop = Loop()
    sys.set_asyncgen_hooks(loop._asyncgen_firstiter_hook, loop._asyncgen_finalizer_hook)
    _drive.drive = loop.drive
