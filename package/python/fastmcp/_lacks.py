"""What FastMCP has and servlets lack, and what to write instead."""

from collections.abc import Callable

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
    "token_verifier": "the server knows its callers: docs/access.md",
    "auth_server_provider": "the server knows its callers: docs/access.md",
    "include_tags": "leave the decorator out of what is not to be there",
    "exclude_tags": "leave the decorator out of what is not to be there",
    "sampling_handler": "`ctx.sample` asks the client's model",
    "tool_serializer": "return what the client is to get",
    "session_state_store": _STATE,
}

# Of servers, what makes no difference here.
HARMLESS = frozenset(
    "version website_url icons host port debug log_level path mount_path sse_path message_path streamable_http_path "
    "stateless_http json_response transport_security event_store retry_interval dependencies title description "
    "on_duplicate on_duplicate_tools on_duplicate_resources on_duplicate_prompts warn_on_duplicate_tools "
    "warn_on_duplicate_resources warn_on_duplicate_prompts strict_input_validation include_fastmcp_meta "
    "resource_prefix_format cache_expiration_seconds list_page_size dereference_schemas client_log_level "
    "transport mcp_path sampling_handler_behavior experimental_capabilities cache_ttl cache_scope".split()
)

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

_CALLS = "a servlet calls tools of others by `await ctx.call_tool(NAME, ARGUMENTS)`"
_CALLER = "the server knows its callers: `ctx.client.principal`, and docs/access.md"
_TOOLS = "write functions with `@mcp.tool`"
_FILES = "write a function with `@mcp.resource(URI)` that returns it"

_NAMES = {
    "Client": _CALLS,
    "FastMCPApp": "use `view` of edge_servlets: docs/views.md",
    "Skill": "put its folder into `skills/` beside servlet.py",
    "settings": "settings are in servlet.json",
    "client": _CALLS,
    "ClientSession": _CALLS,
    "StdioServerParameters": _CALLS,
    "stdio_client": _CALLS,
    "stdio_server": "the server speaks the protocol: leave it out",
    "Server": _TOOLS,
    "NotificationOptions": "leave it out",
    "Tool": _TOOLS,
    "ListToolsResult": _TOOLS,
    "FunctionTool": _TOOLS,
    "Prompt": "use `@mcp.prompt`",
    "Resource": "use `@mcp.resource(URI)`",
    "ResourceTemplate": "use `@mcp.resource(TEMPLATE)`",
    "BinaryResource": _FILES,
    "FileResource": _FILES,
    "HttpResource": _FILES,
    "DirectoryResource": _FILES,
    "FunctionResource": _FILES,
    "get_http_headers": _CALLER,
    "get_http_request": _CALLER,
    "get_access_token": _CALLER,
    "CurrentHeaders": _CALLER,
    "CurrentRequest": _CALLER,
    "CurrentAccessToken": _CALLER,
    "CurrentFastMCP": "use what the module defines",
    "Progress": "use `ctx.report_progress`",
}

_DOCS = "docs/python.md says what is here"


def lacking(what: str, advice: str | None, origin: str = "FastMCP") -> str:
    return f"{what} of {origin} is not here: {advice or _DOCS}."


def finder_of(module: str) -> Callable[[str], object]:
    """The `__getattr__` of a module: it refuses names of which it knows what to write instead."""
    origin = "FastMCP" if module.startswith("fastmcp") else "the official SDK"

    def find(name: str) -> object:
        if name in _NAMES:
            raise ImportError(lacking(f"`{name}`", _NAMES[name], origin))
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find
