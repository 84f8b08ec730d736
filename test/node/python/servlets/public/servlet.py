"""A server of one file, in the ways that people publish them."""

import io
import json
import os
import sys
from typing import Optional

from dotenv import load_dotenv
from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.utilities.types import Image
from mcp.server.mcpserver.utilities.types import Image as NewImage
from pydantic import BaseModel, ConfigDict, Field, HttpUrl
from typing_extensions import Annotated, TypedDict

load_dotenv()
sys.stdout.reconfigure(encoding="utf-8")
sys.stdin.reconfigure(encoding="utf-8")
sys.stderr = io.TextIOWrapper(sys.stderr.buffer, encoding="utf-8")

mcp = FastMCP("public", transport="stdio", mcp_path="/mcp", host="0.0.0.0", port=int(8000))


class Address(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str = Field(..., description="The city", min_length=1)
    zip: Optional[str] = None


class Person(BaseModel):
    name: str
    age: int = Field(0, ge=0)
    tags: list[str] = []
    aliases: list[str] = Field(default_factory=list)
    addresses: list[Address] = Field(default_factory=list, description="All of them")
    home: Address | None = None
    _seen: int = 0

    def greeting(self) -> str:
        return f"Hello, {self.name}"


class Employee(Person):
    company: str


class Pair(TypedDict):
    a: int


@mcp.tool()
def describe(person: Employee, page: Annotated[Optional[HttpUrl], Field(description="A page")] = None) -> str:
    """Describes a person."""
    city = person.addresses[0].city if person.addresses else None
    return json.dumps([person.greeting(), city, person.home and person.home.zip, person.model_dump(exclude_none=True)])


@mcp.tool()
def make() -> Person:
    """Makes a person of plain data."""
    made = Person(name="Ada", home={"city": "London"}, addresses=[{"city": "Paris"}])
    again = Person.model_validate_json(made.model_dump_json(indent=2))
    assert again == made and again.tags is not made.tags
    try:
        Person.model_validate({"name": 1})
    except ValueError as error:
        made.tags.append(str(error))
    return made.model_copy(update={"age": 36})


@mcp.tool()
def total(numbers: list[int], pair: Optional[Pair] = None, text: str = "") -> str:
    """Adds numbers."""
    sys.stdout.buffer.write(b"adding\n")
    print("to stderr", file=sys.stderr)
    return f"{sum(numbers)} {pair} {text}"


@mcp.tool()
def pictures() -> list[Image]:
    """Two pictures."""
    return [Image(data=b"a", format="png"), NewImage(data=b"b", format="png")]


if __name__ == "__main__":
    mcp.run(transport=os.environ.get("TRANSPORT", "stdio"), mount_path="/mcp")
