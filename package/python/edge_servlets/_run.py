"""What the engine calls: once when the servlet is loaded, and for each export."""

import io
import sys
from contextvars import copy_context
from typing import Any

import _edge

from . import _encodings as _encodings, _host
from ._answers import Answer, answers_of, log_raised, told
from ._definitions import definitions
from ._drive import Deadlock
from ._errors import DefinitionError, RpcError, ToolError, leaves_of, message_of, trace_of
from ._host import INFO, WARN, Writer, log, running
from ._json import decode_bytes, encode, encode_or_text

out, err = Writer(INFO), Writer(WARN)
sys.stdout, sys.stderr = out, err
sys.stdin = io.TextIOWrapper(io.BytesIO(), "utf-8")



def _set_up_asyncio() -> None:
    from ._loop import install

    install()
    # `asyncio` has been loaded with `logging` before, so that nothing imports that now.
    _set_up_logging()


def _set_up_logging() -> None:
    from ._logs import log_to_host

    log_to_host()


def _set_up_random() -> None:
    from . import _chance

    _host.chance = _chance
    if running.call:
        _chance.begin()


when_loaded = {
    "asyncio": _set_up_asyncio,
    "logging": _set_up_logging,
    "random": _set_up_random,
}
"""What is done once a module is loaded, in the middle of a call too."""

_answers: dict[str, Answer] = {}
_NO_INPUT: dict[str, Any] = {}


def loaded() -> str:
    """What the servlet offers, as JSON; called once, when its modules are imported. Raises what is wrong in its definitions."""
    _answers.update(answers_of(definitions))
    if not _answers:
        raise DefinitionError(
            "The servlet offers nothing: no @tool, @resource, @prompt, @scheduled or @webhook."
        )
    for name, set_up in when_loaded.items():
        if name in sys.modules:
            set_up()
    out.flush()
    err.flush()
    tools = {
        name: {"visibility": one.visibility}
        for name, one in definitions.tools.items()
        if one.visibility
    }
    for name, one in definitions.tools.items():
        if one.view is not None:
            definitions.views[one.view]["tools"].append(name)
    manifest = {"views": definitions.views, "tools": tools, **definitions.declared}
    return encode({"exports": list(_answers), "manifest": manifest})


def run(which: str) -> int:
    """Runs an export. Gives 0 where it has an output, and 1 where it has an error."""
    running.call, running.is_over = True, False
    running.what = which
    try:
        if _host.chance is not None:
            _host.chance.begin()
        running.input = decode_bytes(_edge.input() or b"{}")
        # What a call sets in context variables, as decimal does, is not there in the next.
        output = copy_context().run(_answers[which], running.input)
    except BaseException as error:
        output = _failed(error)
    finally:
        for stream in (sys.stdout, sys.stderr, out, err):
            stream.flush()
        running.call, running.is_over = False, True
        running.input = _NO_INPUT
        running.what = ""
    if output is None:
        return 1
    try:
        _edge.output(output.encode())
    except UnicodeEncodeError:
        # Half of a surrogate pair.
        _edge.output(output.encode(errors="replace"))
    return 0


def _ignored(given: Any) -> None:
    """Logs an error of a finalizer, which nobody can handle."""
    if not running.is_over:
        log(WARN, f"Ignored {trace_of(given.exc_value)}".encode(errors="replace"))


sys.unraisablehook = _ignored


def _failed(error: BaseException) -> str | None:
    """The output of an export that has raised this, or None where it has an error."""
    for one in leaves_of(error):
        if isinstance(one, RpcError):
            members = {"code": one.code, "message": one.message}
            if one.data is not None:
                members["data"] = encode_or_text(one.data)
            return encode({"error": members})
    if isinstance(error, Deadlock):
        # It has come to no end: what it has done so far is half of something.
        _edge.call("discard_changes")
    else:
        log_raised(error)
    is_told = all(isinstance(one, (ToolError, Deadlock)) for one in leaves_of(error))
    text = message_of(error) if is_told else told(error)
    _edge.error(text.encode(errors="replace"))
    return None
