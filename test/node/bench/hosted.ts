/** `npm run bench -- hosted`: a server that `start` runs: how soon it serves, its memory, and what calls cost it. */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { build, host, project } from "../host/hosting.ts";
import { cpuMs, residentMB } from "../workerd.ts";
import { greeted } from "./kinds.ts";
import { drive, type Load } from "./load.ts";
import { WARM_UP_MS } from "./turns.ts";

const CONNECTIONS = 16;
const MEASURED_MS = 8000;

export async function benchHosted(): Promise<void> {
  const folder = await project();
  await build(folder);
  const began = performance.now();
  const server = await host(folder);
  const startMs = performance.now() - began;
  const pid = Number(await readFile(join(folder, ".edge-servlets/workerd.pid"), "utf8"));
  const workerd = { process: { pid } };
  const row = (figures: object) => console.log(JSON.stringify(figures));
  row({
    startMs: Math.round(startMs),
    idleMB: Math.round(await residentMB(workerd)),
    supervisorMB: Math.round(await residentMB(server)),
  });
  const kinds = {
    greet: { params: { name: "greet", arguments: { name: "Ada" } }, check: greeted },
    "with state": {
      params: { name: "counting-next", arguments: {} },
      check: (body: string) => /"text":"\d+"/.test(body),
    },
  };
  for (const [name, { params, check }] of Object.entries(kinds)) {
    const load: Load = {
      port: server.port,
      connections: CONNECTIONS,
      headers: { "mcp-protocol-version": "2025-11-25" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    };
    await drive(load, (_count, ms) => ms > WARM_UP_MS, check);
    const before = await cpuMs(workerd);
    const { count, perSecond, p50, p99 } = await drive(
      load,
      (_count, ms) => ms > MEASURED_MS,
      check,
    );
    const cpu = ((await cpuMs(workerd)) - before) / count;
    const figures = { perSecond: Math.round(perSecond), p50: p50.toFixed(1), p99: p99.toFixed(1) };
    row({ name, ...figures, cpuMs: cpu.toFixed(2), MB: Math.round(await residentMB(workerd)) });
  }
  await server.end();
  await rm(folder, { recursive: true });
}
