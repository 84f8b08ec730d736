/**
 * Packages from PyPI that authors of servlets reach for, each with a use of it. To add one: a row here, and `npm run docs`.
 */

export interface Used {
  name: string;
  version: string;
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

export const CORPUS: readonly Used[] = [
  {
    name: "attrs",
    version: "",
    does: "classes",
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
  },
  {
    name: "babel",
    version: "",
    does: "numbers and dates of countries",
    code: `from datetime import date
from babel.dates import format_date
from babel.numbers import format_currency

def use():
    return [format_currency(1234.5, "EUR", locale="de"), format_date(date(2026, 1, 2), locale="fr")]`,
  },
  {
    name: "beautifulsoup4",
    version: "",
    does: "HTML",
    code: `from bs4 import BeautifulSoup

def use():
    page = BeautifulSoup("<ul><li>one<li class=b>two</ul>", "html.parser")
    return [page.select_one(".b").text, len(page.find_all("li"))]`,
  },
  {
    name: "click",
    version: "",
    does: "command lines",
    code: `import click

@click.command()
@click.option("--times", default=1)
@click.argument("name")
def hello(times, name):
    return f"Hello {name}!" * times

def use():
    return hello.main(["Ada", "--times", "2"], standalone_mode=False)`,
  },
  {
    name: "docutils",
    version: "",
    does: "reStructuredText",
    code: `from docutils.core import publish_parts

def use():
    return publish_parts("Title\\n=====\\n\\n*Text*", writer="html5")["body"]`,
  },
  {
    name: "feedparser",
    version: "",
    does: "RSS, Atom",
    code: `import feedparser

def use():
    feed = feedparser.parse("<rss version='2.0'><channel><title>News</title><item><title>One</title></item></channel></rss>")
    return [feed.feed.title, [one.title for one in feed.entries]]`,
  },
  {
    name: "html5lib",
    version: "",
    does: "HTML",
    code: `import html5lib

def use():
    page = html5lib.parse("<p>one<p>two", namespaceHTMLElements=False)
    return [one.text for one in page.iter("p")]`,
  },
  {
    name: "humanize",
    version: "",
    does: "numbers in words",
    code: `from datetime import timedelta
import humanize

def use():
    return [humanize.naturalsize(3_000_000), humanize.naturaldelta(timedelta(hours=3)), humanize.intword(1200000)]`,
  },
  {
    name: "icalendar",
    version: "",
    does: "calendars",
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
  },
  {
    name: "inflect<6",
    version: "",
    does: "English plurals",
    code: `import inflect

def use():
    engine = inflect.engine()
    return [engine.plural("mouse"), engine.number_to_words(42)]`,
  },
  {
    name: "jinja2",
    version: "",
    does: "templates",
    code: `from jinja2 import Environment

PAGE = Environment(autoescape=True).from_string("{% for one in all %}{{ loop.index }}: {{ one|upper }} {% endfor %}")

def use():
    return PAGE.render(all=["a", "<b>"])`,
  },
  {
    name: "jsonschema",
    version: "",
    does: "JSON Schema",
    code: `import jsonschema

def use():
    return [str(one.message) for one in jsonschema.Draft7Validator({"type": "string"}).iter_errors(1)]`,
    fails: { error: /rpds-py/, because: "" },
  },
  {
    name: "lark",
    version: "",
    does: "parsers",
    code: `from lark import Lark

SUM = Lark('start: NUMBER ("+" NUMBER)*\\n%import common.NUMBER', parser="lalr")

def use():
    return [str(one) for one in SUM.parse("1+2+3").children]`,
  },
  {
    name: "lxml",
    version: "",
    does: "XML",
    code: `from lxml import etree

def use():
    return etree.fromstring("<a/>").tag`,
    fails: { error: /there is no lxml/, because: "" },
  },
  {
    name: "markdown",
    version: "",
    does: "Markdown",
    code: `import markdown

def use():
    return markdown.markdown("# One\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |", extensions=["tables"])`,
  },
  {
    name: "markdownify",
    version: "",
    does: "HTML to Markdown",
    code: `from markdownify import markdownify

def use():
    return markdownify("<h1>One</h1><p>A <b>bold</b> <a href='/x'>link</a>", heading_style="ATX")`,
  },
  {
    name: "marshmallow",
    version: "",
    does: "schemas",
    code: `from marshmallow import Schema, ValidationError, fields

class Person(Schema):
    name = fields.Str(required=True)
    mail = fields.Email()

def use():
    try:
        Person().load({"mail": "nowhere"})
    except ValidationError as error:
        return error.messages`,
  },
  {
    name: "more-itertools",
    version: "",
    does: "iterators",
    code: `from more_itertools import chunked, windowed

def use():
    return [list(chunked(range(5), 2)), list(windowed([1, 2, 3], 2))]`,
  },
  {
    name: "networkx",
    version: "",
    does: "graphs",
    code: `import networkx as nx

def use():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 1), ("b", "c", 2), ("a", "c", 5)])
    return [nx.shortest_path(graph, "a", "c", weight="weight"), nx.number_connected_components(graph)]`,
  },
  {
    name: "numpy",
    version: "",
    does: "arrays",
    code: `import numpy

def use():
    return numpy.arange(3).tolist()`,
    fails: { error: /there is no numpy/, because: "" },
  },
  {
    name: "openpyxl",
    version: "",
    does: "Excel",
    code: `from io import BytesIO
from openpyxl import Workbook, load_workbook

def use():
    book = Workbook()
    book.active.append(["name", 3])
    file = BytesIO()
    book.save(file)
    return [list(row) for row in load_workbook(BytesIO(file.getvalue())).active.values]`,
  },
  {
    name: "pandas",
    version: "",
    does: "tables",
    code: `import pandas

def use():
    return pandas.DataFrame({"a": [1]}).sum().to_dict()`,
    fails: { error: /there is no pandas/, because: "" },
  },
  {
    name: "parsy",
    version: "",
    does: "parsers",
    code: `from parsy import regex, string

def use():
    return regex("[0-9]+").map(int).sep_by(string(",")).parse("1,22,3")`,
  },
  {
    name: "phonenumbers",
    version: "",
    does: "telephone numbers",
    code: `import phonenumbers

def use():
    number = phonenumbers.parse("044 668 18 00", "CH")
    return [phonenumbers.is_valid_number(number), phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)]`,
  },
  {
    name: "pillow",
    version: "",
    does: "images",
    code: `from PIL import Image

def use():
    return Image.new("RGB", (1, 1)).size`,
    fails: { error: /there is no pillow/, because: "" },
  },
  {
    name: "pydantic<2",
    version: "",
    does: "models",
    code: `from pydantic import BaseModel, ValidationError

class Person(BaseModel):
    name: str
    age: int = 3

def use():
    try:
        Person(name="Ada", age="x")
    except ValidationError as error:
        return [Person(name="Ada", age="7").dict(), error.errors()[0]["loc"]]`,
  },
  {
    name: "pydantic",
    version: "",
    does: "models",
    code: `from pydantic import BaseModel

def use():
    return BaseModel().model_dump()`,
    fails: { error: /there is no pydantic/, because: "" },
  },
  {
    name: "pypdf",
    version: "",
    does: "PDF",
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
  },
  {
    name: "python-dateutil",
    version: "",
    does: "dates",
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
  },
  {
    name: "python-slugify",
    version: "",
    does: "names in URLs",
    code: `import text_unidecode
from slugify import slugify

def use():
    return slugify("Über den Wolken, 空!")`,
  },
  {
    name: "pytz",
    version: "",
    does: "time zones",
    code: `from datetime import datetime
import pytz

def use():
    return [pytz.timezone("Asia/Tokyo").localize(datetime(2026, 1, 1)).isoformat(), len(pytz.common_timezones) > 400]`,
  },
  {
    name: "pyyaml",
    version: "",
    does: "YAML",
    code: `import yaml

def use():
    return [yaml.safe_load("a: [1, {b: null}]"), yaml.safe_dump({"c": [1, "x: y"]})]`,
  },
  {
    name: "qrcode",
    version: "",
    does: "QR codes",
    code: `import qrcode
from qrcode.image.svg import SvgPathImage

def use():
    return qrcode.make("https://example.com", image_factory=SvgPathImage).to_string(encoding="unicode")[:4]`,
  },
  {
    name: "rapidfuzz",
    version: "",
    does: "similar texts",
    code: `from rapidfuzz import fuzz, process

def use():
    return [fuzz.ratio("kitten", "sitting"), process.extractOne("appel", ["apple", "pear"])[0]]`,
  },
  {
    name: "requests",
    version: "",
    does: "HTTP",
    code: `import requests

def use():
    return requests.get("https://api.example/items").json()`,
    fails: { error: /requests/, because: "" },
  },
  {
    name: "httpx",
    version: "",
    does: "HTTP",
    code: `import httpx

def use():
    return httpx.get("https://api.example/items").json()`,
    fails: { error: /httpx/, because: "" },
  },
  {
    name: "rich",
    version: "",
    does: "tables as text",
    code: `from io import StringIO
from rich.console import Console
from rich.table import Table

def use():
    table = Table("name", "age")
    table.add_row("Ada", "[b]36[/b]")
    console = Console(file=StringIO(), width=30)
    console.print(table)
    return console.file.getvalue()`,
  },
  {
    name: "ruamel.yaml",
    version: "",
    does: "YAML with its comments",
    code: `from io import StringIO
from ruamel.yaml import YAML

def use():
    yaml = YAML()
    text = yaml.load("a: 1 # one")
    text["b"] = 2
    out = StringIO()
    yaml.dump(text, out)
    return out.getvalue()`,
  },
  {
    name: "segno",
    version: "",
    does: "QR codes",
    code: `import segno

def use():
    return segno.make("https://example.com").svg_inline(scale=2)[:4]`,
  },
  {
    name: "simplejson",
    version: "",
    does: "JSON",
    code: `from decimal import Decimal
import simplejson

def use():
    return [simplejson.dumps({"a": Decimal("1.10")}), simplejson.loads('{"b": [1, 2]}')]`,
  },
  {
    name: "sortedcontainers",
    version: "",
    does: "sorted lists",
    code: `from sortedcontainers import SortedDict, SortedList

def use():
    return [list(SortedList([3, 1, 2])), list(SortedDict(b=1, a=2))]`,
  },
  {
    name: "sqlparse",
    version: "",
    does: "SQL",
    code: `import sqlparse

def use():
    return sqlparse.format("select a from b where c=1", reindent=True, keyword_case="upper")`,
  },
  {
    name: "sympy",
    version: "",
    does: "mathematics",
    code: `from sympy import diff, solve, symbols

x = symbols("x")

def use():
    return [str(diff(x**3, x)), [int(one) for one in solve(x**2 - 4, x)]]`,
  },
  {
    name: "tabulate",
    version: "",
    does: "tables as text",
    code: `from tabulate import tabulate

def use():
    return tabulate([["Ada", 36]], headers=["name", "age"], tablefmt="github")`,
  },
  {
    name: "tomli",
    version: "",
    does: "TOML",
    code: `import tomli

def use():
    return tomli.loads("[a]\\nb = [1, 2]")`,
  },
  {
    name: "tomlkit",
    version: "",
    does: "TOML with its comments",
    code: `import tomlkit

def use():
    text = tomlkit.parse("a = 1 # one\\n")
    text["b"] = 2
    return tomlkit.dumps(text)`,
  },
  {
    name: "toolz",
    version: "",
    does: "functions",
    code: `from toolz import groupby, pipe

def use():
    return pipe([1, 2, 3, 4], lambda all: groupby(lambda one: one % 2 == 0, all), lambda groups: groups[True])`,
  },
  {
    name: "tzdata",
    version: "",
    does: "time zones for zoneinfo",
    code: `from datetime import datetime
from zoneinfo import ZoneInfo
import tzdata

def use():
    return datetime(2026, 7, 1, tzinfo=ZoneInfo("America/New_York")).isoformat()`,
  },
  {
    name: "unidecode",
    version: "",
    does: "texts in ASCII",
    code: `from unidecode import unidecode

def use():
    return unidecode("Москва, Köln, 北京")`,
  },
  {
    name: "xlsxwriter",
    version: "",
    does: "Excel",
    code: `from io import BytesIO
import xlsxwriter

def use():
    file = BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["name", 3])
    return file.getvalue()[:2].decode()`,
  },
  {
    name: "xmltodict",
    version: "",
    does: "XML",
    code: `import xmltodict

def use():
    return xmltodict.parse("<a><b>1</b><b>2</b></a>")`,
  },
];
