/**
 * `npm run soak -- [--calls 1000000] [--connections 32]`: calls of several kinds, one in a hundred with
 * an argument of 1 MB, against a server that `start` runs, on connections that are kept, each answer checked. It shows the
 * memory over time, and fails on any wrong answer, where the memory has grown, or where a session that has ended leaves its
 * file behind at the next start. With 200,000 calls there are 10,000 sessions.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { Agent, request as ask } from "node:http";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, host, project } from "./hosting.ts";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "20000" },
    connections: { type: "string", default: "32" },
    /** How many times the memory of the second quarter of the run that of the last one may be. */
    growth: { type: "string", default: "1.2" },
  },
});
const CALLS = Number(values.calls);
const GROWTH = Number(values.growth);
const SAMPLE_MS = 1000;

const folder = await project();
await build(folder);
const LIMITS = JSON.stringify({ keptPerDay: 2 * CALLS + 1000, concurrentCalls: 10_000 });
const server = await host(folder, { variables: { LIMITS }, args: ["--trust-proxy"] });
const agent = new Agent({ keepAlive: true, maxSockets: Number(values.connections) });
const workerd = Number(await readFile(join(folder, ".edge-servlets/workerd.pid"), "utf8"));

interface Answer {
  status: number;
  body: string;
  session: string | undefined;
}

function post(body: object | undefined, headers: Record<string, string>): Promise<Answer> {
  const method = body === undefined ? "DELETE" : "POST";
  const accept = "application/json, text/event-stream";
  const all = { "content-type": "application/json", accept, ...headers };
  return new Promise((done, fail) => {
    const request = ask(server.url, { agent, method, headers: all }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("error", fail);
      response.on("end", () => {
        const session = response.headers["mcp-session-id"] as string | undefined;
        done({ status: response.statusCode ?? 0, body: text, session });
      });
    });
    request.on("error", fail);
    request.end(body && JSON.stringify(body));
  });
}

let sent = 0;
const counts: Record<string, number> = {};
/** Sends one request of a kind, whose answer must have this text in it. */
async function expected(kind: string, text: RegExp, ...posted: Parameters<typeof post>) {
  const answer = await post(...posted);
  sent++;
  counts[kind] = (counts[kind] ?? 0) + 1;
  if (!text.test(answer.body))
    throw new Error(
      `${kind}: a wrong answer (status ${answer.status}): ${answer.body.slice(0, 600)}`,
    );
  return answer;
}

const META = "io.modelcontextprotocol/";
const modern = (name: string, args: object, more: object = {}) =>
  [
    {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name,
        arguments: args,
        ...more,
        _meta: {
          [`${META}protocolVersion`]: "2026-07-28",
          [`${META}clientCapabilities`]: { elicitation: {} },
        },
      },
    },
    { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name },
  ] as const;
const legacy = (method: string, params: object, session: string | undefined) =>
  [
    { jsonrpc: "2.0", id: 1, method, params },
    {
      "mcp-protocol-version": "2025-11-25",
      ...(session !== undefined && { "mcp-session-id": session }),
    },
  ] as const;

const by = (caller: string, [body, headers]: ReturnType<typeof modern>) =>
  [body, { ...headers, "x-forwarded-for": caller }] as const;

/** Each caller has state of its own. */
const KINDS: Record<string, (nth: number, caller: string) => Promise<unknown>> = {
  greet: (nth) =>
    expected("greet", new RegExp(`Hello, ${nth}!`), ...modern("greet", { name: String(nth) })),
  large: (_nth, caller) => {
    const call = modern("greet", { name: "a".repeat(1e6) });
    return expected("large", /Hello, (?:a{1000}){1000}!/, ...by(caller, call));
  },
  state: (_nth, caller) =>
    expected("state", /"text":"\d+"/, ...by(caller, modern("counting-next", {}))),
  failing: (_nth, caller) =>
    expected("failing", /"isError":true/, ...by(caller, modern("counting-fail", {}))),
  async session() {
    const hello = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "soak", version: "1" },
    };
    const { session } = await expected(
      "session",
      /serverInfo/,
      ...legacy("initialize", hello, undefined),
    );
    const greet = { name: "greet", arguments: { name: "Ada" } };
    for (let call = 0; call < 3; call++)
      await expected("session", /Hello, Ada!/, ...legacy("tools/call", greet, session));
    await expected("session", /^/, undefined, { "mcp-session-id": session! });
  },
  async waiting() {
    const what = { what: "Paint the bridge" };
    const { body } = await expected(
      "waiting",
      /input_required/,
      ...modern("request_approval", what),
    );
    const line = /\{.*\}/.exec(body)![0];
    const { requestState, inputRequests } = JSON.parse(line).result;
    const [id] = Object.keys(inputRequests);
    const inputResponses = { [id!]: { action: "accept", content: { approve: true } } };
    const more = { requestState, inputResponses };
    await expected("waiting", /Approved/, ...modern("request_approval", what, more));
  },
};
/** How the kinds follow each other; large calls come in addition. */
const TURNS = [
  "greet",
  "greet",
  "state",
  "greet",
  "greet",
  "failing",
  "greet",
  "greet",
  "session",
  "greet",
  "greet",
  "waiting",
];

const samples: { sent: number; mb: number }[] = [];
async function sample(): Promise<void> {
  const status = await readFile(`/proc/${workerd}/status`, "utf8");
  samples.push({ sent, mb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024 });
}

const isOver = () => sent >= CALLS;

async function connection(_: unknown, at: number): Promise<void> {
  for (let nth = turn++; !isOver(); nth = turn++) {
    // One in a hundred, begun one at a time: the server has room for eight of them.
    const isLarge = large < sent / 100;
    if (isLarge) large++;
    await KINDS[isLarge ? "large" : TURNS[nth % TURNS.length]!]!(nth, `192.0.2.${at % 256}`);
  }
}

let turn = 0;
let large = 0;
const began = performance.now();
await sample();
const sampling = setInterval(() => void sample(), SAMPLE_MS);
const telling = setInterval(() => tell(), 15_000);
const tell = () => {
  const { mb } = samples.at(-1)!;
  const perSecond = sent / ((performance.now() - began) / 1000);
  console.log(`${sent} calls, ${Math.round(perSecond)} a second, ${Math.round(mb)} MB`);
};
let failure: unknown;
try {
  await Promise.all(Array.from({ length: Number(values.connections) }, connection));
} catch (error) {
  failure = error;
}
clearInterval(sampling);
clearInterval(telling);
if (failure === undefined) await sample();
tell();
await server.end();
const filesOfSessions = async () => {
  const files = await readdir(join(folder, ".edge-servlets/objects/Session")).catch(() => []);
  return files.filter((name) => /^\w{64}\.sqlite$/.test(name)).length;
};
const filesBefore = await filesOfSessions();
if (failure === undefined) await (await host(folder)).end();
const filesLeft = await filesOfSessions();
await rm(folder, { recursive: true, force: true });

const middle = (from: number, to: number) => {
  const part = samples.filter((one) => one.sent >= from * CALLS && one.sent <= to * CALLS);
  return part.map(({ mb }) => mb).toSorted((a, b) => a - b)[Math.floor(part.length / 2)] ?? NaN;
};
const [second, last] = [middle(0.25, 0.5), middle(0.75, 1)];
const grown = last / second;
console.log(
  `soak: ${JSON.stringify({ calls: sent, seconds: Math.round((performance.now() - began) / 1000), ...counts, secondQuarterMB: Math.round(second), lastQuarterMB: Math.round(last), grown: Number(grown.toFixed(2)), filesBefore, filesLeft })}`,
);
const ended = /workerd ended .*/.exec(server.output())?.[0];
if (failure !== undefined) console.error(failure);
if (ended !== undefined) console.error(ended);
if (!(grown <= GROWTH))
  console.error(`The memory has grown to ${grown.toFixed(2)} times, above ${GROWTH}.`);
if (filesLeft > 0) console.error(`${filesLeft} sessions have ended and left their files.`);
const isGood = failure === undefined && ended === undefined && filesLeft === 0;
process.exit(isGood && grown <= GROWTH ? 0 : 1);
