/** The output of the command `npm run servlets`. */
import { gzipSync } from "node:zlib";
import type { Lists } from "../../server/kernel/core/model.ts";
import { webhooksOf } from "../../server/features/installs/permissions.ts";
import { mebibytes, printable, printableLines } from "../../server/kernel/core/text.ts";
import type { Import, Kind, Outline } from "../bundle/wasm/binary.ts";
import type { Member } from "../bundle/bundle.ts";
import type { Examined } from "./examine.ts";
import { SERVLET_EXPORTS } from "../bundle/wasm/check.ts";
import { type Prepared } from "../bundle/wasm/prepare.ts";
import { isInterpreted } from "../bundle/source.ts";
import { asModelsSee, tokensOf } from "../../server/kernel/servlets/concerns.ts";
import { schedulesOf } from "../../server/features/installs/permissions.ts";
import { eventsOf, fileUseOf } from "../../server/features/installs/permissions.ts";
import { isForModels } from "../../server/kernel/core/views.ts";
import { DOCS } from "../bundle/own.ts";
import type { Cost, ToolCost } from "./cost.ts";
import { dollars, dollarsFor, PRICES_OF } from "./prices.ts";
import { FREE_CPU_MS, kilobytes, tokensOfTools, WORKER_BYTES } from "./table.ts";

const WIDTH = 100;
const PAGE = 65536;
/** Maximum length of a servlet's error in the report. */
const PROBLEM_CHARACTERS = 200;
/** Approximate CPU time of the server itself for a request, as measured on one machine. */
const SERVER_CPU_MS = 1;

/** The servlets, each with its tools, resources and prompts. */
export function listing(entries: readonly (readonly [Member, Lists])[]): string {
  if (entries.length === 0) return "There are no servlets. Make one: npm run servlets -- new NAME";
  return entries
    .map(([{ found, dialect, lists: listed }, lists]) => {
      const about = found.manifest.description ?? "";
      return [
        printable(`${found.name} (${dialect}) ${about}`.trimEnd()),
        ...(listed === undefined ? ["  is asked at run time"] : offers(lists)),
      ].join("\n");
    })
    .join("\n\n");
}

/** A line for each tool, resource, template and prompt. */
function offers({ tools, resources, resourceTemplates, prompts }: Lists): string[] {
  const rows = [
    ...tools.map(({ name, description }) => ["tool", name, description]),
    ...resources.map(({ uri, name, description }) => ["resource", uri, description ?? name]),
    ...resourceTemplates.map(({ uriTemplate, name, description }) => [
      "template",
      uriTemplate,
      description ?? name,
    ]),
    ...prompts.map(({ name, description }) => ["prompt", name, description]),
  ];
  const width = Math.max(...rows.map(([, name]) => name!.length));
  return rows.map(([kind, name, about]) =>
    printable(
      `  ${kind!.padEnd(8)}  ${name!.padEnd(width)}  ${firstSentence(about ?? "")}`.trimEnd(),
    ),
  );
}

/** The first sentence of a text. */
function firstSentence(text: string): string {
  const line = text.trim().replace(/\s+/g, " ");
  return /^.*?[.!?](?= \p{Lu}|$)/u.exec(line)?.[0] ?? line;
}

/** The full report on one servlet. */
export function servletReport(examined: Examined): string {
  const { found, dialect, lists, outline, prepared, cost, refusal, warnings } = examined;
  const { manifest, source } = found;
  const rows: [label: string, text: string | undefined][] = [
    [
      "source",
      `${source.origin ?? source.files.find(isMain) ?? source.files[0]!} (${source.kind})`,
    ],
    ["about", manifest.description],
    ["dialect", dialect ?? (outline && "none: it exports the functions of no dialect")],
    ["size", sizes(examined)],
    ["adds", adds(examined)],
    ["memory", memory(examined)],
    ["instances", prepared && instances(examined, prepared)],
    ["start", starts(examined)],
    ...(cost === undefined ? [] : costRows(cost, cost.bytes)),
    ["answers", answers(examined)],
    ["also exports", otherExports(examined)],
    ["may call", manifest.may_call?.join(", ")],
    ["runs by itself", schedulesOf(manifest).join(", ")],
    ["emits", eventsOf(manifest).join(", ")],
    ["files", fileUseOf(manifest).join(", ")],
    ["webhooks", webhooksOf(manifest).join(", ")],
    ...(outline === undefined ? [] : imports(outline, examined)),
  ];
  return [
    printable(found.name),
    ...rows.flatMap(([label, text]) => (text ? [row(label, text)] : [])),
    ...(lists === undefined ? [] : ["", ...offers(lists)]),
    ...(manifest.lists === "dynamic" ? ["", "  Its lists are asked for at run time."] : []),
    "",
    ...warnings.map((warning) => `warning: ${printableLines(warning)}`),
    refusal === undefined ? "The host takes it." : `The host refuses it.\n${refusal}`,
  ].join("\n");
}

/** The tools of a servlet as a model sees them, with an estimate of their tokens. */
export function modelReport({ found, lists, refusal, warnings }: Examined): string {
  const tools = lists?.tools.filter(isForModels) ?? [];
  let sum = 0;
  return [
    ...tools.flatMap((tool) => {
      const { name, description, parameters } = asModelsSee(tool);
      const tokens = tokensOf(tool) ?? Infinity;
      sum += tokens;
      return [
        `${printable(name)}: ${about(tokens)}`,
        ...(description === "" ? [] : [row("says", description)]),
        ...JSON.stringify(parameters, null, 2)
          .split("\n")
          .map((line) => `  ${printable(line)}`),
        "",
      ];
    }),
    tools.length === 0
      ? `${printable(found.name)} lists no tools for models${lists === undefined && refusal === undefined ? " before it is asked at run time" : ""}.`
      : `${printable(found.name)}: ${about(sum)} of each conversation, ${tools.length} ${tools.length === 1 ? "tool" : "tools"}. Tokenizers differ by a fifth or so.`,
    ...warnings.map((warning) => `warning: ${printableLines(warning)}`),
    ...(refusal === undefined ? [] : [`The host refuses it.\n${refusal}`]),
  ].join("\n");
}

const about = (tokens: number) => `about ${Number.isFinite(tokens) ? tokens : "very many"} tokens`;

const isMain = (file: string) => /servlet\.\w+$/.test(file);

/** A label, and a text wrapped beside it. */
export function row(label: string, text: string): string {
  const lines: string[] = [];
  let line = `${label.padEnd(INDENT - 1)} `;
  for (const word of printable(text).split(" ")) {
    if (line.length + word.length > WIDTH) {
      lines.push(line);
      line = " ".repeat(INDENT);
    }
    line += `${word} `;
  }
  return [...lines, line].map((one) => `  ${one.trimEnd()}`).join("\n");
}

const INDENT = 14;

function sizes({ found, size, prepared }: Examined): string | undefined {
  if (size === undefined) return undefined;
  const both = (bytes: Uint8Array) =>
    `${kilobytes(bytes.length)} (${kilobytes(gzipSync(bytes, { level: 9 }).length)} gzipped)`;
  if (prepared?.patch !== undefined && isInterpreted(found.source)) {
    const { packages } = prepared;
    const shared = packages ? `; packages shared with other servlets ${both(packages.bytes)}` : "";
    return `script ${kilobytes(size)}, loaded ${both(prepared.patch.bytes)}${shared}; the interpreter that all servlets in ${found.source.language.name} share ${both(prepared.wasm)}`;
  }
  const made = ["wasm", "pinned"].includes(found.source.kind) ? "plugin" : "built";
  const image = prepared?.patch ? `, its image ${both(prepared.patch.bytes)}` : "";
  return `${made} ${kilobytes(size)}${prepared ? `, prepared ${both(prepared.wasm)}` : ""}${image}`;
}

/** What the servlet adds to the Worker, and to the conversations of its callers. */
function adds({ cost, lists }: Examined): string | undefined {
  if (cost === undefined) return undefined;
  const upload = `${kilobytes(cost.bytes)} (${kilobytes(cost.gzip)} gzipped) to the Worker`;
  return lists === undefined
    ? upload
    : `${upload}, ${about(tokensOfTools(lists))} to each conversation`;
}

function memory({ outline, memoryLimit }: Examined): string | undefined {
  const [own] = outline?.memories ?? [];
  if (own === undefined) return undefined;
  return `${mebibytes(own.initial * PAGE)} to begin with, at most ${mebibytes(memoryLimit)}`;
}

function instances({ found }: Examined, { unrestorable }: Prepared): string {
  if (unrestorable !== undefined)
    return `a new one for each call, which is slower: ${unrestorable}`;
  return found.manifest.isolation === "fresh"
    ? 'a new one for each call, which is slower: "isolation" in servlet.json says so'
    : "put back to the byte after each call, and used again";
}

/** A row for each tool, one on the price, and one on the free plan. `bytes` is the size that the servlet adds to the Worker. */
export function costRows({ firstMs, tools }: Cost, bytes: number): [string, string][] {
  if (tools.length === 0) return [];
  return [
    ...tools.map((one, at): [string, string] => [
      at === 0 ? "calls" : "",
      `${one.tool}: ${costOf(one)}`,
    ]),
    ...(firstMs === undefined
      ? []
      : [["first call", `${ms(firstMs)}, in a new isolate`] as [string, string]]),
    ...pricesOf(tools),
    ["free plan", `${fit(tools, firstMs)}; ${kilobytes(bytes)} of ${WORKER_BYTES >> 20} MiB`],
    [
      "measured",
      `as deployed (\`dev\` leaves out the optimiser), in CPU time of this machine; nothing was sent, asked or waited for: ${DOCS}/other-languages.md#what-a-servlet-costs`,
    ],
  ];
}

function costOf({ ms: took, fuel = 0, wanted, waits, problem }: ToolCost): string {
  if (took === undefined) return problem ?? "not called";
  const figures =
    ms(took) +
    (fuel > 0 ? `, ${fuel.toLocaleString("en")} of fuel` : "") +
    (waits === true ? ", without the time that it waits" : "");
  if (wanted.length > 0) return `${figures}, up to ${wanted.join(" and ")} that it did not get`;
  if (problem === undefined) return figures;
  const isLong = problem.length > PROBLEM_CHARACTERS;
  return `${figures}, and ended with an error: ${problem.slice(0, PROBLEM_CHARACTERS)}${isLong ? "…" : ""}`;
}

const MILLION = 1e6;

/** What a million calls of the cheapest and the most expensive tool cost. */
function pricesOf(tools: readonly ToolCost[]): [string, string][] {
  const prices = tools.flatMap(({ ms: took }) =>
    took === undefined
      ? []
      : dollarsFor({ requests: MILLION, cpuMs: MILLION * (took + SERVER_CPU_MS) }),
  );
  if (prices.length === 0) return [];
  const [least, most] = [Math.min(...prices), Math.max(...prices)].map((one) => `$${dollars(one)}`);
  const range = least === most ? least : `${least} to ${most}`;
  return [
    [
      "a million",
      `calls cost ${range} on Workers Paid as of ${PRICES_OF}, beyond what it includes and without what they store and wait for: ${DOCS}/operating.md#cost`,
    ],
  ];
}

/** Whether the measured calls, with the server's own CPU time, fit the free plan. */
function fit(tools: readonly ToolCost[], firstMs = 0): string {
  const measured = tools.filter((one): one is ToolCost & { ms: number } => one.ms !== undefined);
  const [slowest] = measured.toSorted((a, b) => b.ms - a.ms);
  if (slowest === undefined) return "not known: no call was measured";
  const most = slowest.ms + SERVER_CPU_MS;
  const figures = `${ms(most)} of ${FREE_CPU_MS} ms of CPU, with ${SERVER_CPU_MS} ms for the server's own part`;
  if (most > FREE_CPU_MS) return `${slowest.tool} does not fit: ${figures}`;
  const isFirstSlow = firstMs + SERVER_CPU_MS > FREE_CPU_MS;
  return `these calls fit${isFirstSlow ? ", but for the first" : ""}: at most ${figures}`;
}

const ms = (time: number) => `${time.toFixed(time < 1 ? 2 : 1)} ms`;

/** When the start functions run. */
function starts({ found, start, prepared }: Examined): string | undefined {
  if (start !== undefined) {
    return `in each call, as it asks for ${start.asks.join(" and ")}: ${start.ms.toFixed(2)} ms of each call on this machine. With "start": "once" in servlet.json it starts when the bundle is made: what it draws then (seeds of hash tables, Go's math/rand) is the same in each call; what it draws in a call (Go's crypto/rand) stays fresh`;
  }
  if (found.manifest.start === "once")
    return "once, when the bundle is made: what it draws then is the same in each call";
  if (prepared === undefined) return undefined;
  return prepared.unrestorable === undefined
    ? "once, when the bundle is made: a call begins where that has ended"
    : "in each call";
}

/** The exports that the host calls. */
function answers({ outline, prepared }: Examined): string | undefined {
  const own = prepared?.exports ?? outline?.exports.map(({ name }) => name);
  return own?.filter((name) => SERVLET_EXPORTS.has(name)).join(", ");
}

/** The other exports: start functions, and unused exports. */
function otherExports({ found, outline }: Examined): string | undefined {
  if (isInterpreted(found.source)) return undefined;
  return outline?.exports
    .filter(({ name }) => !SERVLET_EXPORTS.has(name))
    .map(titled)
    .join(", ");
}

/** Imports by namespace: first those that the host offers, then the missing ones. */
function imports(outline: Outline, { missing }: Examined): [string, string][] {
  const rows = (label: string, all: Import[]): [string, string][] =>
    [...Map.groupBy(all, ({ module }) => module)].map(([module, ofModule], at) => [
      at === 0 ? label : "",
      `${module}: ${[...new Set(ofModule.map(titled))].join(", ")}`,
    ]);
  return [
    ...rows(
      "imports",
      outline.imports.filter((one) => !missing.has(one)),
    ),
    ...rows("not offered", [...missing]),
  ];
}

const titled = ({ name, kind }: { name: string; kind: Kind }) =>
  kind === "function" || kind === name ? name : `${name} (${kind})`;
