import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadServlet } from "../../../../src/tools/testing/index.ts";

/** Packages do in a servlet what they do where they are installed: they read files, ask for versions, import by computed names. */
let folder: string;
beforeAll(async () => {
  await mkdir(".bundle", { recursive: true });
  folder = await mkdtemp(join(".bundle", "test-modules-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The result of the function `use` in the module `using`, beside these other files. */
async function used(name: string, code: string, files: Record<string, string | Uint8Array> = {}) {
  const servlet = join(folder, name);
  const all = {
    "servlet.py": `from edge_servlets import tool
import using

@tool
def use() -> dict:
    return {"made": using.use()}
`,
    "using.py": code,
    ...files,
  };
  for (const [file, text] of Object.entries(all)) {
    await mkdir(dirname(join(servlet, file)), { recursive: true });
    await writeFile(join(servlet, file), text);
  }
  const { result } = await (await loadServlet(servlet)).callTool("use", {});
  return result.isError
    ? JSON.stringify(result.content)
    : (result.structuredContent as { made: unknown }).made;
}

const WORDS = {
  "vendor/words/__init__.py": `import os, pkgutil
from importlib import resources
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
EARLY = open(os.path.join(HERE, "data", "en.txt")).read()

def all():
    here = Path(__file__).parent / "data"
    return [
        EARLY,
        pkgutil.get_data("words", "data/en.txt").decode(),
        resources.files("words").joinpath("data/en.txt").read_text(),
        (here / "raw.bin").read_bytes().hex(),
        sorted(one.name for one in here.iterdir()),
        os.listdir(here),
        [one[2] for one in os.walk(HERE)],
        [one.name for one in here.parent.glob("*/*.txt")],
        [os.path.exists(os.path.join(HERE, one)) for one in ("data", "data/en.txt", "data/fr.txt")],
        [here.is_dir(), (here / "en.txt").is_file(), (here / "en.txt").stat().st_size],
    ]

def refused():
    for mode in ("w", "a", "r+"):
        try:
            open(Path(__file__).parent / "data/en.txt", mode)
        except OSError:
            continue
        return mode
    try:
        open(Path(__file__).parent / "data/fr.txt")
    except FileNotFoundError:
        return "all"
`,
  "vendor/words/data/en.txt": "häuser\n",
  "vendor/words/data/raw.bin": new Uint8Array([0, 255, 13, 10]),
  "vendor/words/tests/large.txt": "not taken",
};

describe("files of packages", () => {
  test("are read in each way", async () => {
    const text = "häuser\n";
    expect(await used("files", "import words\nuse = words.all", WORDS)).toEqual([
      text,
      text,
      text,
      "00ff0d0a",
      ["en.txt", "raw.bin"],
      ["en.txt", "raw.bin"],
      [[], ["en.txt", "raw.bin"]],
      ["en.txt"],
      [true, true, false],
      [true, true, 8],
    ]);
  });

  test("are not written, and others are not there", async () => {
    expect(await used("written", "import words\nuse = words.refused", WORDS)).toBe("all");
  });

  test.each([
    ["a package", "vendor/words", "words"],
    ["vendor/", "vendor", "vendor"],
  ])("are refused where %s is a link to elsewhere", async (_, link, named) => {
    const elsewhere = await mkdtemp(resolve(folder, "elsewhere-"));
    for (const inside of ["", "words"]) {
      await mkdir(join(elsewhere, inside), { recursive: true });
      await writeFile(join(elsewhere, inside, "__init__.py"), "HERE = __file__");
    }
    const servlet = `linked-${named}`;
    await mkdir(dirname(join(folder, servlet, link)), { recursive: true });
    await symlink(elsewhere, join(folder, servlet, link));
    await expect(used(servlet, "import words\nuse = dict")).rejects.toThrow(
      new RegExp(`${named}\\S* is a link to \\S*${basename(elsewhere)}`),
    );
  });

  test("in links to elsewhere are not taken", async () => {
    const elsewhere = await mkdtemp(resolve(folder, "elsewhere-"));
    await writeFile(join(elsewhere, "secret.txt"), "secret");
    const data = join(folder, "links", "vendor/words/data");
    await mkdir(data, { recursive: true });
    await symlink(elsewhere, join(data, "linked"));
    await symlink(join(elsewhere, "secret.txt"), join(data, "secret.txt"));
    const code = `import words, os
def use():
    return [one[2] for one in os.walk(words.HERE)]
`;
    expect(await used("links", code, WORDS)).toEqual([[], ["en.txt", "raw.bin"]]);
  });

  test("are refused where they are too large", async () => {
    const files = { ...WORDS, "vendor/words/data/large.bin": new Uint8Array(8 * 1024 * 1024) };
    await expect(used("large", "import words\nuse = words.all", files)).rejects.toThrow(
      /the files of its packages, such as words\/data\/\S+, have more than 8388608 bytes/,
    );
  });
});

test("packages are known by their versions and entry points", async () => {
  const files = {
    "vendor/plug/__init__.py": `from importlib.metadata import entry_points, version, PackageNotFoundError

def all():
    try:
        missing = version("nothing")
    except PackageNotFoundError:
        missing = None
    return [version("Plug-In"), missing, [one.load()() for one in entry_points(group="plugs")]]
`,
    "vendor/plug/one.py": "def run():\n    return 'one'\n",
    "vendor/plug_in-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: plug-in\nVersion: 1.2\n",
    "vendor/plug_in-1.2.dist-info/entry_points.txt": "[plugs]\none = plug.one:run\n",
  };
  expect(await used("metadata", "import plug\nuse = plug.all", files)).toEqual([
    "1.2",
    null,
    ["one"],
  ]);
});

test("modules of a package's folder are imported by computed names, in calls", async () => {
  const files = {
    "vendor/shapes/__init__.py": `import importlib

def use():
    try:
        importlib.import_module("shapes.none")
    except ModuleNotFoundError as error:
        missing = str(error)[:31]
    one = importlib.import_module(f"shapes.{'circle'}")
    two = __import__("s" + "quare", globals(), locals(), ["NAME"], 1)
    return [one.NAME, two.NAME, missing]
`,
    "vendor/shapes/circle.py": "import colorsys\nNAME = f'circle {colorsys.ONE_THIRD:.1f}'\n",
    "vendor/shapes/square/__init__.py": "from .side import NAME\n",
    "vendor/shapes/square/side.py": "NAME = 'square'\n",
  };
  expect(await used("computed", "from shapes import use", files)).toEqual([
    "circle 0.3",
    "square",
    "No module named 'shapes.none': ",
  ]);
});

test("the author's modules are imported by computed names, where code has their package", async () => {
  const files: Record<string, string> = {};
  for (const name of ["plugins", "app/parts", "app/forms", "late", "circle"]) {
    files[`${name}/__init__.py`] = "";
    files[`${name}/one.py`] = "NAME = __name__\n";
    files[`${name}/two/__init__.py`] = "NAME = __name__\n";
  }
  files["app/last.py"] = `import pkgutil
def names():
    return [one.name for one in pkgutil.iter_modules(circle.__path__)]
import circle
`;
  const code = `import importlib, pkgutil, sys
from importlib import import_module
import plugins
from app import parts as those
import app.forms, app.last

EARLY = [one.name for one in pkgutil.iter_modules(plugins.__path__)]
LOADED = [import_module(f"{plugins.__name__}.{one}").NAME for one in EARLY]

def use():
    return [
        EARLY, LOADED,
        [(one.name, one.ispkg) for one in pkgutil.iter_modules(those.__path__, "x.")],
        [one.name for one in pkgutil.walk_packages(app.forms.__path__, "app.forms.")],
        [importlib.import_module("late." + one).NAME for one in ("one", "two")],
        [import_module(name).NAME for name in ("late.{}".format("one"), "late.%s" % "two")],
        importlib.import_module(f".{'one'}", package="app.parts").NAME,
        [*pkgutil.iter_modules(["nowhere"])],
        app.last.names(),
    ]
`;
  expect(await used("discovered", code, files)).toEqual([
    ["one", "two"],
    ["plugins.one", "plugins.two"],
    [
      ["x.one", false],
      ["x.two", true],
    ],
    ["app.forms.one", "app.forms.two"],
    ["late.one", "late.two"],
    ["late.one", "late.two"],
    "app.parts.one",
    [],
    ["one", "two"],
  ]);
});

test("other computed names are looked for beside their importer, and relative ones where they lead", async () => {
  // In a package APP of its own each: by a module of APP, and by one of APP.deep.
  const calls = {
    "finds.py": [
      'import_module("{}.{}".format(__package__, name))',
      'import_module("%s.%s" % (__package__, name))',
      'import_module(f"{module.__name__}.{name}")',
      "import_module(kind.__name__.lower())",
      'import_module("APP/one.py".removesuffix(".py").replace("/", "."))',
      'import_module(".{}".format(name), "APP")',
    ],
    "deep/finds.py": [
      'import_module(f"..{name}", __package__)',
      'import_module(".." + name, package=__package__)',
      'import_module("..one", __package__)',
      'import_module(f"..{name}", "APP.deep")',
      'import_module(f"..more.{name}", __package__)',
    ],
  };
  const files: Record<string, string> = {};
  const finders: string[] = [];
  for (const [path, sources] of Object.entries(calls))
    for (const source of sources) {
      const app = `app_${finders.length}`;
      for (const inside of ["", "deep/", "more/"]) {
        files[`${app}/${inside}__init__.py`] = "";
        files[`${app}/${inside}one.py`] = "NAME = __name__\n";
      }
      files[`${app}/${path}`] = `from importlib import import_module
def find(name, module, kind):
    return ${source.replace("APP", app)}.NAME
`;
      finders.push(`${app}.${path.replace(".py", "").replace("/", ".")}`);
    }
  const code = `${finders.map((one) => `import ${one}\n`).join("")}
def found(finder, app):
    try:
        return finder.find("one", app, type(f"{app.__name__}.One", (), {}))
    except ImportError as error:
        return str(error)

def use():
    return [${finders.map((one) => `found(${one}, ${one.split(".")[0]})`).join(", ")}]
`;
  expect(await used("beside", code, files)).toEqual(
    finders.map((_, nth) => `app_${nth}${nth === finders.length - 1 ? ".more" : ""}.one`),
  );
});

test("packages may have more source code than one instance can compile", async () => {
  const line = "    a = {b: [c(d, *e, f=g)[h] for i in j if k] for l, m in n}\n";
  const names = Array.from({ length: 30 }, (_, nth) => `part_${nth}`);
  const part = (name: string) =>
    `def ${name}():\n${line.repeat(1000)}    return "${randomBytes(16).toHex()}"\n`;
  const files = Object.fromEntries(names.map((one) => [`vendor/large/${one}.py`, part(one)]));
  const code = `from large import ${names.join(", ")}\n\ndef use():\n    return part_29.part_29.__name__\n`;
  expect(await used("large", code, files)).toBe("part_29");
}, 120_000);

test("folders without __init__.py are packages, of several roots and of the author's own", async () => {
  const files = {
    "vendor/space/one/__init__.py": "NAME = 1\n",
    "vendor/json/data.txt": "no package of this name",
    "tools/two.py": "NAME = 2\n",
  };
  const code = `import json
import space.one
from tools import two

def use():
    return [space.one.NAME, two.NAME, json.loads("3")]
`;
  expect(await used("namespaces", code, files)).toEqual([1, 2, 3]);
});

test("encodings are there by their names, and functions of packages import of the library", async () => {
  const files = {
    "vendor/lazy.py": `def use():
    import colorsys
    return round(colorsys.ONE_SIXTH, 2)
`,
  };
  const code = `import lazy

def use():
    names = ["utf-16-le", "cp1252", "cp437", "mac_roman", "idna", "latin-1", "utf-8-sig"]
    return [lazy.use(), *("é".encode(name).hex() for name in names)]
`;
  expect(await used("encodings", code, files)).toEqual([
    0.17,
    "e900",
    "e9",
    "82",
    "8e",
    "786e2d2d396361",
    "e9",
    "efbbbfc3a9",
  ]);
});

describe("what the library imports within its functions is there", () => {
  test.each<[what: string, code: string, made: unknown]>([
    [
      "argparse at module scope",
      `import argparse
parser = argparse.ArgumentParser(prog="a", description="b")
parser.add_argument("--n", type=int, default=2, help="a number")
arguments = parser.parse_args(["--n", "3"])
def use():
    try:
        parser.parse_args(["--m"])
    except SystemExit as error:
        return [arguments.n, error.code, "a number" in parser.format_help()]`,
      [3, 2, true],
    ],
    [
      "optparse",
      `import optparse
def use():
    parser = optparse.OptionParser()
    parser.add_option("-n", type="int")
    return [parser.parse_args(["-n", "3"])[0].n, parser.format_help()[:5]]`,
      [3, "Usage"],
    ],
    ["getopt", `import getopt\ndef use():\n  return getopt.getopt(["-a", "b"], "a")[1]`, ["b"]],
    [
      "email",
      `import email
TEXT = "Subject: a\\nDate: Mon, 1 Jan 2024 00:00:00 +0000\\nContent-Type: multipart/mixed; boundary=x\\n\\n--x\\n\\nb\\n--x--\\n"
early = email.message_from_string(TEXT)["subject"]
def use():
    found = email.message_from_bytes(TEXT.encode())
    return [early, [one.get_payload() for one in found.walk()][1], "Subject: a" in found.as_string()]`,
      ["a", "b", true],
    ],
    [
      "email.utils",
      `from email.utils import mktime_tz, parsedate_tz, parsedate_to_datetime
def use():
    return [mktime_tz(parsedate_tz("Mon, 1 Jan 2024 00:00:00 +0000")), parsedate_to_datetime("Mon, 1 Jan 2024 00:00:00 +0000").year]`,
      [1704067200, 2024],
    ],
    [
      "email.mime",
      `from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
def use():
    whole = MIMEMultipart("alternative")
    whole["Subject"] = "é"
    whole.attach(MIMEText("é", "html"))
    return "=?utf-8?" in whole.as_string()`,
      true,
    ],
    [
      "sqlite3's iterdump",
      `import sqlite3
def use():
    db = sqlite3.connect(":memory:")
    db.execute("create table a (b)")
    return list(db.iterdump())[1]`,
      "CREATE TABLE a (b);",
    ],
    [
      "minidom by its name",
      `from xml.dom import getDOMImplementation
def use():
    return getDOMImplementation().createDocument(None, "a", None).toxml()`,
      '<?xml version="1.0" ?><a/>',
    ],
    [
      "gettext",
      `import gettext\ndef use():\n  return [gettext.gettext("a"), gettext.find("x")]`,
      ["a", null],
    ],
    [
      "calendar",
      `import calendar\ndef use():\n  return calendar.month(2024, 2).strip()[:13]`,
      "February 2024",
    ],
    [
      "an executor, which runs what it is given at once",
      `import asyncio
from concurrent.futures import ThreadPoolExecutor
def use():
    async def run():
        with ThreadPoolExecutor() as pool:
            return await asyncio.get_running_loop().run_in_executor(pool, lambda: 3)
    return asyncio.run(run())`,
      3,
    ],
    [
      "large integers",
      `import sys
sys.set_int_max_str_digits(0)
def use():
    a = 10**20000 + 7
    return [a // 3**5000 % 1000, int(str(a)) == a]`,
      [expect.any(Number), true],
    ],
    [
      "the trace of a syntax error",
      `import ast, traceback
def use():
    try:
        ast.parse("whlie True: pass")
    except SyntaxError:
        return traceback.format_exc().splitlines()[-1]`,
      "SyntaxError: invalid syntax. Did you mean 'while'?",
    ],
    [
      "unittest",
      `import unittest
class T(unittest.IsolatedAsyncioTestCase):
    def test_logs(self):
        import logging
        with self.assertLogs() as logs:
            logging.warning("a")
def use():
    import io
    return unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T)).wasSuccessful()`,
      true,
    ],
  ])("%s", async (what, code, made) => {
    expect(await used(what.replaceAll(/\W+/g, "-"), `${code}\n`)).toEqual(made);
  });

  test("archives of shutil, which the library has imported before", async () => {
    const code = "import argparse\nimport deep\nuse = deep.use\n";
    const made = await used("archives", code, {
      "deep.py": "import deeper\nuse = deeper.use\n",
      "deeper.py": "import deepest\nuse = deepest.use\n",
      "deepest.py": `import shutil
def use():
    names = ["tarfile", "zipfile"]
    return [__import__(name).__name__ for name in names if shutil.make_archive]
`,
    });
    expect(made).toEqual(["tarfile", "zipfile"]);
  });
});

describe("an encoding that code names is there", () => {
  test("in a handler and at module scope", async () => {
    const code = `import codecs, io
CYRILLIC = "windows-1251"
EARLY = [b"\\x9a".decode("cp1250"), "é".encode(encoding="cp850").hex(), codecs.decode("uryyb", "rot13")]
def use():
    text = io.TextIOWrapper(io.BytesIO(b"\\x81"), encoding="IBM852").read()
    return [
        *EARLY, text, b"\\xff".decode(CYRILLIC), "я".encode(CYRILLIC).hex(),
        codecs.encode(b"a", "hex").decode(), codecs.encode(b"a", "base64").decode(), codecs.lookup("utf-7").name,
        "bücher.example".encode("idna").decode(), "ü".encode("punycode").decode(), str(b"\\x8e", "macintosh"),
        bytes("a", "utf-32-be").hex(), codecs.decode(codecs.encode(b"a", "zip"), "zlib").decode(),
        "ü".encode("koi8-t", "replace").decode(), "\\N{ARABIC LETTER ALEF}".encode("mac-arabic").hex(),
    ]
`;
    expect(await used("named-encodings", code)).toEqual([
      "š",
      "82",
      "hello",
      "ü",
      "я",
      "ff",
      "61",
      "YQ==\n",
      "utf-7",
      "xn--bcher-kva.example",
      "tda",
      "é",
      "00000061",
      "a",
      "?",
      "c7",
    ]);
  });

  test("with those that it needs itself", async () => {
    const code = `def use():\n    return "bücher.example".encode("idna").decode()`;
    expect(await used("of-its-own", code)).toBe("xn--bcher-kva.example");
  });

  test("and one whose name is computed says what to import", async () => {
    const code = `
def why(name):
    try:
        return b"a".decode(name)
    except LookupError as error:
        return str(error)
EARLY = [why("shift-" + "jis"), why("cp8" + "50"), why("no" + "ne")]
def use():
    return [*EARLY, why("I" + "BM850"), why("jo" + "hab"), why("shift-" + "jis")]
`;
    const advice =
      "In a servlet, the encodings that its code names are there: import encodings.cp850";
    expect(await used("computed-encodings", code)).toEqual([
      "unknown encoding: shift_jis. In a servlet, the host knows it in a handler, and not at module scope",
      expect.stringContaining(`unknown encoding: cp850. ${advice} in servlet.py`),
      "unknown encoding: none",
      expect.stringContaining(advice),
      "unknown encoding: johab. In a servlet, use UTF-8",
      "a",
    ]);
  });
});
