import logging
import sys

from edge_servlets import Context, RpcError, ToolError, prompt, resource, tool

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")


@tool
def tool_error() -> str:
    raise ToolError("There is no weather in Atlantis.")


@tool
def rpc_error() -> str:
    raise RpcError(-32002, "Not for you.", {"query": "secret"})


def deeper(order: dict[str, int]) -> int:
    return order["size"]


@tool
def key_error() -> str:
    return str(deeper({}))


@tool
async def value_error() -> str:
    try:
        deeper({})
    except KeyError as error:
        raise ValueError("It has no size") from error
    return ""


@tool
def empty() -> str:
    raise RuntimeError


@tool
def exits() -> str:
    sys.exit(3)


@tool
def recurses() -> str:
    return recurses()


@tool
def forgets(ctx: Context) -> str:
    return ctx.elicit("Name?", str).data  # pyright: ignore


@resource("broken://resource")
def broken_resource() -> str:
    raise ToolError("No such book.")


@prompt
def broken_prompt() -> str:
    raise ValueError("No prompt today.")


@tool
def prints() -> str:
    print("one", "two")
    print("several\nlines")
    print("no end", end="")
    print("to err", file=sys.stderr)
    return "printed"


logger = logging.getLogger("mine")


@tool
def logs() -> None:
    logger.debug("not shown")
    logger.info("a %s", "b")
    logger.warning("careful")
    logger.error("wrong")


@tool
def calls_unknown() -> str:
    import _edge

    try:
        _edge.call("nothing")
    except ValueError as error:
        return str(error)
    return ""
