import { rm } from "node:fs/promises";
import { buildWorker, cpuMs, serve, stop } from "../workerd.ts";
import { drive } from "./load.ts";
import { CONNECTIONS, median, WARM_UP_MS } from "./turns.ts";

/** Calls that one call makes, one after the other. */
const CALLS = 40;
const ROUNDS = 7;
const ROUND_MS = 3000;
const VERSION = "2026-07-28";

const inner = { tool: "plan", args: { steps: [{ do: "config" }] } };

/** The three that are compared: a tool called directly, a call that calls nothing, and one that calls the tool. */
const bodies = {
  direct: inner.args,
  none: { steps: [{ do: "call", calls: [inner], times: 0 }] },
  calling: { steps: [{ do: "call", calls: [inner], times: CALLS }] },
};

/** What a call costs that a servlet makes, in CPU time, beside the same call of a client: no more than 1.3 times as much. */
export async function benchCallInner(): Promise<void> {
  const folder = await buildWorker("test/worker/index.ts", `.bundle/inner-${process.pid}`);
  const served = await serve(folder, {});
  const costs = { direct: [] as number[], none: [] as number[], calling: [] as number[] };
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of ["direct", "none", "calling"] as const) {
      const params = { name: "plan", arguments: bodies[name] };
      const load = { port: served.port, ...request(params) };
      const before = await cpuMs(served);
      const { count } = await drive(
        { ...load, connections: CONNECTIONS },
        (_, elapsedMs) => elapsedMs > (round === 0 ? WARM_UP_MS : ROUND_MS),
        (answer) => answer.includes('"said"'),
      );
      // The first round is for the compilers.
      if (round > 0) costs[name].push(((await cpuMs(served)) - before) / count);
    }
  }
  const perCall = costs.calling.map((ms, nth) => (ms - costs.none[nth]!) / CALLS);
  const ratios = perCall.map((ms, nth) => ms / costs.direct[nth]!);
  const micro = (all: number[]) => `${(1000 * median(all)).toFixed(0)} µs`;
  console.log(
    `callInner: ${micro(perCall)} of CPU, the same tool directly: ${micro(costs.direct)}`,
  );
  console.log(
    `  ${median(ratios).toFixed(2)} times (${ratios.map((one) => one.toFixed(2)).join(", ")})`,
  );
  await stop(served);
  await rm(folder, { recursive: true, force: true });
}

function request(params: object) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const whole = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta } };
  const headers = {
    "mcp-protocol-version": VERSION,
    "mcp-method": "tools/call",
    "mcp-name": "plan",
  };
  return { headers, body: JSON.stringify(whole) };
}
