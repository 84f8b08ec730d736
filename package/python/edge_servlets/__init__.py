"""Servlets in Python: tools, resources and prompts from functions, their type hints and docstrings.

Module scope runs once, when the servlet is built; each call of a handler starts from there.

Example:
    from edge_servlets import Context, tool

    @tool
    async def greet(ctx: Context, times: int = 1) -> str:
        "Says hello."
        answer = await ctx.elicit("Your name?", str)
        return f"Hello, {answer.data}!" * times if answer else "Never mind."
"""

from ._calls import ToolCallResult as ToolCallResult, Tools as Tools
from ._content import (
    Annotations as Annotations,
    Audio as Audio,
    Content as Content,
    EmbeddedResource as EmbeddedResource,
    File as File,
    Icon as Icon,
    Image as Image,
    Message as Message,
    PromptResult as PromptResult,
    ResourceContents as ResourceContents,
    ResourceLink as ResourceLink,
    Text as Text,
    ToolResult as ToolResult,
)
from ._context import (
    AcceptedElicitation as AcceptedElicitation,
    CancelledElicitation as CancelledElicitation,
    Client as Client,
    Context as Context,
    DeclinedElicitation as DeclinedElicitation,
    ElicitationResult as ElicitationResult,
    Root as Root,
    SampleResult as SampleResult,
)
from ._definitions import (
    ListedResource as ListedResource,
    ToolAnnotations as ToolAnnotations,
    prompt as prompt,
    resource as resource,
    roots_changed as roots_changed,
    scheduled as scheduled,
    tool as tool,
    view as view,
)
from ._errors import (
    AskError as AskError,
    DefinitionError as DefinitionError,
    FetchError as FetchError,
    RpcError as RpcError,
    ToolCallError as ToolCallError,
    ToolError as ToolError,
)
from ._events import event as event
from ._fetch import Headers as Headers, Response as Response, fetch as fetch
from ._schedules import Schedule as Schedule
from ._schema import Field as Field
from ._stored_files import PassedFile as PassedFile, file as file
from ._webhooks import WebhookRequest as WebhookRequest, webhook as webhook
