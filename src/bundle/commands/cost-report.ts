/** What a servlet's calls cost, in the output of `npm run servlets -- inspect`. */
import { PER_RUN } from "../../observe/prices.ts";
import { DOCS } from "../own.ts";
import type { Cost, ToolCost } from "./cost.ts";
import { kilobytes, WORKER_BYTES } from "./table.ts";

/** CPU time of a request on the free plan: https://developers.cloudflare.com/workers/platform/limits/#cpu-time */
const FREE_CPU_MS = 10;

/** An error of a servlet may be long. */
const PROBLEM_CHARACTERS = 100;

/** A row for each tool, and whether all of it fits the free plan; `bytes` is what the servlet adds to the Worker. */
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
    ["free plan", `${fit(tools, firstMs)}; ${kilobytes(bytes)} of ${WORKER_BYTES >> 20} MiB`],
    [
      "measured",
      `as CPU time of this machine; nothing was sent, asked or waited for: ${DOCS}/other-languages.md#what-a-servlet-costs`,
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

/** Whether the measured calls fit the free plan, with what the server itself takes for a request. */
function fit(tools: readonly ToolCost[], firstMs = 0): string {
  const measured = tools.filter((one): one is ToolCost & { ms: number } => one.ms !== undefined);
  const [slowest] = measured.toSorted((a, b) => b.ms - a.ms);
  if (slowest === undefined) return "not known: no call was measured";
  const most = slowest.ms + PER_RUN.cpuMs;
  const figures = `${ms(most)} of ${FREE_CPU_MS} ms of CPU, with ${PER_RUN.cpuMs} ms for the server's own part`;
  if (most > FREE_CPU_MS) return `${slowest.tool} does not fit: ${figures}`;
  const isFirstSlow = firstMs + PER_RUN.cpuMs > FREE_CPU_MS;
  return `these calls fit${isFirstSlow ? ", but for the first" : ""}: at most ${figures}`;
}

const ms = (time: number) => `${time.toFixed(time < 1 ? 2 : 1)} ms`;
