"""Webhooks: functions that receive what other services send."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from . import _host
from ._content import some
from ._definitions import Definition, Function, definitions, name_given
from ._errors import DefinitionError, place_of


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A delivery to a webhook, which the server has verified.

    Its texts are those of the sender, and of whoever the sender quotes: check them, and let no model obey them.
    """

    name: str
    """The name of the webhook."""
    id: str
    """The sender's id of the delivery, else one of the server."""
    headers: Mapping[str, str]
    """By their names in lower case; without signatures, tokens and cookies."""
    body: str
    is_base64: bool
    """True if the body is not UTF-8 text, and `body` therefore in base64."""
    received_at: str
    """ISO 8601."""


class Sender(TypedDict, total=False):
    """How deliveries of a known sender are verified. `secret` is the name of a Worker secret."""

    type: Literal["github", "stripe", "slack", "standard"]
    secret: str
    toleranceSeconds: int


class Hmac(TypedDict, total=False):
    """How deliveries with another signature are verified, as docs/webhooks.md describes."""

    type: Literal["hmac"]
    secret: str
    header: str
    algorithm: Literal["sha1", "sha256", "sha512"]
    encoding: Literal["hex", "base64"]
    prefix: str
    signed: str
    timestamp: str
    id: str
    toleranceSeconds: int
    status: Literal[200, 202]


class Unverified(TypedDict, total=False):
    """Takes deliveries from anybody."""

    type: Literal["none"]
    id: str
    status: Literal[200, 202]


def webhook[F: Function](
    name: str, *, verify: Sender | Hmac | Unverified, description: str | None = None
) -> Callable[[F], F]:
    """Has a function receive what another service sends to `/hooks/SERVLET/NAME`, as a `WebhookRequest`.

    The server verifies a delivery as `verify` says, stores it and answers 202; then the function runs, without a caller. At the URL
    that `ctx.webhook(NAME)` gives a caller, it runs as that caller.

    Example:
        @webhook("github", verify={"type": "github", "secret": "GITHUB_WEBHOOK_SECRET"})
        def issues(request: WebhookRequest) -> str:
            return json.loads(request.body)["action"]
    """

    def define(function: F) -> F:
        if name in definitions.webhooks:
            raise DefinitionError(f'{place_of(function)}there is another webhook "{name}".')
        definitions.webhooks[name] = Definition(function, name, {})
        declared = definitions.declared.setdefault("webhooks", {})
        declared[name] = {"verify": verify, **some(description=description)}
        return function

    if name_given("webhook", name) is None:
        raise DefinitionError('this webhook needs a name: @webhook("NAME", verify={…}).')
    return define


def request_of(given: Mapping[str, Any]) -> WebhookRequest:
    """A delivery as the host gives it."""
    return WebhookRequest(
        given["name"],
        given["id"],
        given["headers"],
        given["body"],
        given["isBase64"],
        given["receivedAt"],
    )


async def url_of(_: object, name: str) -> str:
    """The URL of a webhook of this servlet for its caller, for a service that has something to tell this caller.

    It is the same at each call, until `revoke_webhook`. Deliveries run with the rights of the caller, and its accounts. In a run
    without a caller: the URL of the servlet's own webhook.
    """
    return await _host.call_host("webhook()", "webhooks.url", {"name": name})


async def revoke_webhook(_: object, name: str) -> bool:
    """Ends the webhook of the caller: its URL receives nothing more. False if the caller had none."""
    return await _host.call_host("revoke_webhook()", "webhooks.revoke", {"name": name})
