"""Results of tools, resources and prompts: content, messages, and how values become them.

https://modelcontextprotocol.io/specification/2026-07-28/schema
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from ._json import base64, decode, encode_of, quote

type Json = dict[str, Any]


class Annotations(TypedDict, total=False):
    """Hints for the client about content: whom it is for, its importance from 0 to 1, and when it changed (ISO 8601)."""

    audience: list[Literal["user", "assistant"]]
    priority: float
    lastModified: str


class Icon(TypedDict, total=False):
    """An icon; `src` is an https or data URL, `sizes` are such as "48x48", or "any"."""

    src: str
    mimeType: str
    sizes: list[str]
    theme: Literal["light", "dark"]


class Content(dict[str, Any]):
    """One block of content in a result or a message, with the members that MCP gives it."""

    @property
    def type(self) -> str:
        return self["type"]

    @property
    def text(self) -> str:
        """The text of a block of text; of any other block an empty one."""
        return self.get("text", "")

    def _more(self, annotations: Annotations | None, meta: Json | None) -> None:
        if annotations is not None:
            self["annotations"] = annotations
        if meta is not None:
            self["_meta"] = meta


class Text(Content):
    """A text with annotations; without, a `str` does."""

    def __init__(
        self, text: str, *, annotations: Annotations | None = None, meta: Json | None = None
    ) -> None:
        super().__init__(type="text", text=text)
        self._more(annotations, meta)


class _Media(Content):
    _kind: str
    _default: str

    def __init__(
        self,
        path: object = None,
        data: bytes | bytearray | memoryview | str | None = None,
        format: str | None = None,
        *,
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        meta: Json | None = None,
    ) -> None:
        format, data = _read(path, data, format)
        known = _FORMATS.get(format, f"{self._kind}/{format}") if format else self._default
        super().__init__(type=self._kind, data=_base64(data), mimeType=mime_type or known)
        self._more(annotations, meta)


class Image(_Media):
    """An image, from a file or from bytes (or their base64). `format` is such as "png", or the end of the file's name.

    Example:
        Image(data=png)
        Image("/data/chart.svg")
    """

    _kind, _default = "image", "image/png"


class Audio(_Media):
    """A sound, from a file or from bytes (or their base64). `format` is such as "wav", or the end of the file's name."""

    _kind, _default = "audio", "audio/wav"


class EmbeddedResource(Content):
    """The contents of a resource within a result.

    Example:
        EmbeddedResource("note://today", text="Water the plants.")
    """

    def __init__(
        self,
        uri: str,
        *,
        text: str | None = None,
        blob: bytes | str | None = None,
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        meta: Json | None = None,
    ) -> None:
        body = {"text": text} if blob is None else {"blob": _base64(blob)}
        super().__init__(type="resource", resource={**some(uri=uri, mimeType=mime_type), **body})
        self._more(annotations, meta)


class File(EmbeddedResource):
    """A file within a result, from a path or from bytes; `format` is such as "pdf", or the end of the file's name."""

    def __init__(
        self,
        path: object = None,
        data: bytes | None = None,
        format: str | None = None,
        name: str | None = None,
        *,
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        meta: Json | None = None,
    ) -> None:
        name = name or (str(path).rpartition("/")[2] if path is not None else "file")
        format, data = _read(path, data, format)
        if not format:
            format = name.rpartition(".")[2].lower() if "." in name else ""
        elif "." not in name:
            name += f".{format}"
        known = _FORMATS.get(format, f"application/{format or 'octet-stream'}")
        mime_type = mime_type or known
        uri = f"file:///{quoted(name)}"
        if mime_type.startswith("text/"):
            text = bytes(data).decode(errors="replace")
            super().__init__(
                uri, text=text, mime_type=mime_type, annotations=annotations, meta=meta
            )
        else:
            super().__init__(
                uri, blob=data, mime_type=mime_type, annotations=annotations, meta=meta
            )


class ResourceLink(Content):
    """A link to a resource, which the client may read. `size` is in bytes."""

    def __init__(
        self,
        uri: str,
        name: str,
        *,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        icons: Sequence[Icon] | None = None,
        annotations: Annotations | None = None,
        meta: Json | None = None,
    ) -> None:
        super().__init__(type="resource_link", uri=uri, name=name)
        self.update(
            some(title=title, description=description, mimeType=mime_type, size=size, icons=icons)
        )
        self._more(annotations, meta)


class ResourceContents(dict[str, Any]):
    """The contents of a resource with a type or a URI of their own: a text or bytes; any other value as JSON.

    Example:
        ResourceContents("a,b", mime_type="text/csv")
    """

    def __init__(
        self,
        content: object,
        *,
        mime_type: str | None = None,
        uri: str | None = None,
        meta: Json | None = None,
    ) -> None:
        if isinstance(content, (bytes, bytearray, memoryview)):
            body = {"blob": base64(content)}
        elif isinstance(content, str):
            body = {"text": content}
        else:
            body = {"text": encode_of(content, "The contents of a resource")}
            mime_type = mime_type or "application/json"
        super().__init__(some(uri=uri, mimeType=mime_type), **body, **some(_meta=meta))


class ResourceResult(list[ResourceContents]):
    """All contents of a resource: of FastMCP."""

    def __init__(self, contents: str | bytes | Sequence[str | bytes | ResourceContents]) -> None:
        given = [contents] if isinstance(contents, (str, bytes)) else contents
        super().__init__(
            one if isinstance(one, ResourceContents) else ResourceContents(one) for one in given
        )


class Message(dict[str, Any]):
    """A message of a prompt or for the client's model: a text or content.

    Example:
        Message("Which one?", role="assistant")
    """

    def __init__(self, content: object, role: Literal["user", "assistant"] = "user") -> None:
        super().__init__(role=role, content=_block(content))


class PromptResult(dict[str, Any]):
    """The messages of a prompt, with a description of their own."""

    def __init__(
        self,
        messages: str | Sequence[str | Content | Message],
        *,
        description: str | None = None,
        meta: Json | None = None,
    ) -> None:
        super().__init__(some(description=description, _meta=meta), messages=_messages(messages))


class ToolResult:
    """The whole result of a tool: content, structured content, or both. Content by default repeats what is structured.

    Example:
        ToolResult("Two plants are dry.", {"dry": ["fern", "ivy"]})
    """

    __slots__ = ("content", "is_error", "meta", "structured_content")

    def __init__(
        self,
        content: object = None,
        structured_content: object = None,
        *,
        meta: Json | None = None,
        is_error: bool = False,
    ) -> None:
        if content is None:
            given = (
                []
                if structured_content is None
                else [encode_of(structured_content, "structured_content")]
            )
        else:
            given = content if isinstance(content, (list, tuple)) else [content]
        self.content: list[Content] = [_block(one) for one in given]
        self.structured_content = structured_content
        self.meta = meta
        self.is_error = is_error


def some(**members: object) -> Json:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def quoted(text: str) -> str:
    """A text as a part of a URL."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode())


# Where the media type is not `image/FORMAT`, `audio/FORMAT` or `application/FORMAT`.
_FORMATS = {
    "jpg": "image/jpeg",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "txt": "text/plain",
    "text": "text/plain",
    "plain": "text/plain",
    "csv": "text/csv",
    "html": "text/html",
    "htm": "text/html",
    "css": "text/css",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "js": "text/javascript",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
for _format in ("png", "jpeg", "gif", "webp"):
    _FORMATS[_format] = f"image/{_format}"
for _format in ("wav", "ogg", "flac"):
    _FORMATS[_format] = f"audio/{_format}"


def _read(path: object, data: Any, format: str | None) -> tuple[str, Any]:
    """The format and the bytes of something in a file, or given as it is."""
    if (path is None) == (data is None):
        raise TypeError("Either `path` or `data` must be given.")
    if path is not None:
        with open(path, "rb") as file:  # type: ignore[arg-type]
            data = file.read()
        if not format and "." in str(path):
            format = str(path).rpartition(".")[2]
    return (format or "").lower().lstrip("."), data


def _base64(data: Any) -> str:
    return data if isinstance(data, str) else base64(data)


def _block(value: object) -> Content:
    if isinstance(value, Content):
        return value
    if isinstance(value, str):
        return Content(type="text", text=value)
    if isinstance(value, (bytes, bytearray)):
        return File(data=bytes(value))
    if _is_content(value):
        return Content(type="resource", resource=value)
    if isinstance(value, Mapping) and value.get("type") in _BLOCKS:
        return Content(value)
    return Content(type="text", text=encode_of(value, "A block of content"))


_BLOCKS = ("text", "image", "audio", "resource", "resource_link")


def _is_content(value: object) -> bool:
    """True for content, also for contents of a resource that have a URI, without which a client refuses them."""
    return isinstance(value, Content) or (isinstance(value, ResourceContents) and "uri" in value)


def _are_blocks(value: object) -> bool:
    """True for a list in which content is."""
    return isinstance(value, (list, tuple)) and any(map(_is_content, value))


def _are_texts(value: object) -> bool:
    return (
        isinstance(value, (list, tuple))
        and bool(value)
        and all(isinstance(one, str) for one in value)
    )


def is_unfinished(value: object) -> bool:
    """True for a result that asks the client: the handler is called again with the answers."""
    return isinstance(value, dict) and value.get("resultType") == "input_required"


def failed(message: str) -> str:
    """The result of a tool that has failed."""
    return f'{{"content":[{{"type":"text","text":{quote(message)}}}],"isError":true}}'


def _texts(text: str) -> str:
    return f'{{"content":[{{"type":"text","text":{quote(text)}}}]}}'


def _whole(result: ToolResult, what: str) -> str:
    members = some(structuredContent=result.structured_content, _meta=result.meta)
    if result.is_error:
        members["isError"] = True
    return encode_of({"content": result.content, **members}, what)


type Output = Literal["free", "object", "wrapped"]
"""How a tool's return value becomes its result: by what it is; as structured content, since its type says that it is an
object; or as the member `result` of such."""


def tool_result(output: Output, beside: Json | None, what: str) -> Callable[[object], str]:
    """A function that gives a tool's result as JSON. Values that are content have the members `beside` beside it; with None,
    all are structured content."""
    what = f"The return value of {what}"

    def structured(value: object) -> str:
        written = encode_of(value, what)
        text = quote(value) if isinstance(value, str) else quote(written)
        inner = written if output == "object" else f'{{"result":{written}}}'
        return f'{{"content":[{{"type":"text","text":{text}}}],"structuredContent":{inner}}}'

    def blocks(values: Any) -> str:
        return encode_of({"content": [_block(one) for one in values], **(beside or {})}, what)

    def declared(value: object) -> str:
        if isinstance(value, ToolResult):
            return _whole(value, what)
        if beside is not None and (_is_content(value) or _are_blocks(value)):
            return blocks([value] if isinstance(value, dict) else value)
        return encode_of(value, what) if is_unfinished(value) else structured(value)

    def free(value: object) -> str:
        if isinstance(value, str):
            return _texts(value)
        if value is None:
            return '{"content":[]}'
        if isinstance(value, ToolResult):
            return _whole(value, what)
        if isinstance(value, (bytes, bytearray)) or _is_content(value):
            return blocks([value])
        if is_unfinished(value):
            return encode_of(value, what)
        if _are_blocks(value) or _are_texts(value):
            return blocks(value)
        written = encode_of(value, what)
        if written[0] in "{[":
            return f'{{"content":[{{"type":"text","text":{quote(written)}}}],"structuredContent":{written}}}'
        return _texts(decode(written) if written[0] == '"' else written)

    return free if output == "free" else declared


def read_result(value: object, uri: str, mime_type: str | None) -> str:
    """The result of a resource as JSON, from what its function returned."""
    what = f"The return value of the resource {uri}"
    if is_unfinished(value):
        return encode_of(value, what)
    several = isinstance(value, ResourceResult) or (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(one, (ResourceContents, bytes)) for one in value)
    )
    contents = [_contents(one, uri, mime_type) for one in (value if several else [value])]  # type: ignore[union-attr]
    return encode_of({"contents": contents}, what)


def _contents(value: object, uri: str, mime_type: str | None) -> Json:
    if not isinstance(value, ResourceContents):
        value = ResourceContents(value, mime_type=mime_type)
    return {"uri": uri, **some(mimeType=mime_type), **value}


def _messages(value: object) -> list[Message]:
    given = value if isinstance(value, (list, tuple)) else [value]
    return [_message(one) for one in given]


def _message(value: object) -> Any:
    if isinstance(value, Mapping) and "role" in value:
        return {**value, "content": _block(value["content"])}
    if isinstance(value, (str, Content)):
        return Message(value)
    raise TypeError(f"A message is a text, a Message or content, and no {type(value).__name__}.")


def prompt_result(value: object, name: str, description: str | None) -> str:
    """The result of a prompt as JSON, from what its function returned."""
    what = f'The return value of the prompt "{name}"'
    if is_unfinished(value):
        return encode_of(value, what)
    result = value if isinstance(value, PromptResult) else {"messages": _messages(value)}
    return encode_of({**some(description=description), **result}, what)
