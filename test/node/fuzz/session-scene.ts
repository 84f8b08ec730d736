import { changedText } from "./change.ts";
import { ABLE, draftOf, LEGACY, legacy, markOf, type Json } from "./draft.ts";
import { anything, asking, idOf } from "./requests.ts";

import { answerTo, type Sending, type Stage } from "./stage.ts";

/** A session: its calls, its streams, what it is asked, and its end. */
export async function session(stage: Stage): Promise<void> {
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
