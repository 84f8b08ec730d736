import { changedText, changedTree } from "./change.ts";
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
  type Draft,
  type Json,
  type Name,
} from "./draft.ts";
import { isObject, type Got } from "./judge.ts";
import { oddValue } from "./odd.ts";
import { anything, asking, fitting, idOf, said, told, type Catalog } from "./requests.ts";

/** What clients do, from a first request to what comes of it: each scene stands by itself. */

export interface Sending {
  /** How many things are changed in it; by chance where it is left out. */
  changes?: number;
  patienceMs?: number;
  onMessage?: (message: Json) => Promise<void>;
  leaveMs?: number | undefined;
}

/** Where a scene is played. */
export interface Stage {
  chance: Chance;
  catalog: Catalog;
  /** Sends a request, and judges what comes; undefined where the client has left before. */
  send(draft: Draft, sending?: Sending): Promise<Got | undefined>;
  /** Fails the scene. */
  fail(why: string): never;
}

const otherThan = (as: Name, chance: Chance): Name =>
  chance.pick(PRINCIPALS.filter((name) => name !== as));

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

/** What a client answers, most often as it should. */
function answerTo(request: Json, as: Name, chance: Chance): unknown {
  const schema: unknown = request["params"]?.["requestedSchema"];
  const answers: Record<string, unknown> = {
    "elicitation/create": chance.of(0.8)
      ? { action: "accept", content: fitting(schema, as, chance) }
      : { action: chance.pick(["decline", "cancel"]) },
    "sampling/createMessage": { role: "assistant", content: said(as), model: "m" },
    "roots/list": { roots: [{ uri: "file:///home/ada", name: markOf(as) }] },
  };
  const answer = answers[String(request["method"])] ?? {};
  return chance.of(0.75) ? answer : chance.of(0.5) ? changedTree(answer, chance) : oddValue(chance);
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

/** A session: its calls, its streams, what it is asked, and its end. */
async function session(stage: Stage): Promise<void> {
  const { chance } = stage;
  const as = chance.pick(["alice", "bob"] as const);
  const version = chance.pick(LEGACY);
  const capabilities = chance.of(0.8)
    ? { ...ABLE, ...(chance.of(0.3) && { tasks: { requests: { elicitation: { create: {} } } } }) }
    : {};
  const params = {
    protocolVersion: version,
    capabilities,
    clientInfo: { name: markOf(as), version: "1" },
  };
  const opening = legacy(as, { jsonrpc: "2.0", id: 0, method: "initialize", params }, version);
  const opened = await stage.send(opening, { changes: chance.of(0.85) ? 0 : 1 });
  const id = opened?.session;
  if (id === undefined) return;
  const post = (body: unknown, sending: Sending = {}) =>
    stage.send(legacy(as, body, version, id), { patienceMs: 80, ...sending });
  const eventIds: string[] = ["0-0-0"];
  if (chance.of(0.9))
    await post({ jsonrpc: "2.0", method: "notifications/initialized" }, { changes: 0 });
  const onMessage = async ({ id: asked, method, params: about }: Json) => {
    if (method === undefined || asked === undefined || chance.of(0.2)) return;
    const result = answerTo({ method, params: about }, as, chance);
    const answer = chance.of(0.9) ? { result } : { error: { code: -1, message: "no" } };
    await post({ jsonrpc: "2.0", id: asked, ...answer }, { changes: Number(chance.of(0.2)) });
  };
  for (let left = 1 + chance.below(5); left > 0; left--) {
    const kind = chance.below(12);
    if (kind < 6) {
      const asked = chance.of(0.5) ? asking(as, chance) : anything(stage, as);
      const task = chance.of(0.1) ? { task: { ttl: 1000 } } : {};
      const body = {
        jsonrpc: "2.0",
        id: idOf(chance),
        method: asked.method,
        params: { ...asked.params, ...task, _meta: { progressToken: "p" } },
      };
      const got = await post(chance.of(0.1) ? [body, { ...body, id: "second" }] : body, {
        onMessage,
      });
      eventIds.push(...(got?.eventIds ?? []));
    } else if (kind < 8) {
      const lastId = chance.of(0.7)
        ? chance.pick(eventIds)
        : changedText(chance.pick(eventIds), chance);
      const draft = draftOf(as, undefined, {
        "mcp-session-id": id,
        "mcp-protocol-version": version,
        accept: "text/event-stream",
        ...(chance.of(0.7) && { "last-event-id": lastId }),
      });
      await stage.send({ ...draft, method: "GET" }, { patienceMs: 40, onMessage });
    } else if (kind === 8) {
      const thief = as === "alice" ? "bob" : "alice";
      const draft = legacy(thief, { jsonrpc: "2.0", id: 1, method: "ping" }, version, id);
      const method = chance.pick(["GET", "POST", "DELETE"]);
      const got = await stage.send(
        { ...draft, method, body: method === "POST" ? draft.body : undefined },
        { changes: 0, patienceMs: 40 },
      );
      if (got && got.status !== 404) stage.fail("a session is another's too");
    } else {
      const method = chance.pick([
        "ping",
        "tasks/list",
        "tasks/get",
        "tasks/result",
        "logging/setLevel",
        "resources/subscribe",
        "notifications/cancelled",
        "notifications/roots/list_changed",
        "initialize",
      ]);
      const about = {
        level: "debug",
        uri: "told:x",
        requestId: idOf(chance),
        taskId: "0".repeat(64),
      };
      await post(
        {
          jsonrpc: "2.0",
          ...(!method.startsWith("notif") && { id: idOf(chance) }),
          method,
          params: about,
        },
        { onMessage },
      );
    }
  }
  if (chance.of(0.8)) {
    const draft = draftOf(as, undefined, { "mcp-session-id": id, "mcp-protocol-version": version });
    await stage.send({ ...draft, method: "DELETE" }, { changes: Number(chance.of(0.1)) });
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

/** By how often they are played. */
const SCENES = [
  ...Array.from({ length: 20 }, () => strangers),
  ...[
    rounds,
    rounds,
    rounds,
    tasks,
    session,
    session,
    listening,
    visitors,
    visitors,
    openCalls,
    openCalls,
  ],
];

export const play = (stage: Stage): Promise<void> => stage.chance.pick(SCENES)(stage);
