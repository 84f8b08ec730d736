"""Runs in the bundle step: compiles modules in one instance, and loads them in another, whose memory is then kept."""

import gc
import json
import marshal
import re
import sys
import traceback
import zlib
from importlib.machinery import ModuleSpec

import _edge

# A flag of `compile`, and names of classes of nodes in the tree that it then returns.
_AST_ONLY = 0x400
_FUNCTIONS = ("FunctionDef", "AsyncFunctionDef", "Lambda")
_IMPORTERS = ("import_module", "__import__", "find_spec")
_LISTERS = ("iter_modules", "walk_packages")
# Of nodes whose text begins with that of another: the field that has it.
_BEGINNINGS = {"BinOp": "left", "JoinedStr": "values", "FormattedValue": "value"}


def _packed(head, parts):
    """A head as JSON, its length before it, and parts as bytes, whose lengths the head has."""
    text = json.dumps({**head, "lengths": [len(part) for part in parts]}).encode()
    return len(text).to_bytes(4, "little") + text + b"".join(parts)


def _unpacked(data):
    at = 4 + int.from_bytes(data[:4], "little")
    head, parts = json.loads(data[4:at]), []
    for length in head["lengths"]:
        parts.append(data[at : at + length])
        at += length
    return head, parts


def compile_all(_):
    """Compiles the sources of modules. The answer has for each what it imports, or why it has no code."""
    head, sources = _unpacked(_edge.input())
    is_library = head.get("isLibrary", False)
    found, codes = [], []
    for one, source in zip(head["modules"], sources):
        code = b""
        try:
            tree = compile(source, one["path"], "exec", _AST_ONLY, dont_inherit=True)
            made = compile(source, one["path"], "exec", dont_inherit=True, optimize=2 if is_library else 0)
            code = marshal.dumps(_without_lines(made) if is_library else made)
            package = one["name"] if one["isPackage"] else one["name"].rpartition(".")[0]
            if is_library:
                _leave_out_programs(tree)
            imports = _imports(tree, package)
            if not is_library:
                imports += _encodings(tree)
            found.append({"imports": imports, "uses": [] if is_library else _uses(tree)})
        except (SyntaxError, ValueError) as error:
            if isinstance(error, SyntaxError) and error.text is None and error.lineno:
                # Errors of the compiler have no text: it would read it from the file.
                error.text = b"".join(source.splitlines()[error.lineno - 1 :][:1]).decode(errors="replace")
            lines = traceback.format_exception_only(error)
            found.append({"imports": [], "error": "".join(lines).strip()})
        codes.append(code)
    _edge.output(_packed({"modules": found}, codes))
    return 0


def _without_lines(code):
    """The code of the library is a tenth smaller with the first line of each function for all of its lines.

    An entry of the table is for up to eight units of code: https://github.com/python/cpython/blob/3.14/InternalDocs/code_objects.md
    """
    kind = type(code)
    consts = tuple(_without_lines(one) if isinstance(one, kind) else one for one in code.co_consts)
    eights, rest = divmod(len(code.co_code) // 2, 8)
    lines = b"\xef\0" * eights + (bytes((0xE8 | rest - 1, 0)) if rest else b"")
    return code.replace(co_linetable=lines, co_consts=consts)


def _leave_out_programs(tree):
    """Takes from a module of the library what runs only where it is a program, as in `python -m gzip`: a servlet calls none."""
    tree.body = [one for one in tree.body if getattr(one, "name", None) not in ("main", "_main", "_test")]


def _imports(tree, package):
    """The modules that a module imports, as `Import` in engine.ts."""
    found, modules, computed = [], {}, []

    def visit(node, is_lazy, is_optional):
        kind = type(node).__name__
        if kind == "Import":
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                modules[bound] = alias.name if alias.asname else bound
                found.append({"name": alias.name, "line": node.lineno, "isLazy": is_lazy, "isOptional": is_optional})
        elif kind == "ImportFrom":
            name = _absolute(node.level, node.module or "", package)
            names = [alias.name for alias in node.names]
            modules.update({alias.asname or alias.name: f"{name}.{alias.name}" for alias in node.names})
            found.append({"name": name, "names": names, "line": node.lineno, "isLazy": is_lazy, "isOptional": is_optional})
        elif kind == "Call" and _called(node) in (*_IMPORTERS, *_LISTERS) and node.args:
            name = getattr(node.args[0], "value", None)
            is_known = isinstance(name, str) and not name.startswith(".")
            more = {"isLazy": is_lazy, "isOptional": True} if is_known else {"isLazy": True, "isOptional": True, "isComputed": True}
            found.append({"name": name, "line": node.lineno, **more})
            if not is_known:
                computed.append((found[-1], node))
        elif kind == "Attribute" and node.attr == "strptime":
            # What the library's own code in C imports.
            found.append({"name": "_strptime", "line": node.lineno, "isLazy": True, "isOptional": True})
        elif kind == "If" and _never_runs(node.test):
            return [visit(child, is_lazy, is_optional) for child in node.orelse]
        elif kind == "Try" and any(_catches_imports(one.type) for one in node.handlers):
            for child in node.body:
                visit(child, is_lazy, True)
            # Another way to have the same is optional, too.
            for child in [*node.handlers, *node.orelse, *node.finalbody]:
                visit(child, is_lazy, True)
            return None
        for name in node._fields:
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else [value]:
                if hasattr(child, "_fields"):
                    visit(child, is_lazy or kind in _FUNCTIONS, is_optional)

    visit(tree, False, False)
    # A package may be imported below the call, against a circle.
    for one, call in computed:
        one["name"] = _package_of(call, modules, package)
    return found


def _called(call):
    """The name of the function or method that is called; None for what is no call."""
    function = getattr(call, "func", None)
    return getattr(function, "attr", getattr(function, "id", None))


def _absolute(level, name, package):
    """The absolute name of a module that a package imports with so many dots; with its dots where no package is so far above."""
    above = package.split(".") if package else []
    if level > len(above):
        return "." * level + name
    return ".".join([*(above[: len(above) - level + 1] if level else []), *([name] if name else [])])


def _package_of(call, modules, package):
    """The package of a module that is imported by a computed name, where the name begins with it; else that of the importer.

    As in `import_module(f"shapes.{name}")`, `import_module("." + name, "shapes")` and `iter_modules(shapes.__path__)`.
    """
    start = call.args[0]
    if _called(start) == "format":
        start = getattr(start.func, "value", None)
    while (kind := type(start).__name__) in _BEGINNINGS:
        part = getattr(start, _BEGINNINGS[kind])
        start = next(iter(part), None) if kind == "JoinedStr" else part
    if getattr(start, "attr", None) in ("__name__", "__path__"):
        first, *more = _dotted(start.value).split(".")
        return ".".join([modules[first], *more]) if first in modules else package
    text = getattr(start, "value", None)
    if not isinstance(text, str):
        return package
    name = text.lstrip(".")
    level = len(text) - len(name)
    if level:
        anchor = [*call.args[1:], *(one.value for one in call.keywords if one.arg == "package")]
        given = getattr(anchor[0], "value", None) if anchor else None
        package = given if isinstance(given, str) else package
    inside = name.rpartition(".")[0]
    if not all(part.isidentifier() for part in inside.split(".")):
        inside = ""
    return _absolute(level, inside, package) if level or inside else package


def _dotted(node):
    """The text of a name such as `a.b.c`."""
    return f"{_dotted(node.value)}.{node.attr}" if hasattr(node, "attr") else getattr(node, "id", "")


def _encodings(tree):
    """The modules of encodings whose names a module has as texts, as in `data.decode("cp437")`: they are looked up by these."""
    from edge_servlets._encodings import module_of

    found, waiting = {}, [tree]
    while waiting:
        node = waiting.pop()
        value = getattr(node, "value", None) if type(node).__name__ == "Constant" else None
        if isinstance(value, str) and len(value) < 30 and (name := module_of(value)):
            found.setdefault(name, node.lineno)
        for name in node._fields:
            child = getattr(node, name, None)
            waiting += [one for one in (child if isinstance(child, list) else [child]) if hasattr(one, "_fields")]
    return [{"name": f"encodings.{name}", "line": line, "isLazy": True, "isOptional": True} for name, line in found.items()]


def _uses(tree):
    """Where a module reads what a servlet has not: the environment, and the folder of its own files."""
    found = []

    def visit(node, parent, is_path):
        kind = type(node).__name__
        if kind == "Attribute" and getattr(node.value, "id", None) == "os" and node.attr in ("environ", "getenv"):
            is_set = any(type(getattr(one, "ctx", None)).__name__ in ("Store", "Del") for one in (node, parent))
            if not is_set and getattr(parent, "attr", "") not in ("setdefault", "update", "pop", "clear"):
                found.append({"name": f"os.{node.attr}", "line": node.lineno})
        elif kind == "Name" and node.id == "__file__" and is_path:
            found.append({"name": "__file__", "line": node.lineno})
        elif kind == "Call":
            is_path = is_path or getattr(node.func, "attr", getattr(node.func, "id", None)) in ("open", "joinpath")
        elif kind == "BinOp":
            is_path = is_path or type(node.op).__name__ == "Div"
        elif kind == "If" and _never_runs(node.test):
            return [visit(child, node, False) for child in node.orelse]
        for name in node._fields:
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else [value]:
                if hasattr(child, "_fields"):
                    visit(child, node, is_path)

    visit(tree, None, False)
    return found


def _never_runs(test):
    """True for `TYPE_CHECKING` and `__name__ == "__main__"`."""
    if type(test).__name__ == "Compare" and getattr(test.left, "id", None) == "__name__":
        return type(test.ops[0]).__name__ == "Eq" and getattr(test.comparators[0], "value", None) == "__main__"
    return getattr(test, "id", getattr(test, "attr", None)) == "TYPE_CHECKING"


def _catches_imports(kind):
    names = [kind] if kind is None or not hasattr(kind, "elts") else kind.elts
    caught = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
    return any(one is None or getattr(one, "id", None) in caught for one in names)


class _Modules:
    """Has the code of modules until they are imported, and the lines of the author's own for traces."""

    def __init__(self):
        self.codes, self.sources = {}, {}
        # True while the servlet is built.
        self.is_loading = False
        # Files of packages, compressed, by their paths.
        self.files = {}
        # Modules that have run, for a servlet that imports them.
        self.preloaded = {}
        # What is done with a module that a call loads, by its name.
        self.when_loaded = {}

    def find_spec(self, name, path=None, target=None):
        if name in self.preloaded:
            return ModuleSpec(name, self, is_package=hasattr(self.preloaded[name], "__path__"))
        known = self.codes.get(name)
        if known is not None:
            spec = ModuleSpec(name, self, origin=known[0], is_package=known[1])
            spec.has_location = True
            if known[1]:
                spec.submodule_search_locations = [known[0].rpartition("/")[0]]
            return spec
        if self.is_loading:
            return None
        raise ModuleNotFoundError(
            f"No module named {name!r}: a servlet has the modules that were imported when it was built. "
            f"Write the import at the top of a file, by its name",
            name=name,
        )

    def create_module(self, spec):
        return self.preloaded.get(spec.name)

    def exec_module(self, module):
        if self.preloaded.pop(module.__name__, None) is None:
            code = self.codes[module.__name__][2]
            exec(marshal.loads(code if self.is_loading else zlib.decompress(code)), module.__dict__)
        if module.__name__ in self.when_loaded:
            self.when_loaded[module.__name__]()

    def get_data(self, path):
        with open(path, "rb") as file:
            return file.read()

    def get_resource_reader(self, name):
        return _Resources(sys.modules[name].__spec__.submodule_search_locations[0])

    def find_distributions(self, context):
        return _distributions(self.files, context)

    def get_source(self, name):
        source = self.sources.get(name)
        return None if source is None else zlib.decompress(source).decode()


class _Folder:
    """Lists the modules of a package, for `pkgutil`."""

    def __init__(self, path):
        paths = {name: getattr(one, "__dict__", {}).get("__path__") or () for name, one in [*sys.modules.items()]}
        self.package = next((name for name, known in paths.items() if path in known), None)
        if self.package is None:
            raise ImportError(path)

    def iter_modules(self, prefix=""):
        for name in sorted({*_modules.codes, *sys.modules}):
            package, _, own = name.rpartition(".")
            if package == self.package:
                is_package = _modules.codes[name][1] if name in _modules.codes else hasattr(sys.modules[name], "__path__")
                yield prefix + own, is_package


class _Resources:
    """The files of a package, for `importlib.resources`."""

    def __init__(self, folder):
        self.folder = folder

    def files(self):
        from pathlib import Path

        return Path(self.folder)


def _distributions(files, context):
    """The packages whose metadata are there, for `importlib.metadata`."""
    from importlib.metadata import Distribution

    class Installed(Distribution):
        def __init__(self, folder):
            self.folder = folder

        def read_text(self, name):
            data = files.get(f"{self.folder}/{name}")
            return data and zlib.decompress(data).decode()

        def locate_file(self, path):
            return path

    def plain(name):
        return name.lower().replace("-", "_").replace(".", "_")

    for path in files:
        folder, _, name = path.rpartition("/")
        distribution, is_one, _ = folder.partition(".dist-info")
        wanted = context.name is None or plain(distribution.rpartition("-")[0]) == plain(context.name)
        if is_one and name == "METADATA" and wanted:
            yield Installed(folder)


def _offer_files(files):
    """Has `open`, `os.stat`, `os.listdir` and `os.scandir` know files of packages, and so what is built on these."""
    import builtins
    import io
    import os
    import stat

    folders = {}
    for path in files:
        while path:
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, set()).add(name)
            path = folder
    folders.pop("", None)

    def known(path):
        return isinstance(path, (str, os.PathLike)) and os.path.normpath(os.fspath(path)).lstrip("/")

    def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *args, **more):
        data = files.get(known(file))
        if data is None or set(mode) & set("wax+"):
            return _open(file, mode, buffering, encoding, errors, newline, *args, **more)
        content = io.BytesIO(zlib.decompress(data))
        return content if "b" in mode else io.TextIOWrapper(content, encoding, errors, newline)

    def state(path, *args, **more):
        name = known(path)
        if name in files:
            mode, size = stat.S_IFREG | 0o444, len(zlib.decompress(files[name]))
        elif name in folders:
            mode, size = stat.S_IFDIR | 0o555, 0
        else:
            return of[more.pop("_of", "stat")](path, *args, **more)
        return os.stat_result((mode, 0, 0, 1, 0, 0, size, 0, 0, 0))

    def link_state(path, *args, **more):
        return state(path, *args, _of="lstat", **more)

    def listed(path="."):
        return sorted(folders[known(path)]) if known(path) in folders else _list(path)

    class Entry:
        def __init__(self, folder, name):
            self.name, self.path = name, os.path.join(folder, name)

        def __fspath__(self):
            return self.path

        def is_dir(self, *, follow_symlinks=True):
            return known(self.path) in folders

        def is_file(self, *, follow_symlinks=True):
            return known(self.path) in files

        def is_symlink(self):
            return False

        def stat(self, *, follow_symlinks=True):
            return state(self.path)

    class Entries:
        def __init__(self, entries):
            self.entries = iter(entries)

        def __enter__(self):
            return self

        def __exit__(self, *error): ...

        def __iter__(self):
            return self.entries

        def __next__(self):
            return next(self.entries)

        def close(self): ...

    def scanned(path="."):
        if known(path) not in folders:
            return _scan(path)
        return Entries([Entry(os.fspath(path), name) for name in listed(path)])

    _open, _list, _scan, of = io.open, os.listdir, os.scandir, {"stat": os.stat, "lstat": os.lstat}
    builtins.open = io.open = opened
    os.stat, os.lstat, os.listdir, os.scandir = state, link_state, listed, scanned


_modules = _Modules()
_ABSENT = ("_codecs_cn", "_codecs_hk", "_codecs_iso2022", "_codecs_jp", "_codecs_kr", "_codecs_tw")


def load(_):
    """Imports modules whose code the input has, and answers with what the servlet offers."""
    head, codes = _unpacked(_edge.input())
    is_base = "main" not in head
    own = {one["path"] for one in head["modules"] if one.get("source")}
    try:
        for path, data in zip(head.get("files", ()), codes[len(head["modules"]) :]):
            _modules.files[path] = zlib.compress(data, 9)
        if _modules.files:
            _offer_files(_modules.files)
        for one, code in zip(head["modules"], codes):
            _modules.codes[one["name"]] = (one["path"], one["isPackage"], code)
            if one.get("source"):
                _modules.sources[one["name"]] = zlib.compress(one["source"].encode(), 9)
        _modules.is_loading = True
        asked = _import_all(head["imports"], own)
        kept = set(sys.modules)
        for one in head.get("preloaded", []):
            __import__(one)
    except BaseException as error:
        return _refuse("".join(_trace_lines(error, own)).strip())
    _modules.is_loading = False
    temporary = {one["name"] for one in head["modules"] if one.get("isTemporary")}
    for name, (path, is_package, code) in [*_modules.codes.items()]:
        if name in sys.modules or name in temporary:
            del _modules.codes[name]
        else:
            _modules.codes[name] = (path, is_package, zlib.compress(code, 9))
    if is_base:
        # Their tables are left out.
        sys.modules.update(dict.fromkeys(_ABSENT))
        sys.meta_path[:] = [*sys.meta_path[:2], _modules]
        sys.path_hooks[:] = [_Folder]
        offered = {"present": sorted({*sys.builtin_module_names, *sys.modules})}
        for name in set(sys.modules) - kept:
            _modules.preloaded[name] = sys.modules.pop(name)
    else:
        from edge_servlets import _run
        from edge_servlets._errors import message_of

        try:
            offered = {**json.loads(_run.loaded()), "asked": asked}
            _modules.when_loaded = _run.when_loaded
        except BaseException as error:
            return _refuse(message_of(error))
    _edge.output(json.dumps(offered).encode())
    sys.path.clear()
    sys.path_importer_cache.clear()
    gc.collect()
    gc.freeze()
    return 0


def _refuse(why):
    _edge.error(why.encode(errors="replace"))
    return 1


# Functions in C whose results differ from call to call, with the number of arguments from which on they do not.
_CLOCKS = "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time process_time_ns clock_gettime clock_gettime_ns"
_VARYING = {
    "time": {
        **dict.fromkeys([*_CLOCKS.split(), "thread_time", "thread_time_ns"], 9),
        **{"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2},
    },
    "posix": {"urandom": 9, "getrandom": 9},
}
_NOW = ("now", "today", "utcnow")
# And those of the library, by its file, with the parameter that keeps them from it.
_VARYING_OF_FILE = {
    "secrets.py": dict.fromkeys(("randbelow", "token_bytes", "token_hex", "token_urlsafe")),
    "uuid.py": dict.fromkeys(("uuid1", "uuid4", "uuid6", "uuid7", "getnode")),
    "email/utils.py": {"make_msgid": None, "formatdate": "timeval", "localtime": "dt"},
}


def _varying(frame, event, argument):
    """The name of the function that is called, if it gives something else in each call; else None."""
    if event == "c_call":
        name, owner = argument.__name__, getattr(argument, "__self__", None)
        if type(owner) is type(sys):
            least = _VARYING.get(owner.__name__, {}).get(name, 0)
            return name if _arguments_of(frame) < least else None
        if isinstance(owner, type):
            return name if name in _NOW else None
        return name if name in ("random", "getrandbits") and _is_by_chance(owner) else None
    if event != "call":
        return None
    name, given = frame.f_code.co_name, frame.f_locals
    if frame.f_code.co_filename == "random.py" and "self" in given:
        return None if name.startswith("_") or name == "seed" or not _is_by_chance(given["self"]) else name
    known = _VARYING_OF_FILE.get(frame.f_code.co_filename, ())
    return name if name in known and given.get(known[name]) is None else None


def _is_of_system(generator):
    return any(one.__name__ == "SystemRandom" for one in type(generator).__mro__)


def _is_by_chance(generator):
    """True for the generator of `random`'s functions, unless it has been seeded, and for those that ask the system each time."""
    return _is_of_system(generator) or not getattr(generator, "_is_seeded", True)


def _arguments_of(frame):
    """How many arguments the call has that a frame is about to make; 0 where they are not all written out."""
    from opcode import opmap

    code, at = frame.f_code.co_code, frame.f_lasti
    return code[at + 1] if code[at] == opmap["CALL"] else 0


def _import_all(names, own):
    """Imports modules; gives the lines of the author's files that ask for the time or for chance meanwhile."""
    asked = []

    # An exception in it would end the profile, and with it the warnings.
    def note(frame, event, argument):
        caller = frame if event == "c_call" else frame.f_back
        # A dataclass makes its defaults in code that has no file.
        while caller is not None and caller.f_code.co_filename == "<string>":
            caller = caller.f_back
        if caller is None or caller.f_code.co_filename not in own or len(asked) >= 100:
            return
        name = _varying(frame, event, argument)
        if name is not None:
            asked.append({"what": name, "path": caller.f_code.co_filename, "line": caller.f_lineno})

    sys.setprofile(note if own else None)
    try:
        for one in names:
            try:
                __import__(one["name"])
            except ImportError:
                if not one["isOptional"]:
                    raise
    finally:
        sys.setprofile(None)
    return asked


_NOT_SHOWN = re.compile(r'  File "(?:<frozen )?(?:importlib|_edge_build|edge_servlets/|fastmcp/|mcp/)')


def _trace_lines(error, own):
    """The lines of a trace, without those of the import system, of this module and of the kit."""
    for one in traceback.TracebackException.from_exception(error).format():
        if any(f'"{path}"' in one for path in own) or not _NOT_SHOWN.match(one):
            yield one.replace("edge_servlets._errors.", "")
