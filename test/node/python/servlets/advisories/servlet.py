"""The published advisories on CPython 3.14 since its first release: each case asserts that a servlet is not affected."""

import bz2
import configparser
import email.generator
import email.message
import email.policy
import gzip
import html.parser
import http.cookiejar
import http.cookies
import io
import os
import plistlib
import shutil
import sqlite3
import stringprep
import struct
import tarfile
import unicodedata
import urllib.request
import xml.dom.minidom
import xml.etree.ElementTree
import xml.sax
import zipfile
import zlib
from xml.parsers import expat

from edge_servlets import tool

CASES = {}


def case(name):
    def add(function):
        CASES[name] = function
        return function

    return add


def raises(kind, function, *args):
    try:
        function(*args)
    except kind:
        return
    raise AssertionError(f"no {kind}")


@case("CVE-2025-8291: zipfile looks at the size of the end record of ZIP64")
def _():
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a", (1980, 1, 1, 0, 0, 0)), "text")
    start, end = whole.getvalue()[:-22], whole.getvalue()[-22:]
    size, offset = struct.unpack("<2L", end[12:20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44 + 8, 45, 45, 0, 0, 1, 1, size, offset)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(start), 1)
    end = end[:10] + b"\xff" * 10 + end[20:]
    raises(zipfile.BadZipFile, zipfile.ZipFile, io.BytesIO(start + record + locator + end))


@case("gh-139283: sqlite3 refuses a negative number of rows")
def _():
    cursor = sqlite3.connect(":memory:").cursor()
    raises(ValueError, setattr, cursor, "arraysize", -1)
    raises(ValueError, cursor.fetchmany, -1)
    cursor.execute("values (1), (2), (3)")
    cursor.arraysize = 2
    assert cursor.fetchmany() == [(1,), (2,)] and cursor.fetchmany(2) == [(3,)]
    # The connection makes a cursor of its own for each of these.
    database = sqlite3.connect(":memory:")
    for cursor in (
        database.execute("create table a (b)"),
        database.executemany("insert into a values (?)", [(1,), (2,)]),
        database.executescript("select 1"),
        sqlite3.dbapi2.Cursor(database),
    ):
        assert isinstance(cursor, sqlite3.Cursor)
        raises(ValueError, cursor.fetchmany, -1)
    assert database.execute("select b from a where b > ?", (1,)).fetchmany() == [(2,)]


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


@case("gh-137836: html.parser sees no elements in the text of others")
def _():
    for outer in ("plaintext", "xmp", "iframe", "noembed", "noframes"):
        parser = Tags()
        parser.feed(f"<{outer}><b>")
        parser.close()
        assert parser.tags == [outer], parser.tags


@case("CVE-2025-6075: os.path.expandvars takes time in proportion")
def _():
    os.environ["A"] = ""
    assert os.path.expandvars("$A" * 200_000) == ""


@case("CVE-2025-13837: plistlib reads no more at a time than there may be")
def _():
    data = b"bplist00" + b"\x4f\x13" + (2**30).to_bytes(8) + b"\x08" + bytes(6) + b"\1\1"
    data += (1).to_bytes(8) + (0).to_bytes(8) + (18).to_bytes(8)
    most = 0

    class File(io.BytesIO):
        def read(self, size=-1):
            nonlocal most
            most = max(most, size)
            return super().read(size)

    raises(plistlib.InvalidFileException, plistlib.load, File(data))
    assert 0 < most <= 2**20, most


@case("CVE-2025-12084: xml.dom.minidom takes time in proportion")
def _():
    document = xml.dom.minidom.Document()
    at = document.appendChild(document.createElement("a"))
    for _ in range(20_000):
        at = at.appendChild(document.createElement("a"))


@case("CVE-2026-1299: email writes no header that another could follow from")
def _():
    class Folded(str):
        name = "Subject"

        def fold(self, **_):
            return str(self)

    message = email.message.EmailMessage()
    message["Subject"] = Folded("a\nBcc: b@example.com\n")
    writer = email.generator.BytesGenerator(io.BytesIO(), policy=email.policy.default)
    raises(email.errors.HeaderWriteError, writer.flatten, message)


@case("CVE-2025-11468: email folds a long comment within its header")
def _():
    message = email.message.EmailMessage()
    message["To"] = "<a@example.com>(" + "b" * 100 + ")"
    lines = message.as_string().split("\n\n")[0].split("\n")
    assert all(line.startswith(" ") for line in lines[1:]), lines
    assert "".join(lines).endswith("(" + "b" * 100 + ")"), lines


@case("gh-136063: email takes time in proportion for parameters")
def _():
    message = email.message.Message()
    message["Content-Type"] = 'text/plain; a="' + ";" * 200_000
    assert message.get_params()[0] == ("text/plain", "")


@case("CVE-2025-15282: urllib refuses control characters in the type of a data URL")
def _():
    request = urllib.request.Request("data:text/plain;x=\x01,y")
    raises(ValueError, urllib.request.DataHandler().data_open, request)


@case("CVE-2026-0672: http.cookies refuses control characters")
def _():
    cookie = http.cookies.SimpleCookie({"a": "b"})
    raises(http.cookies.CookieError, cookie["a"].__setitem__, "path", "/\r\nX: y")


@case("CVE-2026-3644: http.cookies refuses them in updates too")
def _():
    cookie = http.cookies.SimpleCookie({"a": "b"})
    raises(http.cookies.CookieError, cookie["a"].update, {"path": "/\r\nX: y"})


@case("gh-90309: http.cookies writes no markup into a script")
def _():
    assert http.cookies.SimpleCookie({"a": "</script>"}).js_output().count("</script>") == 1


@case("CVE-2026-4224: pyexpat ends no call where a content model is nested deeply")
def _():
    parser = expat.ParserCreate()
    parser.ElementDeclHandler = lambda name, model: None
    depth = 100_000
    raises(
        RecursionError,
        parser.Parse,
        "<!DOCTYPE a [<!ELEMENT a " + "(" * depth + "b" + ")" * depth + ">]><a/>",
    )
    parser = expat.ParserCreate()
    models = []
    parser.ElementDeclHandler = lambda name, model: models.append(model)
    parser.Parse("<!DOCTYPE a [<!ELEMENT a (b,(c|d)*)>]><a/>")
    b, c, d = ((4, 0, name, ()) for name in "bcd")
    assert models == [(6, 0, None, (b, (5, 2, None, (c, d))))], models


@case("CVE-2026-6100: a decompressor forgets its input where it fails")
def _():
    # It keeps the input that it has not used, and there is no room for that.
    data = bytearray(36 * 2**20)
    start = zlib.compress(bytes(2**20))
    data[: len(start)] = start
    decompressor = zlib._ZlibDecompressor()
    raises(MemoryError, decompressor.decompress, data, 1)
    # What it still has are the bits that zlib has read ahead.
    assert len(decompressor.decompress(b"", 2**19)) < 2**14


@case("a decompressor that is called wrongly keeps what it has of its input")
def _():
    data = bytes(range(256)) * 4096
    decompressor = zlib._ZlibDecompressor()
    first = decompressor.decompress(zlib.compress(data), 1000)
    raises(TypeError, decompressor.decompress, "text")
    assert first + decompressor.decompress(b"") == data


@case("gh-146333: configparser takes time in proportion")
def _():
    parser = configparser.RawConfigParser(allow_no_value=True)
    parser.read_string("[a]\nb" + " " * 60_000 + "c")


@case("gh-143927: configparser writes no section with a value")
def _():
    parser = configparser.ConfigParser()
    parser["a"] = {"b": "1\r[c]\rd=2"}
    written = io.StringIO()
    parser.write(written)
    again = configparser.ConfigParser()
    again.read_file(io.StringIO(written.getvalue(), newline=None))
    assert again.sections() == ["a"]


def link(name, to):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, to
    return member


@case("CVE-2025-13462: tarfile takes no file with a long name for a folder")
def _():
    member = tarfile.TarInfo("a" * 99 + "/b")
    member.type = tarfile.AREGTYPE
    whole = io.BytesIO(member.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with tarfile.open(fileobj=whole) as archive:
        assert archive.getmembers()[0].isreg()


@case("CVE-2026-7774: tarfile's filter of data refuses links out of the folder")
def _():
    raises(tarfile.FilterError, tarfile.data_filter, link("x/", ".."), "/data")
    raises(tarfile.FilterError, tarfile.data_filter, link(".", "."), "/data")


@case("CVE-2026-114583: tarfile's filter refuses a link in place of the folder")
def _():
    raises(tarfile.FilterError, tarfile.tar_filter, link(".", "."), "/data")


def archive_of(*members):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for member in members:
            content = b"" if member.type != tarfile.REGTYPE else b"text"
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return tarfile.open(fileobj=io.BytesIO(whole.getvalue()))


@case("gh-155999: tarfile makes no folder outside")
def _():
    os.mkdir("/data/inside")
    with archive_of(tarfile.TarInfo("../outside/../inside/a/b")) as archive:
        archive.extractall("/data/inside", filter="data")
    assert not os.path.exists("/data/outside")


def hard_link():
    member = tarfile.TarInfo("second")
    member.type, member.linkname = tarfile.LNKTYPE, "first"
    return member


@case("gh-151987: tarfile filters what it extracts in place of a link")
def _():
    seen = []

    def filter(member, path):
        seen.append((member.name, member.isreg()))
        return member

    with archive_of(tarfile.TarInfo("first"), hard_link()) as archive:
        archive.extract("second", "/data", filter=filter)
    assert ("second", True) in seen, seen


@case("gh-157265: tarfile leaves out what its filter drops in place of a link")
def _():
    def filter(member, path):
        return None if member.isreg() and member.name == "second" else member

    with archive_of(tarfile.TarInfo("first"), hard_link()) as archive:
        archive.extractall("/data", ["second"], filter=filter)
    assert not os.path.exists("/data/second")


@case("gh-151981: tarfile ends at the end of a stream")
def _():
    member = tarfile.TarInfo("a")
    member.size = 2**40
    with tarfile.open(fileobj=io.BytesIO(member.tobuf()), mode="r|") as stream:
        raises(tarfile.ReadError, stream.getmembers)


@case("gh-149835, gh-151558: there are no symbolic links")
def _():
    raises(OSError, os.symlink, "/data", "/data/link")


@case("gh-153030: html.parser takes time in proportion")
def _():
    parser = html.parser.HTMLParser()
    parser.feed("<!--")
    for _ in range(100_000):
        parser.feed("a")


@case("gh-152674: xml.etree takes time in proportion")
def _():
    root = xml.etree.ElementTree.Element("a")
    for _ in range(20_000):
        xml.etree.ElementTree.SubElement(root, "b")
    assert len(root.findall("./b[last()]")) == 1


@case("CVE-2026-15806: urllib gives a password to its scheme alone")
def _():
    passwords = urllib.request.HTTPPasswordMgr()
    passwords.add_password("realm", "https://example.com/", "ada", "secret")
    assert passwords.find_user_password("realm", "http://example.com/") == (None, None)
    assert passwords.find_user_password("realm", "https://example.com/") == ("ada", "secret")


@case("gh-155292: stringprep knows the characters of its standard alone")
def _():
    assert stringprep.map_table_b3("\u1e9e") == "\u1e9e"


@case("gh-160300: http.cookiejar refuses a negative version")
def _():
    policy = http.cookiejar.DefaultCookiePolicy(rfc2965=True)
    cookie = http.cookiejar.Cookie(
        -1, "a", "b", None, False, ".other.example", True, True, "/", True, False, None, False, None, None, {}
    )
    assert not policy.set_ok(cookie, urllib.request.Request("https://example.com/"))


@case("gh-158446: a float has no more digits than there is room for")
def _():
    raises(ValueError, format, 1.5, ".2147483646f")
    raises(ValueError, "{:.2147483000e}".format, 1.5)
    assert f"{1.5:.20f} {1.5:g} {1.5!r}" == "1.50000000000000000000 1.5 1.5"


@case("CVE-2026-50219: Expat refuses a call from its handlers")
def _():
    parser = expat.ParserCreate()
    errors = []

    def start(name, attributes):
        try:
            parser.Parse("<b>", False)
        except expat.ExpatError as error:
            errors.append(error)

    parser.StartElementHandler = start
    parser.Parse("<a>", False)
    assert len(errors) == 1


def parse(parser, text, files):
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)

    def read(context, base, system, public):
        parse(parser.ExternalEntityParserCreate(context), files[system], files)
        return 1

    parser.ExternalEntityRefHandler = read
    for at in range(len(text)):
        parser.Parse(text[at : at + 1])
    parser.Parse(b"", True)


TYPED = b'<!DOCTYPE a SYSTEM "types"><a/>'
TYPES = b'<!ENTITY % b SYSTEM "text"><!ENTITY c "%b;">'


@case("CVE-2026-32776: Expat reads an empty entity in the text of another")
def _():
    parse(expat.ParserCreate(), TYPED, {"types": TYPES, "text": b""})


@case("CVE-2026-32777: Expat ends at an element in the text of an entity")
def _():
    files = {"types": TYPES, "text": b"<?xml version='1.0'?><a"}
    raises(expat.ExpatError, parse, expat.ParserCreate(), TYPED, files)


@case("CVE-2026-93990: Expat refuses half a character of UTF-16")
def _():
    for pair in ("d83d0061", "d83dd83d"):
        texts = []
        parser = expat.ParserCreate()
        parser.CharacterDataHandler = texts.append
        data = b"\xfe\xff" + "<a>".encode("utf-16-be") + bytes.fromhex(pair) + "</a>".encode("utf-16-be")
        raises(expat.ExpatError, parser.Parse, data, True)
        assert texts == []
    root = xml.etree.ElementTree.fromstring("<a>b\U0001f600</a>".encode("utf-16"))
    assert root.text == "b\U0001f600"


@case("The advisories on Expat up to 2.8.3: it is that release")
def _():
    assert expat.EXPAT_VERSION == "expat_2.8.3"
    root = xml.etree.ElementTree.fromstring('<a xmlns:b="c"><b:d e="f">g</b:d></a>')
    assert root[0].tag == "{c}d" and root[0].attrib == {"e": "f"} and root[0].text == "g"


@case("bz2 says what to use instead")
def _():
    for use in (
        lambda: bz2.open("/data/a", "rt").readlines(),
        lambda: io.TextIOWrapper(bz2.BZ2File("/data/a")),
        lambda: bz2.BZ2Decompressor().needs_input,
        lambda: bz2.compress(b""),
        lambda: tarfile.open(fileobj=io.BytesIO(), mode="w:bz2"),
    ):
        try:
            use()
        except OSError as error:
            assert "use gzip or zlib" in str(error), error
        else:
            raise AssertionError("no error")
    with archive_of(tarfile.TarInfo("first")) as archive:
        assert archive.getnames() == ["first"]


ABSENT = "bz2._bz2 _bz2 _lzma _zstd compression.zstd ftplib http.server imaplib _remote_debugging ssl _ssl webbrowser wsgiref.headers"
for module in ABSENT.split():

    @case(f"There is no {module}")
    def _(module=module):
        raises(ModuleNotFoundError, __import__, module)


@tool
def normalise() -> str:
    """Takes time that grows with the square, which CVE-2026-3276 is about."""
    return unicodedata.normalize("NFD", "\u0300\u0316" * 100_000)


@tool
def names() -> list[str]:
    return list(CASES)


@tool
def run(name: str) -> str:
    for left in os.listdir("/data"):
        path = f"/data/{left}"
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    CASES[name]()
    return "ok"
