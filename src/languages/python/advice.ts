/** Error messages for modules and packages that servlets cannot use, with alternatives. */
import { DOCS } from "../../tools/bundle/own.ts";

const SOCKETS = "it needs sockets, which a servlet does not have: from edge_servlets import fetch";
const NUMBERS =
  "it is compiled for a computer, not for a servlet: use lists, statistics and sqlite3";
const MODELS =
  "its version 2 is compiled for a computer: use dataclasses, or pydantic 1 (pydantic<2)";
const PROTOCOL = `the server speaks the protocol, and knows its callers: write tools, resources and prompts, as ${DOCS}/python.md says`;
const MAIL = "a servlet sends and reads no mail by itself: have a service do it, by fetch";
const LOGS =
  "a servlet writes no files of logs: what `logging` and `print` write is in the server's log";
const TOOLS = "it is a development tool: use it outside the servlet";
const SERVER = "a servlet answers MCP alone: the server serves HTTP";
const THREADS = "a servlet has one thread: use async functions and asyncio.gather";
const TERMINAL = "a servlet has no terminal: it gets parameters of tools";
const SYSTEM = "it is for an operating system, and a servlet runs in none";
const REMOVED = "Python itself no longer has it: see what its documentation says to use instead";
const PICTURES = "it is compiled for a computer: have the picture made by a service";

/** Gives all of these names the same advice. */
const adviseAll = (names: string, advice: string) =>
  Object.fromEntries(names.split(" ").map((name) => [name, advice]));

const ADVICE: Readonly<Record<string, string>> = {
  ...adviseAll(
    "aiohttp urllib3 httplib2 niquests grequests treq pycurl websockets websocket websocket-client socketio",
    SOCKETS,
  ),
  ...adviseAll(
    "asyncpg psycopg psycopg2 psycopg-binary psycopg2-binary pg8000 pymysql aiomysql mysql-connector-python redis pymongo motor paramiko asyncssh",
    SOCKETS,
  ),
  ...adviseAll("numpy pandas scipy polars pyarrow sklearn scikit-learn torch", NUMBERS),
  ...adviseAll("pydantic pydantic-core pydantic_core", MODELS),
  ...adviseAll("PIL pillow", PICTURES),
  ...adviseAll("fastmcp mcp", PROTOCOL),
  ...adviseAll("smtplib imaplib poplib", MAIL),
  ...adviseAll("ftplib xmlrpc telnetlib", SOCKETS),
  ...adviseAll("logging.handlers logging.config syslog", LOGS),
  ...adviseAll("http.server socketserver wsgiref", SERVER),
  ...adviseAll(
    "pdb bdb cProfile profile pstats trace tracemalloc doctest pydoc test py_compile compileall modulefinder pyclbr tabnanny",
    TOOLS,
  ),
  ...adviseAll("zipapp site antigravity this _pyrepl", TOOLS),
  ...adviseAll("curses turtle turtledemo idlelib", "a servlet has no screen: give it a view"),
  ...adviseAll("pty tty cmd code readline rlcompleter termios", TERMINAL),
  ...adviseAll("resource fcntl grp pwd mmap msvcrt nt winreg winsound _winapi", SYSTEM),
  ...adviseAll(
    "aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp lib2to3 mailcap msilib nis nntplib",
    REMOVED,
  ),
  ...adviseAll("ossaudiodev pipes smtpd sndhdr spwd sunau uu xdrlib", REMOVED),
  ...adviseAll("venv ensurepip pip", "packages are named in requirements.txt"),
  webbrowser:
    "a servlet has no screen: await ctx.elicit_url(message, url) asks the user to open a page",
  ...adviseAll("dbm shelve", "it is compiled for a computer: use sqlite3"),
  ...adviseAll(
    "lzma compression.lzma compression.zstd",
    "it is compiled for a computer: use zlib or gzip",
  ),
  "rpds-py":
    "it is compiled for a computer: of what needs it take an older version (jsonschema<4.18)",
  lxml: "it is compiled for a computer: use xml.etree or html.parser",
  cryptography: "it is compiled for a computer: use hashlib, hmac and secrets",
  ssl: "connections are the host's matter: from edge_servlets import fetch",
  socket: "a servlet has no sockets: from edge_servlets import fetch",
  ...adviseAll("threading multiprocessing concurrent.interpreters", THREADS),
  ...adviseAll("concurrent.futures.ProcessPoolExecutor", THREADS),
  ...adviseAll("concurrent.futures.InterpreterPoolExecutor", THREADS),
  subprocess: "a servlet starts no programs",
  ctypes: "a servlet loads no libraries of a computer",
  tkinter: "a servlet has no screen: give it a view",
};

/** True for a module with advice: it is known to be missing in servlets. */
export const isAdvised = (name: string): boolean =>
  Object.hasOwn(ADVICE, name) || Object.hasOwn(ADVICE, name.split(".")[0]!);

/** The message about an import of a missing module, with advice. */
export function adviceOn(name: string): string {
  const known = ADVICE[name] ?? ADVICE[name.split(".")[0]!];
  if (known !== undefined) return `there is no ${name} in a servlet, as ${known}`;
  return `there is no module ${name}: put its files beside servlet.py or into vendor/, or name its package in requirements.txt`;
}

/** The message for a relative import outside of all packages. Its name still begins with dots. */
export function adviceOnRelative({ name, names = [] }: { name: string; names?: string[] }): string {
  const module = name.replace(/^\.+/, "");
  const advice = `${module && `from ${module} `}import ${names.join(", ")}`;
  return `a relative import works only within a package: write ${advice}`;
}

/** The message for the first of these imports that is known to be missing in its module; undefined if none is. */
export function adviceOnPart(names: readonly string[]): string | undefined {
  const missing = names.find((name) => Object.hasOwn(ADVICE, name));
  return missing && adviceOn(missing);
}

const ENVIRONMENT =
  'a servlet has no environment variables. Name them in "env_vars" of servlet.json, and read each by ctx.config("NAME") in a handler';

/** Names that have no effect in a servlet, each with advice. */
const USELESS = new Map([
  ["os.environ", ENVIRONMENT],
  ["os.getenv", ENVIRONMENT],
  [
    "__file__",
    'a servlet has no files but its modules. Put others into a folder of "allowed_paths" in servlet.json, and open them in a handler',
  ],
]);

/** Packages that servlets have without installation. They replace those of the package index. */
const PROVIDED = new Set("fastmcp httpcore httpx httpx2 mcp mcp-types requests".split(" "));

/** True for a provided package or one of its modules. */
export const isProvided = (name: string): boolean =>
  PROVIDED.has(name.split(".")[0]!.replaceAll("_", "-"));

/** A warning about a module that has no effect in a servlet; undefined for others. */
export function warningOn(name: string): string | undefined {
  const advice = USELESS.get(name);
  return advice && `${name}: ${advice}`;
}

/** The message for a package without a wheel that servlets can run. */
export function adviceOnPackage(name: string): string {
  const reason = ADVICE[name] ?? "it is compiled for a computer: take one in plain Python";
  return `there is no ${name} in a servlet, as ${reason}`;
}

/** True for a package in pure Python that is useless in a servlet because it needs sockets. */
export const needsSockets = (name: string): boolean => ADVICE[name] === SOCKETS;
