/** The kinds of calls whose costs are measured. Each act is one call with all that belongs to it. */
import { setTimeout as pause } from "node:timers/promises";
import { LegacyClient } from "../legacy-client.ts";
import { modern } from "../kinds.ts";
import { partsOf, wire, type Connection } from "../load.ts";
import { eventsOf, headersOf, post, sessionAt, until } from "../sessions.ts";

type Json = Record<string, any>;

/** A client of a server: one of several users, with a connection of their own. */
export interface User {
  port: number;
  connection: Connection;
  /** Their number. */
  nth: number;
}

export type Act = (user: User) => Promise<void>;

const VERSION = "2025-11-25";
const ASKING = { elicitation: {} };
const LASTING = { ...ASKING, extensions: { "io.modelcontextprotocol/tasks": {} } };
const ADA = { action: "accept", content: { name: "Ada" } };
const GREET = { name: "Ada" };
const LOOKS = 10;
const CALLS = [1, 2, 3];

function demandGreeting(result: Json): void {
  if (!JSON.stringify(result).includes("Hello, ")) throw new Error(JSON.stringify(result));
}

/** Sends a request of the revision without sessions; gives its result. */
async function send(user: User, method: string, params: Json, capabilities = {}): Promise<Json> {
  const name = params["name"] ?? params["taskId"];
  const { headers, body } = modern(method, params, name, capabilities);
  // Each user has an address of their own, by which they are told apart.
  const address = { "cf-connecting-ip": `203.0.113.${user.nth + 1}` };
  const answer = await user.connection.send(wire({ headers: { ...headers, ...address }, body }));
  const { status, body: text } = partsOf(answer);
  const { result, error } = JSON.parse(text.slice(text.indexOf("{"))) as Json;
  if (error !== undefined) throw new Error(`${status}: ${JSON.stringify(error)}`);
  return result;
}

const call =
  (name: string, given: Json, isRight: (result: Json) => void = demandGreeting): Act =>
  async (user) =>
    isRight(await send(user, "tools/call", { name, arguments: given }));

function demandCount({ content }: Json): void {
  if (!/^\d+$/.test(content[0].text)) throw new Error(JSON.stringify(content));
}

async function session({ connection }: User): Promise<void> {
  const client = new LegacyClient(connection, VERSION);
  await client.begin();
  demandGreeting(await client.request("tools/call", { name: "greet", arguments: GREET }));
  await client.end();
}

async function ask(user: User): Promise<void> {
  const params = { name: "ask", arguments: {} };
  const { inputRequests, requestState } = await send(user, "tools/call", params, ASKING);
  const inputResponses = { [Object.keys(inputRequests)[0]!]: ADA };
  const answered = { ...params, requestState, inputResponses };
  demandGreeting(await send(user, "tools/call", answered, ASKING));
}

/** Asks in a session, whose client leaves, and comes back with the answer. */
async function askInSession({ port }: User): Promise<void> {
  const id = 1;
  const begun = await sessionAt(port, ASKING);
  const request = { id, method: "tools/call", params: { name: "ask", arguments: {} } };
  const events = eventsOf(await post(port, request, begun));
  const { lastId, message } = await until(events, ({ method }) => method === "elicitation/create");
  await events.return(undefined);
  await post(port, { id: message["id"], result: ADA }, begun);
  const headers = { ...headersOf(begun), accept: "text/event-stream", "last-event-id": lastId };
  const url = `http://127.0.0.1:${port}/mcp`;
  const others = eventsOf(await fetch(url, { headers }));
  const { message: answer } = await until(others, (one) => one["id"] === id && !one["method"]);
  await others.return(undefined);
  demandGreeting(answer);
  const { status } = await fetch(url, { method: "DELETE", headers: headersOf(begun) });
  if (status >= 300) throw new Error(`DELETE: ${status}`);
}

async function task(user: User): Promise<void> {
  const params = { name: "ask_later", arguments: {} };
  const { taskId } = await send(user, "tools/call", params, LASTING);
  const look = () => send(user, "tasks/get", { taskId }, LASTING);
  let found: Json = {};
  for (let nth = 0; nth < LOOKS || found["status"] === "working"; nth++) {
    if (found["status"] === "working") await pause(20);
    found = await look();
  }
  const inputResponses = { [Object.keys(found["inputRequests"])[0]!]: ADA };
  await send(user, "tasks/update", { taskId, inputResponses }, LASTING);
  do {
    await pause(20);
    found = await look();
  } while (found["status"] === "working" || found["status"] === "input_required");
  demandGreeting(found);
}

const scriptOf = (tools: string) =>
  `const all = []; for (const one of ${JSON.stringify(CALLS)}) all.push(await ${tools}.greet({ name: String(one) }));`;

/** What is measured of this project, by kind. */
export const OURS: Record<string, Act> = {
  plain: call("greet", GREET),
  fetch: call("fetch", {}),
  session,
  stateful: call("counting-next", {}, demandCount),
  ask,
  askInSession,
  task,
  code: call("run_code", { code: `${scriptOf("tools")} all.join()` }),
};

const sessions = new WeakMap<Connection, LegacyClient>();

/** A call in a session that the user has. */
const callInSession =
  (name: string, given: Json, isRight: (result: Json) => void = demandGreeting): Act =>
  async ({ connection }) => {
    let client = sessions.get(connection);
    if (client === undefined) {
      client = new LegacyClient(connection, VERSION);
      await client.begin();
      sessions.set(connection, client);
    }
    isRight(await client.request("tools/call", { name, arguments: given }));
  };

/** What is measured of the others, by kind. */
export const PEERS: Record<string, Act> = {
  plain: callInSession("greet", GREET),
  fetch: callInSession("fetch", {}),
  session,
  stateful: callInSession("next", {}, demandCount),
  code: callInSession("code", {
    code: `async () => { ${scriptOf("codemode")} return all.join(); }`,
  }),
};

/** Asks a question that is not answered, until the server gives up. */
export async function askInVain({ port }: User): Promise<void> {
  const begun = await sessionAt(port, ASKING);
  const request = { id: 1, method: "tools/call", params: { name: "ask", arguments: {} } };
  const events = eventsOf(await post(port, request, begun));
  const { message } = await until(events, ({ id, method }) => id === 1 && method === undefined);
  if (!JSON.stringify(message).includes("timed out")) throw new Error(JSON.stringify(message));
  await fetch(`http://127.0.0.1:${port}/mcp`, { method: "DELETE", headers: headersOf(begun) });
}
