/** What to use in place of packages that cannot be had in a servlet, for the message that says so. */

const ADVICE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["requests", "httpx", "aiohttp", "urllib3", "http.client", "urllib.request"].map((name) => [
      name,
      "it needs sockets, which a servlet does not have: from edge_servlets import fetch",
    ]),
  ),
  ...Object.fromEntries(
    ["numpy", "pandas", "scipy", "polars", "pyarrow", "sklearn", "torch"].map((name) => [
      name,
      "it is compiled for a computer, not for a servlet: use lists, statistics and sqlite3",
    ]),
  ),
  pydantic: "its version 2 is compiled for a computer: use dataclasses, or pydantic 1 (pydantic<2)",
  lxml: "it is compiled for a computer: use xml.etree or html.parser",
  PIL: "it is compiled for a computer: have the picture made by a service",
  cryptography: "it is compiled for a computer: use hashlib, hmac and secrets",
  ssl: "connections are the host's matter: from edge_servlets import fetch",
  socket: "a servlet has no sockets: from edge_servlets import fetch",
  threading: "a servlet has one thread: use async functions and asyncio.gather",
  multiprocessing: "a servlet has one thread: use async functions and asyncio.gather",
  subprocess: "a servlet starts no programs",
  ctypes: "a servlet loads no libraries of a computer",
  tkinter: "a servlet has no screen: give it a view",
};

/** The text for a module of this name that there is not. */
export function adviceOn(name: string): string {
  const known = ADVICE[name] ?? ADVICE[name.split(".")[0]!];
  if (known !== undefined) return `there is no ${name} in a servlet, as ${known}`;
  return `there is no module ${name}: put its files beside servlet.py or into vendor/, or name its package in requirements.txt`;
}

/** The text for a package that an index has in no form that a servlet can run. */
export function adviceOnPackage(name: string): string {
  const reason = ADVICE[name] ?? "it is compiled for a computer: take one in plain Python";
  return `there is no ${name} in a servlet, as ${reason}`;
}
