/** Error messages for a servlet that cannot be bundled or loaded, with advice for its author. */
import { relative, resolve } from "node:path";
import * as z from "zod";
import { formatMessages, type Message, type PartialMessage } from "esbuild";
import { DOCS } from "../../tools/bundle/own.ts";
import { nodeModuleOf, packageOf, type Packages } from "./packages.ts";
import type { SourceLocations } from "./places.ts";

const { patternAdvice } = await import("../../kit/patterns.ts");

/** The name of the generated entry module of a servlet. */
export const START_MODULE = "<start>";

/** Alternatives to modules of Node and to globals of Node or the DOM, by name in lower case. */
const INSTEAD: Readonly<Record<string, string>> = {
  buffer: "Uint8Array has toBase64, toHex and fromBase64, TextEncoder and TextDecoder are there",
  child_process: "a servlet cannot start programs: do the work in it, or ask a service by fetch",
  crypto:
    "the global crypto has getRandomValues, randomUUID and subtle (digest, HMAC, AES-GCM); for others there are @noble/hashes, @noble/ciphers and @noble/curves",
  events: "install the package events",
  fs: "edge-servlets/files has functions of the same names",
  http: "fetch is there, for the hosts that allowed_hosts in servlet.json names",
  net: "a servlet has no sockets: ask the service over HTTP, by fetch",
  path: "install the package path-browserify",
  readline: "nobody types into a servlet: it asks its user by a form",
  process: "context.config gives what env_vars in servlet.json has",
  timers: "setTimeout and setInterval are there, and context.sleep",
  url: "URL and URLSearchParams are there",
  util: "edge-servlets/servlet has inspect, and TextEncoder and structuredClone are there",
  intl: "format by a package, such as date-fns or dayjs, or import one that brings Intl",
  require: "import it",
  global: "globalThis is there",
  setimmediate: "setTimeout is there",
  webassembly:
    "take a package in plain JavaScript, or write the servlet in a language that compiles to it",
};
/** Names that share the advice of another name. */
const SAME: Readonly<Record<string, string>> = {
  https: "http",
  http2: "http",
  setImmediate: "timers",
  tls: "net",
  dgram: "net",
  cluster: "child_process",
  worker_threads: "child_process",
};

const ELSE = `take a package that does not need it; ${DOCS}/packages.md lists some`;

function insteadOf(name: string): string | undefined {
  const known = name.split("/")[0]!;
  return INSTEAD[SAME[known] ?? known.toLowerCase()];
}

/** Advice on a module of Node or a global that servlets lack. */
export const instead = (name: string): string =>
  `A servlet does not have it: ${insteadOf(name) ?? ELSE}.`;

/** The message for esbuild errors. */
export async function bundleFailure(
  entry: string,
  errors: readonly Message[],
  packages: Packages,
): Promise<string> {
  const causes = errors.filter(
    (error, at) => errors.findIndex((one) => causeOf(one) === causeOf(error)) === at,
  );
  const needing = causes.flatMap((error) => {
    const file = resolve(error.location?.file ?? "");
    const within = nodeModuleOf(error) === undefined ? undefined : packageOf(file);
    return within === undefined ? [] : [{ error, file, name: within.name }];
  });
  const names = new Set(needing.map(({ name }) => name));
  // Omit packages that were imported only by another package that needs Node: the author has not chosen them.
  const hidden = new Set(
    needing
      .filter(({ file, name }) => {
        const others = [...names].filter((one) => one !== name);
        return packages.importedFrom(file, others) === undefined;
      })
      .map(({ error }) => error),
  );
  const told = causes
    .filter((error) => hidden.size === needing.length || !hidden.has(error))
    .map((error) => explained(error, errors, packages));
  const messages = await formatMessages(told, { kind: "error", color: false });
  return `${entry}: it could not be bundled:\n${messages.join("").trim()}`;
}

/** The key of errors that share one message. A package that needs Node causes many errors. */
function causeOf(error: Message): unknown {
  const within = packageOf(resolve(error.location?.file ?? ""));
  return nodeModuleOf(error) === undefined || within === undefined ? error : within.folder;
}

function explained(error: Message, all: readonly Message[], packages: Packages): PartialMessage {
  const module = nodeModuleOf(error);
  if (module !== undefined) return needsNode(error, module, all, packages);
  if (error.text.startsWith("Top-level await")) {
    return {
      ...error,
      text: "A servlet has no top-level await: module scope runs once, when the servlet is built, and cannot wait",
      notes: [{ text: "Await in a handler." }],
    };
  }
  if (error.location?.file.endsWith(START_MODULE)) {
    return {
      text: "It has no default export",
      notes: [{ text: "Write: export default defineServlet({ … })" }],
    };
  }
  const [, missing] = /^Could not resolve "([^./].*)"$/.exec(error.text) ?? [];
  if (missing !== undefined) {
    return {
      ...error,
      notes: [{ text: `Install it, in the project of the servlet: npm install ${missing}` }],
    };
  }
  return error;
}

function needsNode(
  error: Message,
  module: string,
  all: readonly Message[],
  packages: Packages,
): PartialMessage {
  const file = resolve(error.location?.file ?? "");
  const within = packageOf(file);
  if (within === undefined) {
    return {
      ...error,
      text: `"${module}" is a module of Node, and a servlet does not run in Node`,
      notes: [{ text: instead(module) }],
    };
  }
  const needed = all.filter((one) => causeOf(one) === within.folder).map(nodeModuleOf);
  const from = packages.importedFrom(file);
  const leads = from === undefined ? "" : `${relative(".", from)} leads to it. `;
  const isHttp = needed.some((one) => one === "http" || one === "https");
  const http = isHttp ? " For HTTP, the global fetch is there." : "";
  return {
    ...error,
    text: `The package ${within.name} needs Node (${[...new Set(needed)].join(", ")}), and a servlet does not run in Node`,
    notes: [{ text: `${leads}It names no build for browsers: ${ELSE}.${http}` }],
  };
}

/** The function that runs a CommonJS package. */
const IMPORT = /^require_\w+$/;

/** The identifier at this column of a line, or ending there. */
const nameAt = (line: string, column: number): string =>
  `${/\w*$/.exec(line.slice(0, column))![0]}${/^\w*/.exec(line.slice(column))![0]}`;

const askedSchema = z.array(z.object({ what: z.string(), stack: z.string() }));

/**
 * Warnings for uses of time and randomness at module scope: one per line of the author's files, and one per package
 * that uses them when it is imported. `lines` are those of the script.
 */
export function scopeWarnings(
  asked: unknown,
  places: SourceLocations,
  lines: readonly string[],
): string[] {
  const warnings = new Map<string, string>();
  for (const { what, stack } of askedSchema.parse(asked)) {
    const frames = [...stack.matchAll(/\bservlet\.js:(\d+):(\d+)/g)].flatMap(([, row, column]) => {
      const line = Number(row) - 2;
      const place = places.at(line, Number(column) - 1);
      // A CommonJS package runs at its import, which is not a use by the author.
      const isImport = IMPORT.test(nameAt(lines[line] ?? "", Number(column) - 1));
      return place === undefined || place.includes(START_MODULE) || isImport ? [] : [place];
    });
    const own = frames.find((place) => packageOf(resolve(place)) === undefined);
    const from = packageOf(resolve(frames[0] ?? ""))?.name;
    const value = what === "Math.random()" ? "one number" : "the time 0, in 1970,";
    if (own !== undefined) {
      warnings.set(
        `${own} ${what}`,
        `${own}: ${what} at module scope runs once, when the servlet is built, and gives ${value} for all calls: call it in a handler`,
      );
    } else if (from !== undefined && !warnings.has(from)) {
      warnings.set(
        from,
        `the package ${from} calls ${what} when it is imported, which gives ${value} for all calls: do not rely on ids, seeds or times that it makes of it`,
      );
    }
  }
  return [...warnings.values()];
}

/** The message for an exception while loading a servlet's script. Its stack trace refers to the author's files. */
export function loadFailure(thrown: string, places: SourceLocations): string {
  const text = thrown
    .split("\n")
    .flatMap((line) => {
      const [, place, row, column] = /^ +at .*?\b(?<!\/)(servlet\.js:(\d+):(\d+))/.exec(line) ?? [];
      if (place === undefined) return /^ +at .*<null>:0:/.test(line) ? [] : [line];
      // The first line of the script is its source table.
      const author = places.at(Number(row) - 2, Number(column) - 1);
      return author === undefined || author.includes(START_MODULE)
        ? []
        : [line.replace(place, author)];
    })
    .join("\n")
    .trimEnd();
  const advice = text.includes("SyntaxError") ? patternAdvice(text) : undefined;
  if (advice !== undefined) return `${text}\n${advice} (${DOCS}/packages.md).`;
  const [, global] = /ReferenceError: (\w+) is not defined/.exec(text) ?? [];
  return global === undefined || insteadOf(global) === undefined
    ? text
    : `${text}\n${global}: ${instead(global)}`;
}
