"""What FastMCP has and servlets lack, and what to write instead."""

from typing import NoReturn

_STATE = 'keep it in a variable of the module, with "state": "caller" in servlet.json'
_LISTS = "a servlet is the list of what its modules define"
_OTHERS = "each servlet is a folder of its own, and calls others by `await ctx.call_tool(NAME, ARGUMENTS)`"

SERVER = {
    "mount": _OTHERS,
    "import_server": _OTHERS,
    "as_proxy": _OTHERS,
    "from_openapi": "`servlets new NAME --openapi URL` writes a servlet for an API",
    "from_fastapi": "write each route as a tool",
    "from_client": _OTHERS,
    "custom_route": "a servlet answers MCP alone",
    "http_app": "the server serves HTTP",
    "streamable_http_app": "the server serves HTTP",
    "sse_app": "the server serves HTTP",
    "add_middleware": "decorate the functions",
    "add_provider": _LISTS,
    "add_transform": _LISTS,
    "add_template": "use `@mcp.resource(TEMPLATE)`",
    "remove_tool": _LISTS,
    "enable": _LISTS,
    "disable": _LISTS,
    "lifespan": "module scope runs once, while the servlet is built",
    "auth": "the server knows its callers: docs/access.md",
    "middleware": "decorate the functions",
    "providers": _LISTS,
    "transforms": _LISTS,
    "tasks": "say `task` at each tool",
}

CONTEXT = {
    "get_state": _STATE,
    "set_state": _STATE,
    "delete_state": _STATE,
    "session_id": 'with "state": "session" in servlet.json, variables of the module last for a session',
    "session": "use the methods of the context",
    "request_context": "use `ctx.meta` and `ctx.client`",
    "lifespan_context": "use variables of the module",
    "fastmcp": "use what the module defines",
    "read_resource": "call the function that gives the resource",
    "list_resources": "use what the module defines",
    "list_prompts": "use what the module defines",
    "get_prompt": "call the function that gives the prompt",
    "send_notification": "use `ctx.notify_tools_changed()` and its like",
    "enable_components": _LISTS,
    "disable_components": _LISTS,
    "reset_visibility": _LISTS,
    "close_sse_stream": "leave it out: calls wait without an open connection",
    "client_id": "use `ctx.client.principal`",
    "transport": "use `ctx.client`",
}

OPTIONS = {
    "structured_output": "write the type of what the function returns",
    "output_schema": "write the type of what the function returns",
    "timeout": "use `asyncio.timeout`, and `compute_limit` in servlet.json",
    "auth": "the server knows its callers: docs/access.md",
    "exclude_args": "make it no parameter",
    "serializer": "return what the client is to get",
    "version": "give it another name",
    "app": "use `view` of edge_servlets: docs/views.md",
    "run_in_thread": "leave it out",
    "security": "leave it out",
}

_NAMES = {
    "Client": "a servlet calls tools of others by `await ctx.call_tool(NAME, ARGUMENTS)`",
    "FastMCPApp": "use `view` of edge_servlets: docs/views.md",
    "Skill": "put its folder into `skills/` beside servlet.py",
    "settings": "settings are in servlet.json",
    "client": "a servlet calls tools of others by `await ctx.call_tool(NAME, ARGUMENTS)`",
}

_DOCS = "docs/python.md says what is here"


def lacking(what: str, advice: str | None) -> str:
    return f"{what} of FastMCP is not here: {advice or _DOCS}."


def refuse_import(name: str) -> NoReturn:
    raise ImportError(lacking(f"`{name}`", _NAMES.get(name)))
