import {
  ABLE,
  changedText,
  changedTree,
  draftOf,
  LEGACY,
  legacy,
  markOf,
  METHODS,
  modern,
  MODERN,
  oddValue,
  PRINCIPALS,
  TASKS,
  written,
  type Asked,
  type Chance,
  type Draft,
  type Json,
  type Name,
} from "./generate.ts";
import { messageOf } from "./client.ts";
import { isObject, type Got } from "./judge.ts";

/** What clients do, from a first request to what comes of it: each scene stands by itself. */

/** What the server lists. */
export interface Catalog {
  tools: Json[];
  prompts: Json[];
  resources: Json[];
  resourceTemplates: Json[];
}

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

/** Ids of requests, good ones most often. */
const idOf = (chance: Chance): unknown =>
  chance.of(0.9) ? chance.pick([1, 0, "a", "", -7, 2 ** 53 - 1, "é💥", "1"]) : oddValue(chance);

const otherThan = (as: Name, chance: Chance): Name =>
  chance.pick(PRINCIPALS.filter((name) => name !== as));

/** These run or wait for long. */
const SLOW =
  /^(doze|poll|exhaust_memory|million_blocks|big_blocks|recurse|stuck|fetch|web|slow_.*|seek)$/;

/** A value that fits a schema, more or less. */
function fitting(schema: unknown, as: Name, chance: Chance): unknown {
  if (!isObject(schema)) return markOf(as);
  if (Array.isArray(schema["enum"])) return chance.pick(schema["enum"] as unknown[]);
  const either: unknown = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(either)) return fitting(chance.pick(either as unknown[]), as, chance);
  switch ([schema["type"]].flat()[0]) {
    case "object":
    case undefined: {
      const required: unknown = schema["required"];
      const found = Object.entries((schema["properties"] ?? {}) as Json)
        .filter(([key]) => (Array.isArray(required) && required.includes(key)) || chance.of(0.6))
        .map(([key, one]) => [key, fitting(one, as, chance)] as const);
      return Object.fromEntries(found);
    }
    case "array":
      return Array.from({ length: chance.below(4) }, () => fitting(schema["items"], as, chance));
    case "integer":
    case "number":
      return chance.pick([0, 1, 2, 3]);
    case "boolean":
      return chance.of(0.5);
    case "null":
      return null;
    default:
      return chance.pick([markOf(as), `${markOf(as)} é💥`, "2020-01-01", "UTC", "", "a"]);
  }
}

const said = (as: Name) => ({ type: "text", text: markOf(as) });
const FORM = { type: "object", properties: { value: { type: "string" } }, required: ["value"] };
const ask = (as: Name) => ({
  method: "elicitation/create",
  params: { message: markOf(as), requestedSchema: FORM },
});

/** What the servlet `told` is told to give, by the way out. */
const OUTPUTS: Record<string, (as: Name) => unknown> = {
  output: (as) => ({ content: [said(as)], structuredContent: { a: [1] }, isError: false }),
  media: () => ({
    content: [
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "resource", resource: { uri: "told:x", text: "x" } },
      { type: "resource_link", uri: "told:y", name: "y" },
    ],
  }),
  input: (as) => ({
    resultType: "input_required",
    inputRequests: { one: ask(as) },
    requestState: markOf(as),
  }),
  fault: (as) => ({ error: { code: 1234, message: markOf(as), data: { a: 1 } } }),
  error: (as) => markOf(as),
  progress: () => ({ progressToken: "p", progress: 1, total: 2, message: "half" }),
  message: (as) => ({ level: "warning", logger: "told", data: { text: markOf(as) } }),
  updated: () => ({ uri: "told:x" }),
  completed: () => ({ elicitationId: "e" }),
  http: () => ({ url: "http://127.0.0.1:1/", method: "GET", headers: { a: "b" } }),
  fetch: () => ({ url: "http://127.0.0.1:1/", method: "POST" }),
  elicit: (as) => ({ message: markOf(as), requestedSchema: FORM, timeout: 50 }),
  sample: (as) => ({ messages: [{ role: "user", content: said(as) }], maxTokens: 5 }),
  inputs: (as) => ({ one: ask(as), two: { method: "roots/list", params: {} } }),
  secret: () => ({ service: "vault", user: "probe" }),
  token: () => ({ provider: "x", scopes: ["a"] }),
};

/** Text for a servlet's output: as it should be, or changed. */
function outputText(given: unknown, chance: Chance): string {
  let value = given;
  for (let times = chance.pick([0, 1, 1, 2, 3]); times > 0; times--)
    value = changedTree(value, chance);
  const text = written(value);
  if (chance.of(0.003)) return `${text.slice(0, -1)},"x":"${"x".repeat(3_000_000)}"}`;
  return chance.of(0.1) ? changedText(text, chance) : text;
}

function told(as: Name, chance: Chance, through = chance.pick(Object.keys(OUTPUTS))): Asked {
  const way = ["media", "input", "fault"].includes(through) ? "output" : through;
  const text = outputText(OUTPUTS[through]!(as), chance);
  return {
    method: "tools/call",
    params: { name: "told", arguments: { through: way, text, count: 7 } },
    repeated: { "mcp-param-through": way, "mcp-param-count": "7" },
  };
}

const STEPS = [
  ...[
    { do: "elicit" },
    { do: "elicit", timeout: 30 },
    { do: "elicit_url", url: "https://x.example" },
  ],
  ...[{ do: "sample" }, { do: "roots" }, { do: "inputs", keys: ["a", "b"] }, { do: "config" }],
  ...[
    { do: "sleep", ms: 20 },
    { do: "secret" },
    { do: "log" },
    { do: "progress" },
    { do: "random" },
  ],
  ...[{ do: "fail" }, { do: "http", url: "http://127.0.0.1:1/" }],
];

const CURIOUS = (as: Name): Json[] => [
  { name: "rounds", arguments: { rounds: 2 } },
  { name: "request_approval", arguments: { what: markOf(as) } },
  { name: "test_sampling", arguments: { prompt: markOf(as) } },
  { name: "test_input_required_result_multi_round", arguments: {} },
];

/** A call that asks its client for things. */
function asking(as: Name, chance: Chance, name = "plan"): Asked {
  if (chance.of(0.15))
    return told(as, chance, chance.pick(["input", "elicit", "inputs", "sample"]));
  if (chance.of(0.15)) return { method: "prompts/get", params: { name: "plan_prompt" } };
  if (chance.of(0.15)) return { method: "resources/read", params: { uri: "plan://resource" } };
  if (chance.of(0.2)) return { method: "tools/call", params: chance.pick(CURIOUS(as)) };
  const steps = Array.from({ length: 1 + chance.below(4) }, () => ({
    ...chance.pick(STEPS),
    message: markOf(as),
  }));
  return { method: "tools/call", params: { name, arguments: { steps } } };
}

/** A request that means something to the server. */
function anything({ chance, catalog }: Pick<Stage, "chance" | "catalog">, as: Name): Asked {
  const cursor = chance.of(0.2)
    ? { cursor: chance.pick([btoa("tools:0:5"), btoa("tools:1:1"), "", "x"]) }
    : {};
  switch (chance.below(11)) {
    case 0:
      return {
        method: chance.pick([
          "tools/list",
          "prompts/list",
          "resources/list",
          "resources/templates/list",
        ]),
        params: cursor,
      };
    case 1: {
      const { name, arguments: given = [] } = chance.pick(catalog.prompts);
      const values = (given as Json[]).map((one): [string, string] => [
        one["name"],
        name === "told"
          ? outputText({ messages: [{ role: "user", content: said(as) }] }, chance)
          : markOf(as),
      ]);
      return { method: "prompts/get", params: { name, arguments: Object.fromEntries(values) } };
    }
    case 2: {
      const contents = { contents: [{ uri: "told:x", text: markOf(as) }] };
      const uris = [
        ...catalog.resources.map(({ uri }) => uri as string),
        `told:${outputText(contents, chance)}`,
      ];
      return { method: "resources/read", params: { uri: chance.pick(uris) } };
    }
    case 3: {
      const completion = { completion: { values: ["a", markOf(as)], total: 2, hasMore: false } };
      const ref = chance.of(0.5)
        ? {
            type: "ref/prompt",
            name: chance.of(0.5) ? "told" : chance.pick(catalog.prompts)["name"],
          }
        : { type: "ref/resource", uri: chance.pick(catalog.resourceTemplates)["uriTemplate"] };
      return {
        method: "completion/complete",
        params: {
          ref,
          argument: { name: "text", value: outputText(completion, chance) },
          context: { arguments: { a: "b" } },
        },
      };
    }
    case 4:
      return told(as, chance);
    case 5:
      return asking(as, chance);
    case 6:
      return {
        method: chance.pick(METHODS),
        params: {
          taskId: "f".repeat(64),
          name: "greet",
          uri: "told:{}",
          level: "info",
          requestState: "e30",
          inputResponses: {},
        },
      };
    default: {
      let tool = chance.pick(catalog.tools);
      if (SLOW.test(tool["name"]) && chance.of(0.95))
        tool = chance.pick(catalog.tools.filter(({ name }) => !SLOW.test(name)));
      return {
        method: "tools/call",
        params: { name: tool["name"], arguments: fitting(tool["inputSchema"], as, chance) },
      };
    }
  }
}

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
