import { changedText } from "./change.ts";
import type { Chance } from "./chance.ts";
import { messageOf } from "./client.ts";
import {
  ABLE,
  draftOf,
  LEGACY,
  legacy,
  markOf,
  modern,
  MODERN,
  PRINCIPALS,
  TASKS,
  type Asked,
  type Json,
  type Name,
} from "./draft.ts";
import { isObject } from "./judge.ts";
import { anything, asking, idOf, told } from "./requests.ts";

import { session } from "./session-scene.ts";
import { answerTo, otherThan, type Stage } from "./stage.ts";

/** Scenes of a client, from its first request to the outcome; each is independent. */

const CAPABILITIES = [{}, {}, ABLE, TASKS, { ...ABLE, ...TASKS }];

/** Requests that have nothing to do with each other, of both eras. */
async function strangers(stage: Stage): Promise<void> {
  const { chance } = stage;
  for (let left = 1 + chance.below(4); left > 0; left--) {
    const as = chance.pick(PRINCIPALS);
    const asked = anything(stage, as);
    const version = chance.pick(LEGACY);
    const { method, params } = asked;
    let draft = modern(as, asked, idOf(chance), chance.pick(CAPABILITIES));
    const era = chance.below(10);
    if (era < 3) draft = legacy(as, { jsonrpc: "2.0", id: idOf(chance), method, params }, version);
    else if (era === 3) {
      const body = Array.from({ length: chance.pick([0, 1, 2, 6]) }, (_, at) => {
        const { method: one, params: given } = anything(stage, as);
        return { jsonrpc: "2.0", ...(chance.of(0.8) && { id: at }), method: one, params: given };
      });
      draft = legacy(as, body, version);
    } else if (era === 4) draft.headers["mcp-protocol-version"] = version;
    const leaveMs = chance.of(0.02) ? chance.below(8) : undefined;
    await stage.send(draft, {
      leaveMs,
      ...(method === "subscriptions/listen" && { patienceMs: 60 }),
    });
  }
}

function answersTo(requests: unknown, as: Name, chance: Chance): Json {
  const all = Object.entries(isObject(requests) ? requests : {}).filter(() => chance.of(0.9));
  return Object.fromEntries(
    all.map(([key, one]) => [key, answerTo(isObject(one) ? one : {}, as, chance)]),
  );
}

/** Calls that go back to their client, with states that are carried back, altered, or another's. */
async function rounds(stage: Stage): Promise<void> {
  const { chance } = stage;
  const states: string[] = [];
  let as = chance.pick(["alice", "bob"] as const);
  for (let calls = 2; calls > 0; calls--) {
    const asked = asking(as, chance);
    for (let round = 0; round < 5; round++) {
      const got = await stage.send(modern(as, asked, idOf(chance), ABLE), {
        changes: chance.of(0.8) ? 0 : 1,
      });
      const result: unknown = got && messageOf(got)["result"];
      if (!isObject(result) || result["resultType"] !== "input_required") break;
      let state = String(result["requestState"]);
      states.push(state);
      const kind = chance.below(8);
      if (kind === 0) state = changedText(state, chance, chance.pick(states));
      if (kind === 1) state = chance.pick(states);
      if (kind === 2) await stolen(stage, { asked, state, as });
      const inputResponses = answersTo(result["inputRequests"], as, chance);
      asked.params = { ...asked.params, requestState: state, inputResponses };
    }
    as = otherThan(as, chance) === "alice" ? "alice" : "bob";
  }
}

async function stolen(
  stage: Stage,
  { asked, state, as }: { asked: Asked; state: string; as: Name },
) {
  const thief = as === "alice" ? "bob" : "alice";
  const params = JSON.parse(
    JSON.stringify(asked.params).replaceAll(markOf(as), markOf(thief)),
  ) as Json;
  const draft = modern(thief, { ...asked, params: { ...params, requestState: state } }, 1, ABLE);
  const got = await stage.send(draft, { changes: 0 });
  if (got && messageOf(got)["error"] === undefined) stage.fail("a state is taken from another");
}

/** Tasks, looked at, answered and ended by their own client and by another. */
async function tasks(stage: Stage): Promise<void> {
  const { chance } = stage;
  const as = chance.pick(["alice", "bob"] as const);
  const able = { ...ABLE, ...TASKS };
  const asked = asking(as, chance, "plan_always");
  const got = await stage.send(modern(as, asked, idOf(chance), able), {
    changes: chance.of(0.8) ? 0 : 1,
  });
  const result: unknown = got && messageOf(got)["result"];
  if (!isObject(result) || typeof result["taskId"] !== "string") return;
  let requests: unknown;
  for (let left = 1 + chance.below(6); left > 0; left--) {
    const isThief = chance.of(0.15);
    const caller = isThief ? (as === "alice" ? "bob" : "alice") : as;
    const isChanged = !isThief && chance.of(0.2);
    const taskId = isChanged ? changedText(result["taskId"], chance) : result["taskId"];
    const method = chance.pick([
      "tasks/get",
      "tasks/get",
      "tasks/update",
      "tasks/update",
      "tasks/cancel",
    ]);
    const more =
      method === "tasks/update" ? { inputResponses: answersTo(requests, caller, chance) } : {};
    const draft = modern(caller, { method, params: { taskId, ...more } }, idOf(chance), able);
    const seen = await stage.send(draft, { changes: isThief ? 0 : Number(chance.of(0.3)) });
    const message = seen === undefined ? {} : messageOf(seen);
    if (isThief && seen && message["error"] === undefined) stage.fail("a task is another's too");
    requests = message["result"]?.["inputRequests"] ?? requests;
  }
}

/** A stream of changes, and something that changes. */
async function listening(stage: Stage): Promise<void> {
  const { chance } = stage;
  const as = chance.pick(PRINCIPALS);
  const notifications = {
    toolsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["told:x"],
    taskIds: ["0".repeat(64)],
  };
  const listen = modern(
    as,
    { method: "subscriptions/listen", params: { notifications } },
    idOf(chance),
    TASKS,
  );
  await Promise.all([
    stage.send(listen, { patienceMs: 80 }),
    stage.send(modern(as, told(as, chance, "updated"), 1), { changes: 0 }),
  ]);
}

/** Whatever else comes over HTTP. */
async function visitors({ chance, send }: Stage): Promise<void> {
  const as = chance.pick(PRINCIPALS);
  const body = { jsonrpc: "2.0", id: 1, method: "ping" };
  const draft = draftOf(as, body, { "mcp-protocol-version": chance.pick([MODERN, ...LEGACY]) });
  const method = chance.pick(["GET", "DELETE", "PUT", "OPTIONS", "HEAD", "POST"]);
  const path = chance.pick(["/", "/mcp", "/health", "/tools", "/tools/call", "/tools/greet"]);
  await send({ ...draft, method, path }, { changes: chance.below(3), patienceMs: 40 });
}

/** Calls over Open Tool Calling. */
async function openCalls({ chance, send }: Stage): Promise<void> {
  const as = chance.pick(PRINCIPALS);
  const call = {
    tool_id: chance.pick([
      "hello.greet",
      "hello.greet@1",
      "clock.now",
      "http_status.list_statuses",
    ]),
    input: { name: markOf(as) },
    ...(chance.below(2) === 0 && { call_id: `${as}-${chance.below(20)}` }),
    ...(chance.below(3) === 0 && { context: { secrets: [{ id: "x", value: markOf(as) }] } }),
  };
  const draft = { ...draftOf(as, { request: call }, {}), path: "/tools/call" };
  await send(draft, { changes: chance.below(4) });
}

const HOSTS = [
  "evil.example",
  "evil.example:443",
  "localhost",
  "localhost:1",
  "127.0.0.1",
  "[::1]",
  "localhost.evil.example",
  "EVIL.example.",
  "0",
  "",
];
const ADDRESSES = ["127.0.0.1", "::1", "127.0.0.1, 203.0.113.9", "localhost", "unknown"];
/** Stands in headers that nobody may believe. */
const FORGED = "forged.example";

/** Headers that say who has sent a request, and where to, and what each is forged to. */
const FORGERIES: Record<string, readonly string[]> = {
  host: HOSTS,
  "x-forwarded-host": [FORGED, "localhost"],
  "x-forwarded-proto": ["https", "http", FORGED],
  "x-forwarded-for": ADDRESSES,
  forwarded: [`for=127.0.0.1;host=${FORGED};proto=https`, "for=_hidden"],
  "cf-connecting-ip": [...ADDRESSES, FORGED],
  "true-client-ip": ADDRESSES,
  "x-real-ip": ADDRESSES,
  "x-original-url": ["/operator/state/keeping", `http://${FORGED}/`],
  "x-http-method-override": ["DELETE", "GET"],
};
const LENGTHS = ["0", "5", "+5", "-1", "1e3", "0x10", "5, 5", "99999999999999999999", "5 5", ""];

/** What proxies say, forged: it opens no door, changes no answer, and nobody repeats it. */
async function forgers({ chance, send, fail }: Stage): Promise<void> {
  const as = chance.pick(["alice", "bob"] as const);
  const greet = { name: "greet", arguments: { name: markOf(as) } };
  const draft = modern(as, { method: "tools/call", params: greet }, 1);
  const isKnown = chance.of(0.5);
  if (!isKnown) delete draft.headers["authorization"];
  const names = Object.keys(FORGERIES).filter(() => chance.of(0.3));
  for (const name of names) draft.headers[name] = chance.pick(FORGERIES[name]!);
  const hasLength = chance.of(0.2);
  if (hasLength) draft.headers["content-length"] = chance.pick(LENGTHS);
  const got = await send(draft, { changes: 0, ...(hasLength && { leaveMs: 500 }) });
  if (got === undefined) return;
  const greets = got.text.includes(`Hello, ${markOf(as)}`);
  if (`${got.head}${got.text}`.includes(FORGED)) fail("a forged header is repeated");
  if (greets && !isKnown) fail("a forged header lets somebody in");
  if (greets && hasLength) fail("a forged length is not believed");
  // Its other requests may leave no room for this one.
  const isFull = got.status === 429 || got.status === 503;
  if (!greets && isKnown && !hasLength && !isFull && !names.includes("host"))
    fail(`a forged header takes away an answer (status ${got.status})`);
}

/** By how often they are played. */
const SCENES = [
  ...Array.from({ length: 20 }, () => strangers),
  rounds,
  rounds,
  rounds,
  tasks,
  session,
  session,
  listening,
  visitors,
  visitors,
  forgers,
  forgers,
  openCalls,
  openCalls,
];

export const play = (stage: Stage): Promise<void> => stage.chance.pick(SCENES)(stage);
