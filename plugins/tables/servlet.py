"""Tables for each caller: CSV and JSON go in, SQL comes out. The database is in memory, which lasts from call to call."""

import csv
import io
import json
import math
import re
import sqlite3
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from edge_servlets import ToolError, fetch, tool

type Cell = str | int | float | None

MOST_ROWS = 1000
MOST_CHARACTERS = 40_000
EXAMPLES = 3

db = sqlite3.connect(":memory:", isolation_level=None)
# What fits into the memory that a caller has, with room for the work on it: pages are of 4 KiB.
db.execute("PRAGMA max_page_count = 4096")
db.execute("PRAGMA temp_store = MEMORY")

Name = Annotated[str, "Name of a table."]
Sql = Annotated[str, "One statement of SQLite. Name tables and columns as tables_describe shows them."]


@dataclass
class Loaded:
    table: str
    columns: list[str]
    rows: int


@dataclass
class Answer:
    columns: list[str]
    rows: list[list[Cell]]
    more: Annotated[bool, "There are more rows than these."] = False


@dataclass
class Column:
    name: str
    type: str
    filled: Annotated[int, "Rows that have a value."]
    distinct: int
    least: Cell
    most: Cell
    examples: list[Cell]


@dataclass
class Table:
    name: str
    rows: int
    columns: list[Column]


@tool(annotations={"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True})
def tables_load(
    table: Name,
    text: Annotated[str, "The data itself."] = "",
    url: Annotated[str, "Where the data are, in place of text."] = "",
    format: Literal["auto", "csv", "json"] = "auto",
    append: Annotated[bool, "Adds rows to the table, if it is there; else they replace it."] = False,
) -> Loaded:
    """Loads CSV (with a header) or JSON (an array of objects, or one object for each line) into a table.

    Columns get their types from the values: integers, numbers, else text. Nested values stay as JSON text, for
    SQLite's json functions.
    """
    if bool(text) == bool(url):
        raise ToolError("Give either text or url.")
    if url:
        response = fetch(url)
        if not response.ok:
            raise ToolError(f"{url} answered {response.status}.")
        text = response.text
    text = text.lstrip("\ufeff")
    is_json = format == "json" or format == "auto" and text.lstrip()[:1] in ("[", "{")
    columns, rows = _from_json(text) if is_json else _from_csv(text)
    if not columns:
        raise ToolError("There are no columns: CSV begins with a line of their names.")
    return _stored(table, columns, rows, append)


@tool(annotations={"readOnlyHint": True})
def tables_query(
    sql: Sql,
    limit: Annotated[int, f"Most rows of the answer, up to {MOST_ROWS}."] = 100,
) -> Answer:
    """Answers a SELECT: joins, groups, windows and all else that SQLite has."""
    db.execute("PRAGMA query_only = ON")
    try:
        return _run(sql, limit)
    finally:
        db.execute("PRAGMA query_only = OFF")


@tool(annotations={"readOnlyHint": False, "destructiveHint": True})
def tables_change(sql: Sql) -> str:
    """Runs a statement that changes tables: CREATE, INSERT, UPDATE, DELETE, ALTER, DROP."""
    before = db.total_changes
    _run(sql, 0)
    changed = db.total_changes - before
    return f"{changed} {'row' if changed == 1 else 'rows'} changed."


@tool(annotations={"readOnlyHint": True})
def tables_describe(table: Annotated[str, "Name of one table; all without it."] = "") -> list[Table]:
    """Describes tables: their columns with types, how many values, least and most, and some examples."""
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")]
    if table and table not in names:
        raise ToolError(f"There is no table {table}: {_list(names) or 'load one with tables_load'}.")
    return [_described(name) for name in names if not table or name == table]


@tool(annotations={"readOnlyHint": False, "destructiveHint": True})
def tables_join(
    left: Name,
    right: Name,
    on: Annotated[list[str], "Columns that both have, or pairs as left=right."],
    into: Annotated[str, "Name of the new table."],
    how: Annotated[Literal["inner", "left", "full"], "Which rows without a partner stay."] = "inner",
) -> Loaded:
    """Joins two tables into a new one. A column that both have is taken from the left, the other as RIGHT_column."""
    if not on:
        raise ToolError("Give the columns to join on.")
    pairs = [tuple(part.strip() for part in (one.split("=", 1) if "=" in one else (one, one))) for one in on]
    ours, theirs = _columns(left), _columns(right)
    for a, b in pairs:
        if a not in ours or b not in theirs:
            raise ToolError(f"{left} has {_list(ours)}; {right} has {_list(theirs)}: {a}={b} is not among these.")
    joined = {b for a, b in pairs if a == b}
    picked = [
        f"coalesce(l.{_quoted(one)}, r.{_quoted(one)}) AS {_quoted(one)}" if one in joined else f"l.{_quoted(one)}"
        for one in ours
    ]
    for one in theirs:
        if one not in joined:
            name = f"{right}_{one}" if one in ours else one
            picked.append(f"r.{_quoted(one)} AS {_quoted(name)}")
    condition = " AND ".join(f"l.{_quoted(a)} = r.{_quoted(b)}" for a, b in pairs)
    columns = ", ".join(picked)
    sql = f"SELECT {columns} FROM {_quoted(left)} l {how} JOIN {_quoted(right)} r ON {condition}"
    _replace(into, lambda name: _do(f"CREATE TABLE {_quoted(name)} AS {sql}"))
    (rows,) = db.execute(f"SELECT count(*) FROM {_quoted(into)}").fetchone()
    return Loaded(into, _columns(into), rows)


def _from_csv(text: str) -> tuple[list[str], list[list[Cell]]]:
    try:
        dialect: Any = csv.Sniffer().sniff(text[:4096], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    lines = csv.reader(io.StringIO(text), dialect)
    columns = next(lines, [])
    width = len(columns)
    rows: list[list[Cell]] = []
    for line in lines:
        if len(line) > width:
            raise ToolError(f"Line {lines.line_num} has {len(line)} values, the header {width}.")
        if line:
            rows.append([_number(value) for value in line] + [None] * (width - len(line)))
    return columns, rows


def _from_json(text: str) -> tuple[list[str], list[list[Cell]]]:
    try:
        value = json.loads(text)
    except ValueError:
        try:
            value = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise ToolError(f"It is not JSON: {error}.") from None
    if isinstance(value, dict):
        lists = [one for one in value.values() if isinstance(one, list)]
        value = lists[0] if len(lists) == 1 else [value]
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ToolError("It is no array of objects.")
    columns = list(dict.fromkeys(key for one in value for key in one))
    return columns, [[_plain(one.get(key)) for key in columns] for one in value]


def _number(value: str) -> Cell:
    text = value.strip()
    if text == "":
        return None
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,17})", text):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?", text) and not re.match(r"[+-]?0\d", text):
        return float(text)
    return value


def _plain(value: Any) -> Cell:
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, (str, float)):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    return json.dumps(value, ensure_ascii=False)


def _stored(table: str, columns: list[str], rows: list[list[Cell]], append: bool) -> Loaded:
    names = _distinct(columns)
    marks = ", ".join("?" * len(names))
    listed = ", ".join(map(_quoted, names))

    def fill(name: str) -> None:
        with _told():
            db.executemany(f"INSERT INTO {_quoted(name)} ({listed}) VALUES ({marks})", rows)

    if append and _exists(table):
        missing = [one for one in names if one not in _columns(table)]
        if missing:
            raise ToolError(f"{table} has no {_list(missing)}: its columns are {_list(_columns(table))}.")
        _together(lambda: fill(table))
    else:
        types = [_type([row[at] for row in rows]) for at in range(len(names))]
        defined = ", ".join(f"{_quoted(name)} {kind}".strip() for name, kind in zip(names, types))

        def make(name: str) -> None:
            _do(f"CREATE TABLE {_quoted(name)} ({defined})")
            fill(name)

        _replace(table, make)
    return Loaded(table, names, len(rows))


def _type(values: list[Cell]) -> str:
    kinds = {type(one) for one in values if one is not None}
    if kinds == {int}:
        return "INTEGER"
    if kinds and kinds <= {int, float}:
        return "REAL"
    return "TEXT" if str in kinds else ""


def _distinct(columns: list[str]) -> list[str]:
    """The names of columns, made so that each is there once, in any case of its letters."""
    names: list[str] = []
    taken: set[str] = set()
    for nth, column in enumerate(columns, 1):
        base = re.sub(r"\s+", "_", column.strip()) or f"column_{nth}"
        name, count = base, 2
        while name.lower() in taken:
            name, count = f"{base}_{count}", count + 1
        taken.add(name.lower())
        names.append(name)
    return names


def _replace(table: str, make: Any) -> None:
    """Makes a table that takes the place of another of this name, once it is complete."""
    if not re.fullmatch(r"\w{1,64}", table) or table.lower().startswith("sqlite_"):
        raise ToolError("A table's name is of letters, digits and _, and does not begin with sqlite_.")

    def work() -> None:
        make("new table")
        _do(f"DROP TABLE IF EXISTS {_quoted(table)}")
        _do(f"ALTER TABLE {_quoted('new table')} RENAME TO {_quoted(table)}")

    _together(work)


def _together(work: Any) -> None:
    db.execute("BEGIN")
    try:
        work()
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _run(sql: str, limit: int) -> Answer:
    limit = max(0, min(limit, MOST_ROWS))
    rows: list[list[Cell]] = []
    characters, more = 0, False
    with _told(), _confined():
        cursor = db.execute(sql)
        columns = [one[0] for one in cursor.description or []]
        for row in cursor:
            cells = [_shown(value) for value in row]
            characters += sum(len(str(value)) for value in cells)
            if len(rows) >= limit or characters > MOST_CHARACTERS:
                more = True
                break
            rows.append(cells)
        cursor.close()
    return Answer(columns, rows, more)


def _shown(value: Any) -> Cell:
    if isinstance(value, float) and math.isinf(value):
        # JSON has none.
        return str(value)
    return f"{len(value)} bytes" if isinstance(value, bytes) else value


def _verdict(action: int, pragma: str | None, value: str | None, *_: object) -> int:
    """Denies a caller's statement that would outlast its call in more than tables: settings, transactions, other databases."""
    sets = action == sqlite3.SQLITE_PRAGMA and value is not None and not re.match("(table|index)_|foreign_key_", pragma or "")
    return sqlite3.SQLITE_DENY if sets or action in _OUTLASTING else sqlite3.SQLITE_OK


_OUTLASTING = {
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
}


class _confined:
    """Runs statements of the caller's own."""

    def __enter__(self) -> None:
        db.set_authorizer(_verdict)

    def __exit__(self, *_: object) -> None:
        db.set_authorizer(None)


class _told:
    """Tells the caller what SQLite finds wrong."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.DatabaseError) and error.sqlite_errorcode == sqlite3.SQLITE_AUTH:
            raise ToolError("It is not allowed here: settings, transactions, ATTACH and VACUUM.") from None
        if isinstance(error, (sqlite3.Error, UnicodeError)):
            full = "full" in str(error)
            raise ToolError("There is no more room: drop tables with tables_change." if full else f"{error}.") from None


def _do(sql: str) -> None:
    with _told():
        db.execute(sql)


def _described(name: str) -> Table:
    table = _quoted(name)
    (rows,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    kinds = {row[1]: row[2] for row in db.execute(f"PRAGMA table_xinfo({table})")}
    columns: list[Column] = []
    for column, kind in kinds.items():
        it = _quoted(column)
        filled, distinct, least, most = db.execute(
            f"SELECT count({it}), count(DISTINCT {it}), min({it}), max({it}) FROM {table}"
        ).fetchone()
        examples = [
            _shown(row[0])
            for row in db.execute(f"SELECT DISTINCT {it} FROM {table} WHERE {it} IS NOT NULL LIMIT {EXAMPLES}")
        ]
        columns.append(Column(column, kind or "ANY", filled, distinct, _shown(least), _shown(most), examples))
    return Table(name, rows, columns)


def _exists(table: str) -> bool:
    return bool(_names(table))


def _names(table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({_quoted(table)})")]


def _columns(table: str) -> list[str]:
    found = _names(table)
    if not found:
        raise ToolError(f"There is no table {table}: load it with tables_load.")
    return found


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _list(names: list[str]) -> str:
    return ", ".join(names)
