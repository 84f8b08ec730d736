/**
 * Packages from PyPI that authors of servlets reach for, each with a use of it. To add one: a row here, and `npm run docs`.
 */

export interface Used {
  name: string;
  version: string;
  /** Requirements beside itself. */
  with?: string;
  /** Its servlet.json. */
  manifest?: object;
  /** For readers of docs/packages.md. */
  does: string;
  /** Kilobytes of the servlet that uses it, compressed; absent if it does not work. */
  kb?: number;
  /** A module with the function `use`, which uses the package. */
  code: string;
  /** The function's result. */
  gives?: unknown;
  /** Why it does not work in a servlet: the refusal, and for readers. */
  fails?: { error: RegExp; because: string };
  /** The parts that do not work, or what else to know. */
  note?: string;
}

/** The package of a name with the versions that are meant. */
export const packageOf = (name: string): string => name.replace(/<.*/, "");

export const CORPUS: readonly Used[] = [
  {
    name: "attrs",
    version: "26.1.0",
    does: "classes",
    kb: 591,
    code: `from attrs import asdict, define, field, validators

@define
class Point:
    x: int = field(validator=validators.ge(0))
    y: int = 2

def use():
    try:
        Point(-1)
    except ValueError as error:
        return [asdict(Point(1)), str(error)[:16]]`,
    gives: [{ x: 1, y: 2 }, "'x' must be >= 0"],
  },
  {
    name: "babel",
    version: "2.19.0",
    does: "numbers and dates of countries",
    code: `from datetime import date
from babel.dates import format_date
from babel.numbers import format_currency

def use():
    return [format_currency(1234.5, "EUR", locale="de"), format_date(date(2026, 1, 2), locale="fr")]`,
    fails: {
      error: /the files of its packages/,
      because: "its data have more than the 8 MiB that the files of packages may",
    },
  },
  {
    name: "beautifulsoup4",
    version: "4.15.0",
    does: "HTML",
    kb: 769,
    code: `from bs4 import BeautifulSoup

def use():
    page = BeautifulSoup("<ul><li>one<li class=b>two</ul>", "html.parser")
    return [page.select_one(".b").text, len(page.find_all("li"))]`,
    gives: ["two", 2],
  },
  {
    name: "click",
    version: "8.5.1",
    does: "command lines",
    kb: 925,
    code: `import click

@click.command()
@click.option("--times", default=1)
@click.argument("name")
def hello(times, name):
    return f"Hello {name}!" * times

def use():
    return hello.main(["Ada", "--times", "2"], standalone_mode=False)`,
    gives: "Hello Ada!Hello Ada!",
  },
  {
    name: "docutils",
    version: "0.23",
    does: "reStructuredText",
    kb: 1946,
    code: `from docutils.core import publish_parts

def use():
    return publish_parts("Title\\n=====\\n\\n*Text*", writer="html5")["body"]`,
    gives: "<p><em>Text</em></p>\n",
  },
  {
    name: "feedparser",
    version: "6.0.14",
    does: "RSS, Atom",
    kb: 893,
    code: `import feedparser

def use():
    feed = feedparser.parse("<rss version='2.0'><channel><title>News</title><item><title>One</title></item></channel></rss>")
    return [feed.feed.title, [one.title for one in feed.entries]]`,
    gives: ["News", ["One"]],
  },
  {
    name: "html5lib",
    version: "1.1",
    does: "HTML",
    kb: 1149,
    code: `import html5lib

def use():
    page = html5lib.parse("<p>one<p>two", namespaceHTMLElements=False)
    return [one.text for one in page.iter("p")]`,
    gives: ["one", "two"],
  },
  {
    name: "humanize",
    version: "4.17.0",
    does: "numbers in words",
    kb: 404,
    code: `from datetime import timedelta
import humanize

def use():
    return [humanize.naturalsize(3_000_000), humanize.naturaldelta(timedelta(hours=3)), humanize.intword(1200000)]`,
    gives: ["3.0 MB", "3 hours", "1.2 million"],
  },
  {
    name: "icalendar",
    version: "7.3.2",
    does: "calendars",
    kb: 1915,
    code: `from datetime import datetime
from zoneinfo import ZoneInfo
from icalendar import Calendar, Event

def use():
    event = Event()
    event.add("summary", "Lunch")
    event.add("dtstart", datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Zurich")))
    calendar = Calendar()
    calendar.add_component(event)
    text = calendar.to_ical()
    again = Calendar.from_ical(text)
    return [b"TZID=Europe/Zurich" in text, [str(one["summary"]) for one in again.walk("VEVENT")]]`,
    gives: [true, ["Lunch"]],
  },
  {
    name: "inflect<6",
    note: "later ones use typeguard, which reads its own source code",
    version: "5.6.2",
    does: "English plurals",
    kb: 187,
    code: `import inflect

def use():
    engine = inflect.engine()
    return [engine.plural("mouse"), engine.number_to_words(42)]`,
    gives: ["mice", "forty-two"],
  },
  {
    name: "jinja2",
    version: "3.1.6",
    does: "templates",
    kb: 1056,
    code: `from jinja2 import Environment

PAGE = Environment(autoescape=True).from_string("{% for one in all %}{{ loop.index }}: {{ one|upper }} {% endfor %}")

def use():
    return PAGE.render(all=["a", "<b>"])`,
    gives: "1: A 2: &lt;B&gt; ",
  },
  {
    name: "jsonschema",
    version: "4.26.0",
    does: "JSON Schema",
    code: `import jsonschema

def use():
    return [str(one.message) for one in jsonschema.Draft7Validator({"type": "string"}).iter_errors(1)]`,
    fails: { error: /there is no rpds-py/, because: "needs rpds-py, which is compiled" },
  },
  {
    name: "jsonschema<4.18",
    version: "4.17.3",
    does: "JSON Schema",
    kb: 1424,
    code: `import jsonschema

def use():
    return [one.message for one in jsonschema.Draft7Validator({"type": "string"}).iter_errors(1)]`,
    gives: ["1 is not of type 'string'"],
  },
  {
    name: "lark",
    version: "1.3.1",
    does: "parsers",
    kb: 757,
    code: `from lark import Lark

SUM = Lark('start: NUMBER ("+" NUMBER)*\\n%import common.NUMBER', parser="lalr")

def use():
    return [str(one) for one in SUM.parse("1+2+3").children]`,
    gives: ["1", "2", "3"],
  },
  {
    name: "lxml",
    version: "6.1.3",
    does: "XML",
    code: `from lxml import etree

def use():
    return etree.fromstring("<a/>").tag`,
    fails: {
      error: /there is no lxml/,
      because: "compiled; xml.etree, beautifulsoup4 and html5lib are not",
    },
  },
  {
    name: "markdown",
    version: "3.11.3",
    does: "Markdown",
    kb: 856,
    code: `import markdown

def use():
    return markdown.markdown("# One\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |", extensions=["tables"])`,
    gives:
      "<h1>One</h1>\n<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>",
  },
  {
    name: "markdownify",
    version: "1.2.3",
    does: "HTML to Markdown",
    kb: 842,
    code: `from markdownify import markdownify

def use():
    return markdownify("<h1>One</h1><p>A <b>bold</b> <a href='/x'>link</a>", heading_style="ATX")`,
    gives: "# One\n\nA **bold** [link](/x)",
  },
  {
    name: "marshmallow",
    version: "4.4.0",
    does: "schemas",
    kb: 372,
    code: `from marshmallow import Schema, ValidationError, fields

class Person(Schema):
    name = fields.Str(required=True)
    mail = fields.Email()

def use():
    try:
        Person().load({"mail": "nowhere"})
    except ValidationError as error:
        return error.messages`,
    gives: { name: ["Missing data for required field."], mail: ["Not a valid email address."] },
  },
  {
    name: "more-itertools",
    version: "11.2.1",
    does: "iterators",
    kb: 243,
    code: `from more_itertools import chunked, windowed

def use():
    return [list(chunked(range(5), 2)), list(windowed([1, 2, 3], 2))]`,
    gives: [
      [[0, 1], [2, 3], [4]],
      [
        [1, 2],
        [2, 3],
      ],
    ],
  },
  {
    name: "networkx",
    note: "without what needs numpy",
    version: "3.7",
    does: "graphs",
    kb: 3787,
    code: `import networkx as nx

def use():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 1), ("b", "c", 2), ("a", "c", 5)])
    return [nx.shortest_path(graph, "a", "c", weight="weight"), nx.number_connected_components(graph)]`,
    gives: [["a", "b", "c"], 1],
  },
  {
    name: "numpy",
    version: "2.5.5",
    does: "arrays",
    code: `import numpy

def use():
    return numpy.arange(3).tolist()`,
    fails: { error: /there is no numpy/, because: "compiled" },
  },
  {
    name: "openpyxl",
    manifest: { state: "caller", allowed_paths: ["tmp:/tmp"] },
    note: 'writes through a folder: `"allowed_paths": ["tmp:/tmp"]`',
    version: "3.1.5",
    does: "Excel",
    kb: 1551,
    code: `from io import BytesIO
from openpyxl import Workbook, load_workbook

def use():
    book = Workbook()
    book.active.append(["name", 3])
    file = BytesIO()
    book.save(file)
    return [list(row) for row in load_workbook(BytesIO(file.getvalue())).active.values]`,
    gives: [["name", 3]],
  },
  {
    name: "pandas",
    version: "3.1.1",
    does: "tables",
    code: `import pandas

def use():
    return pandas.DataFrame({"a": [1]}).sum().to_dict()`,
    fails: { error: /there is no pandas/, because: "compiled" },
  },
  {
    name: "parsy",
    version: "2.2",
    does: "parsers",
    kb: 88,
    code: `from parsy import regex, string

def use():
    return regex("[0-9]+").map(int).sep_by(string(",")).parse("1,22,3")`,
    gives: [1, 22, 3],
  },
  {
    name: "phonenumbers",
    version: "9.0.43",
    does: "telephone numbers",
    kb: 749,
    code: `import phonenumbers

def use():
    number = phonenumbers.parse("044 668 18 00", "CH")
    return [phonenumbers.is_valid_number(number), phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)]`,
    gives: [true, "+41446681800"],
  },
  {
    name: "pillow",
    version: "13.0.0",
    does: "images",
    code: `from PIL import Image

def use():
    return Image.new("RGB", (1, 1)).size`,
    fails: {
      error: /there is no pillow/,
      because: "compiled; segno and qrcode make pictures as SVG",
    },
  },
  {
    name: "pydantic<2",
    version: "1.10.27",
    does: "models",
    kb: 1116,
    code: `from pydantic import BaseModel, ValidationError

class Person(BaseModel):
    name: str
    age: int = 3

def use():
    try:
        Person(name="Ada", age="x")
    except ValidationError as error:
        return [Person(name="Ada", age="7").dict(), error.errors()[0]["loc"]]`,
    gives: [{ name: "Ada", age: 7 }, ["age"]],
  },
  {
    name: "pydantic",
    version: "2.14.4",
    does: "models",
    code: `from pydantic import BaseModel

def use():
    return BaseModel().model_dump()`,
    fails: {
      error: /there is no pydantic-core/,
      because: "version 2 is compiled; `pydantic<2` is not",
    },
  },
  {
    name: "pypdf",
    version: "7.1.1",
    does: "PDF",
    kb: 2445,
    code: `from io import BytesIO
from pypdf import PdfReader, PdfWriter

def use():
    writer = PdfWriter()
    writer.add_blank_page(100, 200)
    writer.add_metadata({"/Title": "Empty"})
    file = BytesIO()
    writer.write(file)
    reader = PdfReader(file)
    return [len(reader.pages), reader.metadata.title, reader.pages[0].extract_text()]`,
    gives: [1, "Empty", ""],
  },
  {
    name: "python-dateutil",
    with: "tzdata",
    note: "time zones with `tzdata`",
    version: "4.0.0",
    does: "dates",
    kb: 1008,
    code: `from datetime import datetime
from dateutil.parser import parse
from dateutil.relativedelta import relativedelta
from dateutil.rrule import WEEKLY, rrule
from dateutil.tz import gettz

def use():
    start = parse("1 March 2026 10:00")
    return [
        (start + relativedelta(months=1, day=31)).isoformat(),
        [one.day for one in rrule(WEEKLY, count=2, dtstart=start)],
        datetime(2026, 7, 1, tzinfo=gettz("Europe/Zurich")).isoformat(),
    ]`,
    gives: ["2026-04-30T10:00:00", [1, 8], "2026-07-01T00:00:00+02:00"],
  },
  {
    name: "python-slugify",
    note: "with `import text_unidecode`",
    version: "9.2.0",
    does: "names in URLs",
    kb: 798,
    code: `import text_unidecode
from slugify import slugify

def use():
    return slugify("Über den Wolken, 空!")`,
    gives: "uber-den-wolken-kong",
  },
  {
    name: "pytz",
    version: "2026.6",
    does: "time zones",
    kb: 600,
    code: `from datetime import datetime
import pytz

def use():
    return [pytz.timezone("Asia/Tokyo").localize(datetime(2026, 1, 1)).isoformat(), len(pytz.common_timezones) > 400]`,
    gives: ["2026-01-01T00:00:00+09:00", true],
  },
  {
    name: "pyyaml",
    note: "without libyaml",
    version: "6.0.4",
    does: "YAML",
    kb: 220,
    code: `import yaml

def use():
    return [yaml.safe_load("a: [1, {b: null}]"), yaml.safe_dump({"c": [1, "x: y"]})]`,
    gives: [{ a: [1, { b: null }] }, "c:\n- 1\n- 'x: y'\n"],
  },
  {
    name: "qrcode",
    note: "as SVG or text",
    version: "8.2",
    does: "QR codes",
    kb: 216,
    code: `import qrcode
from qrcode.image.svg import SvgPathImage

def use():
    return qrcode.make("https://example.com", image_factory=SvgPathImage).to_string(encoding="unicode")[:4]`,
    gives: "<svg",
  },
  {
    name: "rapidfuzz",
    version: "3.14.6",
    does: "similar texts",
    kb: 366,
    code: `from rapidfuzz import fuzz, process

def use():
    return [fuzz.ratio("kitten", "sitting"), process.extractOne("appel", ["apple", "pear"])[0]]`,
    gives: [61.53846153846154, "apple"],
  },
  {
    name: "rich",
    version: "15.0.0",
    does: "tables as text",
    kb: 2002,
    code: `from io import StringIO
from rich.console import Console
from rich.table import Table

def use():
    table = Table("name", "age")
    table.add_row("Ada", "[b]36[/b]")
    console = Console(file=StringIO(), width=30)
    console.print(table)
    return console.file.getvalue()`,
    gives: "┏━━━━━━┳━━━━━┓\n┃ name ┃ age ┃\n┡━━━━━━╇━━━━━┩\n│ Ada  │ 36  │\n└──────┴─────┘\n",
  },
  {
    name: "ruamel.yaml",
    version: "0.19.1",
    does: "YAML with its comments",
    kb: 791,
    code: `from io import StringIO
from ruamel.yaml import YAML

def use():
    yaml = YAML()
    text = yaml.load("a: 1 # one")
    text["b"] = 2
    out = StringIO()
    yaml.dump(text, out)
    return out.getvalue()`,
    gives: "a: 1 # one\nb: 2\n",
  },
  {
    name: "segno",
    version: "1.6.6",
    does: "QR codes",
    kb: 872,
    code: `import segno

def use():
    return segno.make("https://example.com").svg_inline(scale=2)[:4]`,
    gives: "<svg",
  },
  {
    name: "simplejson",
    version: "4.3.0",
    does: "JSON",
    kb: 98,
    code: `from decimal import Decimal
import simplejson

def use():
    return [simplejson.dumps({"a": Decimal("1.10")}), simplejson.loads('{"b": [1, 2]}')]`,
    gives: ['{"a": 1.10}', { b: [1, 2] }],
  },
  {
    name: "sortedcontainers",
    version: "2.4.0",
    does: "sorted lists",
    kb: 121,
    code: `from sortedcontainers import SortedDict, SortedList

def use():
    return [list(SortedList([3, 1, 2])), list(SortedDict(b=1, a=2))]`,
    gives: [
      [1, 2, 3],
      ["a", "b"],
    ],
  },
  {
    name: "sqlparse",
    version: "0.6.1",
    does: "SQL",
    kb: 324,
    code: `import sqlparse

def use():
    return sqlparse.format("select a from b where c=1", reindent=True, keyword_case="upper")`,
    gives: "SELECT a\nFROM b\nWHERE c=1",
  },
  {
    name: "sympy",
    version: "1.14.0",
    does: "mathematics",
    code: `from sympy import diff, solve, symbols

x = symbols("x")

def use():
    return [str(diff(x**3, x)), [int(one) for one in solve(x**2 - 4, x)]]`,
    fails: { error: /could not be loaded/, because: "is too large to be loaded" },
  },
  {
    name: "tabulate",
    version: "0.10.0",
    does: "tables as text",
    kb: 734,
    code: `from tabulate import tabulate

def use():
    return tabulate([["Ada", 36]], headers=["name", "age"], tablefmt="github")`,
    gives: "| name   |   age |\n|--------|-------|\n| Ada    |    36 |",
  },
  {
    name: "tomli",
    version: "2.5.0",
    does: "TOML",
    kb: 82,
    code: `import tomli

def use():
    return tomli.loads("[a]\\nb = [1, 2]")`,
    gives: { a: { b: [1, 2] } },
  },
  {
    name: "tomlkit",
    version: "0.15.2",
    does: "TOML with its comments",
    kb: 319,
    code: `import tomlkit

def use():
    text = tomlkit.parse("a = 1 # one\\n")
    text["b"] = 2
    return tomlkit.dumps(text)`,
    gives: "a = 1 # one\nb = 2\n",
  },
  {
    name: "toolz",
    version: "1.2.0",
    does: "functions",
    kb: 451,
    code: `from toolz import groupby, pipe

def use():
    return pipe([1, 2, 3, 4], lambda all: groupby(lambda one: one % 2 == 0, all), lambda groups: groups[True])`,
    gives: [2, 4],
  },
  {
    name: "tzdata",
    version: "2026.6",
    does: "time zones for zoneinfo",
    kb: 498,
    code: `from datetime import datetime
from zoneinfo import ZoneInfo
import tzdata

def use():
    return datetime(2026, 7, 1, tzinfo=ZoneInfo("America/New_York")).isoformat()`,
    gives: "2026-07-01T00:00:00-04:00",
  },
  {
    name: "unidecode",
    version: "1.4.0",
    does: "texts in ASCII",
    kb: 283,
    code: `from unidecode import unidecode

def use():
    return unidecode("Москва, Köln, 北京")`,
    gives: "Moskva, Koln, Bei Jing ",
  },
  {
    name: "xlsxwriter",
    version: "3.3.1",
    does: "Excel",
    kb: 1307,
    code: `from io import BytesIO
import xlsxwriter

def use():
    file = BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["name", 3])
    return file.getvalue()[:2].decode()`,
    gives: "PK",
  },
  {
    name: "xmltodict",
    version: "1.0.4",
    does: "XML",
    kb: 497,
    code: `import xmltodict

def use():
    return xmltodict.parse("<a><b>1</b><b>2</b></a>")`,
    gives: { a: { b: ["1", "2"] } },
  },
];
