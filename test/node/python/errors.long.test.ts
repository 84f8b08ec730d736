import { beforeAll, describe, expect, test } from "vitest";
import { loadServlet, type ServletUnderTest } from "../../../src/tools/testing/index.ts";
import { bundling } from "../bundle/bundling.ts";

/** Exceptions of handlers, what they print, and definitions that cannot be served. */
const FILE = "test/node/python/servlets/failing/servlet.py";
let servlet: ServletUnderTest;
beforeAll(async () => {
  servlet = await loadServlet("test/node/python/servlets/failing");
});

const failed = (said: string) => ({ content: [{ type: "text", text: said }], isError: true });

describe("an exception of a tool", () => {
  test("for its caller is a result, and not logged", async () => {
    const { result, logs } = await servlet.callTool("tool_error");
    expect(result).toEqual(failed("There is no weather in Atlantis."));
    expect(logs).toEqual([]);
  });

  test("of the protocol is an error of the protocol", async () => {
    await expect(servlet.callTool("rpc_error")).rejects.toMatchObject({
      message: "Not for you.",
      data: { query: "secret" },
    });
  });

  test("that is unexpected is logged with the author's lines alone", async () => {
    const { result, logs } = await servlet.callTool("key_error");
    expect(result).toEqual(failed("KeyError: 'size'"));
    expect(logs).toHaveLength(1);
    expect(logs[0]).toContain(`File "${FILE}", line 25, in key_error\n    return str(deeper({}))`);
    expect(logs[0]).toContain(`File "${FILE}", line 20, in deeper\n    return order["size"]`);
    expect(logs[0]).toContain("KeyError: 'size'");
    expect(logs[0]).not.toContain("edge_servlets");
  });

  test("has its cause in the log", async () => {
    const { result, logs } = await servlet.callTool("value_error");
    expect(result).toEqual(failed("It has no size"));
    expect(logs[0]).toMatch(/KeyError: 'size'[^]*direct cause[^]*ValueError: It has no size/);
  });

  test.each<[tool: string, said: string]>([
    ["empty", "RuntimeError"],
    ["recurses", "maximum recursion depth exceeded"],
    ["forgets", "'coroutine' object has no attribute 'data'. `await` it, in an `async def`."],
  ])("%s: %s", async (tool, said) => {
    expect((await servlet.callTool(tool)).result).toEqual(failed(said));
  });

  test("for an unknown function of the host can be handled", async () => {
    const { result } = await servlet.callTool("calls_unknown");
    expect(result.content).toEqual([
      { type: "text", text: "there is no host function of this name" },
    ]);
  });

  test("that ends Python ends the call", async () => {
    const { result, logs } = await servlet.callTool("exits");
    expect(result).toEqual(failed("SystemExit: 3"));
    expect(logs).toHaveLength(1);
  });
});

test("an exception of a resource or a prompt is an error of the call", async () => {
  await expect(servlet.readResource("broken://resource")).rejects.toThrow("No such book.");
  await expect(servlet.getPrompt("broken_prompt")).rejects.toThrow("No prompt today.");
});

test("what is printed is in the log", async () => {
  const { logs } = await servlet.callTool("prints");
  expect(logs).toEqual(["info: one two", "info: several\nlines", "warn: to err", "info: no end"]);
});

test("logging is in the log at its levels", async () => {
  const { logs } = await servlet.callTool("logs");
  expect(logs).toEqual(["info: mine: a b", "warn: mine: careful", "error: mine: wrong"]);
});

test("a logger with a handler of its own is in the log once, as that handler has it", async () => {
  const logging = await loadServlet("test/node/python/servlets/logging");
  const { logs } = await logging.callTool("logs");
  expect(logs).toEqual([
    "warn: own careful",
    "info: of a child",
    "info: shown",
    "warn: of a package",
  ]);
});

describe("a definition is refused", () => {
  const { bundle } = bundling();
  const HEAD =
    "from edge_servlets import *\nfrom dataclasses import dataclass\nfrom typing import *\n";
  test.each<[what: string, text: string, message: string | RegExp]>([
    [
      "that is empty",
      "x = 1",
      "The servlet offers nothing: no @tool, @resource, @prompt, @scheduled or @webhook.",
    ],
    [
      "of a type without a schema",
      "@tool\ndef f(x: complex) -> str: ...",
      /servlet\.py:4: the tool "f": the parameter `x`: complex has no JSON Schema\./,
    ],
    [
      "of a result without a schema",
      "@tool\ndef f() -> complex: ...",
      /servlet\.py:4: the tool "f": complex has no JSON Schema\./,
    ],
    [
      "of a name that is not known",
      '@tool\ndef f(x: "Unknown") -> str: ...',
      'the tool "f": the type hint `Unknown` is not known.',
    ],
    ["with *args", "@tool\ndef f(*args): ...", "Name each parameter."],
    ["with a bad name", '@tool("a b")\ndef f(): ...', 'the tool "a b": its name must be letters'],
    ["without a name", "tool(lambda: 1)", 'this tool needs a name: @tool("NAME").'],
    [
      "that is there twice",
      "@tool\ndef f(): ...\n@tool\ndef f(): ...",
      /servlet\.py:6: there is another tool "f", at .*servlet\.py:4\./,
    ],
    ["with an unknown view", '@tool(view="v")\ndef f(): ...', 'there is no view "v"'],
    ...["notauri", "/notes/today", "1a://b", "a b://c", "a://b c", "a:", ""].map(
      (uri): [string, string, RegExp] => [
        `of a resource at ${JSON.stringify(uri)}`,
        `@resource(${JSON.stringify(uri)})\ndef f(): ...`,
        /servlet\.py:4: the resource "[^"]*": its URI must begin with a scheme/,
      ],
    ),
    ["of a resource without a URI", "@resource\ndef f(): ...", "a resource needs a URI"],
    [
      "of a template with another variable",
      '@resource("a://{x}")\ndef f(y): ...',
      "`y` is not one of its variables. What it takes is those of its URI: x.",
    ],
    [
      "of a template that is none",
      '@resource("a://{b c}")\ndef f(): ...',
      'The URI template "a://{b c}" has a bad expression: {b c}.',
    ],
    [
      "that completes another variable",
      '@prompt(complete={"y": str})\ndef f(x): ...',
      'it completes "y", which is not one of its variables.',
    ],
    [
      "with a Field as a default in a dataclass",
      "@dataclass\nclass D:\n  x: int = Field(ge=1)\n@tool\ndef f(d: D): ...",
      "D.x: in a dataclass, a Field is no default. Write `x: Annotated[int, Field(...)]`.",
    ],
    ...(["alias", "strict", "discriminator"] as const).map((one): [string, string, RegExp] => [
      `with ${one} of a Field`,
      `@tool\ndef f(x: str = Field(${one}="y")): ...`,
      new RegExp(`servlet\\.py", line 5[^]*Field has no \`${one}\`: (name the|leave it out)`),
    ]),
    [
      "of a method",
      "class A:\n  @tool\n  def f(self): ...",
      /servlet\.py:5: the tool "f": it is a method, and a call has no object for it\..*`tool\(OBJECT\.f\)`/,
    ],
    [
      "above @classmethod",
      "class A:\n  @tool\n  @classmethod\n  def f(cls): ...",
      /servlet\.py:5: `@tool` above `@classmethod` has no class yet\..*`tool\(CLASS\.f\)`/,
    ],
    [
      "of an async generator",
      "@tool\nasync def f():\n  yield 1",
      "it is an async generator. Return a list.",
    ],
    ["with a choice of nothing", "@tool\ndef f(x: Literal[()]): ...", "nothing to choose from"],
    [
      "of a pattern that is none",
      "@tool\ndef f(x: Annotated[str, Field(pattern='(')]): ...",
      "`(` is not a regular expression",
    ],
    [
      "of a pattern of bytes",
      "@tool\ndef f(x: Annotated[str, Field(pattern=b'a')]): ...",
      "b'a' is a regular expression of bytes",
    ],
    [
      "whose type hint raises",
      "@tool\ndef f(x: '1 / 0'): ...",
      /servlet\.py:4: the tool "f": division by zero/,
    ],
    [
      "whose type hint ends Python",
      "import sys\n@tool\ndef f(x: 'sys.exit(3)'): ...",
      "SystemExit: 3",
    ],
    [
      "of what is not JSON",
      "@tool(meta={'x': object()})\ndef f(): ...",
      /servlet\.py:4: the tool "f": what describes it is not JSON/,
    ],
    ["whose name is half of a pair", "@tool('\\ud800')\ndef f(): ...", 'the tool "?": its name'],
    ["whose name is a number", "@tool(5)\ndef f(): ...", 'this tool needs a name: @tool("NAME").'],
    ["that ends Python", "import os\nos._exit(3)", "its module scope ended by exit code 3"],
    ["that aborts Python", "import os\nos.abort()", "its module scope aborted Python"],
    [
      "that replaces the kit",
      "import edge_servlets._run as kit\nkit.loaded = lambda *all: b'{}'",
      "its module scope changed the kit, which could not describe the servlet: exports",
    ],
    ["that does not come to an end", "while True: ...", "its module scope does not come to an end"],
    [
      "that sleeps",
      "import time\ntime.sleep(1)",
      /servlet\.py", line 5, in <module>\n.*\n.*\nRuntimeError: sleep\(\) works only inside a handler/,
    ],
    [
      "that sleeps in asyncio",
      "import asyncio\nasync def ready():\n  await asyncio.sleep(1)\nasyncio.run(ready())",
      /servlet\.py", line 7, in <module>\n[^]*RuntimeError: sleep\(\) works only inside a handler/,
    ],
    [
      "of an error that only the compiler finds",
      "def f():\n  x = 1\n  global x",
      /servlet\.py", line 6\n    global x\n    \^+\nSyntaxError: name 'x' is assigned/,
    ],
    [
      "of an alias that is part of itself",
      'Tree = Union[int, list["Tree"]]\n@tool\ndef f(x: Tree): ...',
      "the type hint `Tree` cannot be resolved here. If it is an alias that names itself, write `type Tree = ...`",
    ],
    ...['List["Unknown"]', 'list["Unknown"]'].map((hint): [string, string, RegExp] => [
      `of an alias with a name that is not known: ${hint}`,
      `type Names = ${hint}\n@tool\ndef f(x: Names): ...`,
      /the type hint `Unknown` cannot be resolved here\..*; otherwise define or import it at module scope/,
    ]),
    ["that asks the host", "fetch('https://a.example')", "fetch() works only inside a handler"],
    [
      "that reads the environment at module scope",
      "import os\nos.environ['API_KEY']",
      /KeyError: 'API_KEY'\n.*servlet\.py:5: os\.environ: a servlet has no environment variables\./,
    ],
  ])("%s", async (_what, text, message) => {
    await expect(bundle({ "servlet.py": `${HEAD}${text}\n` })).rejects.toThrow(message);
  });

  test.each([
    "from edge_servlets import tool\n@tool\ndef f(): ...\n@tool\ndef f(): ...\n",
    "from fastmcp import FastMCP\nmcp = FastMCP()\n@mcp.tool\ndef f(): ...\n@mcp.tool\ndef f(): ...\n",
    "from mcp.server.fastmcp import FastMCP\nmcp = FastMCP()\n@mcp.tool()\ndef f(): ...\n@mcp.tool()\ndef f(): ...\n",
  ])("with the author's lines alone: %s", async (text) => {
    const refusal = await bundle({ "servlet.py": text }).then(String, String);
    expect(refusal).toMatch(/\n  File ".*servlet\.py", line \d, in <module>\n/);
    expect(refusal).toMatch(/\nDefinitionError: .*there is another tool "f"/);
    expect(refusal.match(/  File /g)).toHaveLength(1);
  });
});

describe("an import is refused, with what to write instead", () => {
  const { bundle } = bundling();
  test.each<[line: string, message: string]>([
    [
      "import smtplib",
      "servlet.py:1: there is no smtplib in a servlet, as a servlet sends and reads",
    ],
    ["import logging.handlers", "a servlet writes no files of logs"],
    ["from http.server import HTTPServer", "a servlet answers MCP alone"],
    ["import webbrowser", "await ctx.elicit_url(message, url)"],
    ["import pdb", "it is a development tool: use it outside the servlet"],
    ["import ftplib", "from edge_servlets import fetch"],
    ["import cmd", "there is no cmd in a servlet, as a servlet has no terminal"],
    ["import readline", "as a servlet has no terminal"],
    ["import resource", "as it is for an operating system"],
    ["from compression import zstd", "compression.zstd in a servlet, as it is compiled for"],
    ["import compression.zstd as z", "use zlib or gzip"],
    ["import lzma", "use zlib or gzip"],
    [
      "import shelve",
      "there is no shelve in a servlet, as it is compiled for a computer: use sqlite3",
    ],
    ["import dbm.sqlite3", "use sqlite3"],
    ["from logging import handlers", "a servlet writes no files of logs"],
    ["from concurrent.futures import ProcessPoolExecutor", "as a servlet has one thread"],
    ["import imp", "as Python itself no longer has it"],
  ])("%s", async (line, message) => {
    await expect(bundle({ "servlet.py": `${line}\n` })).rejects.toThrow(message);
  });

  test.each<[line: string, message: string]>([
    ["from .helpers import x, y as z", "from helpers import x, y"],
    ["from . import helpers", "import helpers"],
    ["from ..helpers import x", "from helpers import x"],
    ["def f():\n  from .helpers import x", "from helpers import x"],
  ])("a relative one beside servlet.py: %s", async (line, advice) => {
    const files = { "servlet.py": `import json\n${line}\n`, "helpers.py": "x = y = 1\n" };
    const at = line.startsWith("def") ? 3 : 2;
    await expect(bundle(files)).rejects.toThrow(
      `servlet.py:${at}: a relative import works only within a package: write ${advice}`,
    );
  });

  test("but not a relative one with another beside it", async () => {
    const text =
      "try:\n  from .helpers import x\nexcept ImportError:\n  from helpers import x\nfrom edge_servlets import tool\ntool('f')(lambda: x)\n";
    await expect(bundle({ "servlet.py": text, "helpers.py": "x = 1\n" })).resolves.toHaveLength(1);
  });

  test("a server of the official SDK in a file of another name", async () => {
    const text =
      'from mcp.server.fastmcp import FastMCP\nmcp = FastMCP("a")\n@mcp.tool()\ndef f(): ...\n';
    await expect(bundle({ "server.py": text })).rejects.toThrow(
      "server.py: it is a servlet, but only servlet.py is read as one: rename it",
    );
  });
});

describe("what is there but does nothing is warned of", () => {
  const { bundle } = bundling();
  const ENVIRONMENT = "a servlet has no environment variables. Name them in";
  test.each<[lines: string, ...warnings: string[]]>([
    ["import os\nKEY = os.getenv('KEY')", `servlet.py:4: os.getenv: ${ENVIRONMENT}`],
    ["import os\nKEY = os.environ.get('KEY')", `servlet.py:4: os.environ: ${ENVIRONMENT}`],
    ["from os import environ", `servlet.py:3: os.environ: ${ENVIRONMENT}`],
    ["import os\nos.environ['TZ'] = 'UTC'\nos.environ.setdefault('A', 'b')"],
    ["import os\nos.environ.pop('A', None)\nos.environ |= {'A': 'b'}\nos.environ.clear()"],
    ["import os\nif __name__ == '__main__':\n  import uvicorn\n  uvicorn.run(os.environ['PORT'])"],
    ["from urllib.request import urlopen\nimport http.client, httpx, requests"],
    ["from zoneinfo import ZoneInfo", "servlet.py:3: zoneinfo: a servlet has no time zones"],
    [
      "from pathlib import Path\nWORDS = Path(__file__).parent / 'words'",
      "servlet.py:4: __file__: a servlet has no files but its modules",
    ],
    [
      "f = lambda: open(__file__)",
      "servlet.py:3: __file__: a servlet has no files but its modules",
    ],
    ["NAME = __file__.rpartition('.')[0]"],
  ])("%s", async (lines, ...warnings) => {
    const text = `from edge_servlets import tool\ntool("f", description="F")(lambda: 1)\n${lines}\n`;
    const [member] = await bundle({ "servlet.py": text });
    expect(member!.warnings).toEqual(
      warnings.map((one) => expect.stringContaining(one) as unknown),
    );
  });
});

describe("what is frozen at module scope is warned of", () => {
  const { bundle } = bundling();
  test.each<[line: string, ...names: string[]]>([
    [
      "import time; X = time.time(), time.monotonic_ns(), time.perf_counter()",
      "time",
      "monotonic_ns",
      "perf_counter",
    ],
    [
      "import time; X = time.strftime('%Y'), time.ctime(), time.asctime()",
      "strftime",
      "ctime",
      "asctime",
    ],
    ["import time; X = time.localtime().tm_year, time.gmtime()", "localtime", "gmtime"],
    ["import time; X = time.strftime('%Y', time.gmtime(0)), time.ctime(0), time.localtime(5)"],
    [
      "from datetime import *; X = datetime.now(), datetime.now(tz=timezone.utc), date.today()",
      "now",
      "now",
      "today",
    ],
    ["from datetime import *; X = datetime(2026, 1, 1).strftime('%Y'), date(2026, 1, 1).ctime()"],
    ["import random; RNG = random.Random()"],
    ["import random; RNG = random.Random(); X = RNG.random(), RNG.choice([1])", "random", "choice"],
    [
      "import random; RNG = random.Random(42); X = RNG.random(), RNG.choice([1, 2]), RNG.shuffle([1])",
    ],
    ["import random; RNG = random.SystemRandom()"],
    ["import random; X = random.SystemRandom().random()", "random"],
    [
      "import random; X = random.random(), random.randrange(9), random.sample([1], 1), random.gauss()",
      "random",
      "randrange",
      "sample",
      "gauss",
    ],
    ["import random; random.seed(1); X = random.random(), random.uniform(1, 2)"],
    [
      "from random import choice, randbytes; X = choice([1, 2]), randbytes(3)",
      "choice",
      "randbytes",
    ],
    [
      "import secrets; X = secrets.token_urlsafe(), secrets.randbelow(3), secrets.choice([1])",
      "token_urlsafe",
      "randbelow",
      "choice",
    ],
    ["import os; X = os.urandom(3)", "urandom"],
    [
      "import uuid; X = uuid.uuid1(), uuid.uuid4(), uuid.uuid7(), uuid.uuid5(uuid.NAMESPACE_DNS, 'a')",
      "uuid1",
      "uuid4",
      "uuid7",
    ],
    [
      "from email.utils import *; X = make_msgid(domain='a'), formatdate(), formatdate(0)",
      "make_msgid",
      "formatdate",
    ],
    [
      "import dataclasses, uuid\n@dataclasses.dataclass\nclass A:\n  id: object = dataclasses.field(default_factory=uuid.uuid4)\nX = A()",
      "uuid4",
    ],
    ["import random, time\ndef later():\n  return random.random(), time.time()"],
    ["import logging; logging.warning('a')"],
    ["import time\ntry: time.sleep(0.1)\nexcept RuntimeError: ...\n\nX = time.time()", "time"],
  ])("%s", async (line, ...names) => {
    const text = `from edge_servlets import tool\ntool("f", description="F")(lambda: 1)\n${line}\n`;
    const [member] = await bundle({ "servlet.py": text });
    const at = line.includes("\nX") ? 7 : 3;
    expect(member!.warnings).toEqual(
      names.map(
        (name) =>
          expect.stringContaining(
            `servlet.py:${at}: ${name}() at module scope runs once`,
          ) as unknown,
      ),
    );
  });
});
