/**
 * Counts the frames of ours that calls pass, by traced runs in Node. The debugger keeps the frames below each `await`, so a
 * function that only hands on the promise of another counts, too, which `Error.stack` leaves out.
 */
import { readFile } from "node:fs/promises";
import { console as inspector, type Runtime } from "node:inspector";
import { Session } from "node:inspector/promises";
import { pathToFileURL } from "node:url";
import { loadDeployment } from "./simulate/deployment.ts";
import { NO_FAULTS } from "./simulate/scene.ts";
import { play } from "./simulate/simulate.ts";

const SOURCES = pathToFileURL("src/").href;

/** Functions of ours, from the innermost to the entrance, as `name file:line`. */
export type Frames = string[];

/** Where frames are taken: a guest is entered; a run is interrupted, since its client is to answer. */
const PLACES = {
  guest: { file: "src/server/kernel/wasm/link.ts", line: "const call = exports[name] as" },
  ask: { file: "src/server/kernel/asks/askers.ts", line: "return Promise.reject(new Wait(" },
};
type Place = keyof typeof PLACES;

/** The frames at each place that `work` comes by, in its order. */
async function framesIn(work: () => Promise<unknown>): Promise<{ place: Place; frames: Frames }[]> {
  const session = new Session();
  session.connect();
  const taken: Runtime.ConsoleAPICalledEventDataType[] = [];
  session.on("Runtime.consoleAPICalled", ({ params }) => taken.push(params));
  Object.assign(globalThis, { takeFrames: (place: Place) => inspector.debug(place) });
  await session.post("Runtime.enable");
  await session.post("Debugger.enable");
  await session.post("Debugger.setAsyncCallStackDepth", { maxDepth: 100 });
  for (const [place, { file, line: text }] of Object.entries(PLACES)) {
    const lines = (await readFile(file, "utf8")).split("\n");
    const lineNumber = lines.findIndex((line) => line.includes(text));
    if (lineNumber < 0) throw new Error(`${file} has no line with: ${text}`);
    const url = pathToFileURL(file).href;
    // The condition takes the frames, and is never met.
    const condition = `takeFrames("${place}"), false`;
    await session.post("Debugger.setBreakpointByUrl", { url, lineNumber, condition });
  }
  await work();
  const all = await Promise.all(
    taken
      .filter(({ args }) => Object.hasOwn(PLACES, String(args[0]?.value)))
      .map(async ({ args, stackTrace }) => ({
        place: args[0]!.value as Place,
        frames: await framesOf(session, stackTrace!),
      })),
  );
  // Otherwise the breakpoints would stay.
  await session.post("Debugger.disable");
  session.disconnect();
  return all;
}

async function framesOf(session: Session, trace: Runtime.StackTrace): Promise<Frames> {
  const own = trace.callFrames
    .filter(({ url }) => url.startsWith(SOURCES))
    .map(
      ({ url, functionName, lineNumber }) =>
        `${functionName || "=>"} ${url.slice(SOURCES.length)}:${lineNumber + 1}`,
    );
  const { parentId: stackTraceId } = trace;
  let { parent } = trace;
  if (stackTraceId)
    parent = (await session.post("Debugger.getStackTrace", { stackTraceId })).stackTrace;
  return parent === undefined ? own : [...own, ...(await framesOf(session, parent))];
}

/** From the Worker's entrance to the guest of `greet`, whose caller is a modern client. */
async function plainFrames(): Promise<Frames> {
  const { createApp } = await loadDeployment((all) => all.filter(({ name }) => name === "hello"));
  const app = createApp({ LOG_LEVEL: "error", LINKS: "off" });
  const method = "tools/call";
  const version = "2026-07-28";
  const meta = "io.modelcontextprotocol";
  const _meta = { [`${meta}/protocolVersion`]: version, [`${meta}/clientCapabilities`]: {} };
  const params = { name: "greet", arguments: { name: "Ada" }, _meta };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": version,
    "mcp-method": method,
    "mcp-name": "greet",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const call = () =>
    app.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }));
  await call();
  const [taken] = await framesIn(async () => {
    const response = await call();
    if (!response.ok) throw new Error(await response.text());
  });
  return taken!.frames;
}

/** From the alarm of a task to its guest, and from there to the place where it is interrupted for an answer. */
async function askFrames(): Promise<Frames> {
  const calls = [{ client: "tasks" as const, tool: "plan_always", program: [{ do: "elicit" }] }];
  const all = await framesIn(() =>
    play({ seed: 1, steps: 0, calls, faults: NO_FAULTS, unreliable: 0 }),
  );
  // V8 does not know who has entered a guest that can be suspended: these are the frames before.
  const ask = all.findIndex(({ place }) => place === "ask");
  return [...all[ask]!.frames, ...all[ask - 1]!.frames];
}

export const traced = async () => ({ plain: await plainFrames(), ask: await askFrames() });

/** Prints the frames themselves. */
if (import.meta.main) {
  for (const [call, frames] of Object.entries(await traced()))
    console.log(`${call}: ${frames.length} frames\n  ${frames.join("\n  ")}`);
}
