/** Operators' operations on the state of servlets. */
import { Fault } from "../../kernel/core/errors.ts";
import { jsonHeaders } from "../../kernel/http/body.ts";
import {
  callerKeyOf,
  jsonAnswer,
  operationWith,
  type Operating,
  type Operations,
} from "../../kernel/http/operations.ts";
import type { StateOwner } from "../../kernel/servlets/bundle.ts";
import type { OperatedStates } from "./operated-states.ts";
import { callerScope, scopeOf, type Scope } from "./state-scopes.ts";

/** The parts of the server that these operations use. */
interface StateParts {
  states: OperatedStates;
  /** The id of the session's state, by session id; undefined if it is not a session id. */
  sessionState(id: string): Promise<string | undefined>;
}

/**
 * `state` shows (GET), replaces (PUT) or deletes a servlet's state in the scope of the query; `state-file` exports
 * it as a file.
 */
export function stateOperations(parts: StateParts): Operations {
  const by = operationWith(() => parts);
  return {
    state: { GET: by(showState), PUT: by(importState), DELETE: by(deleteState) },
    "state-file": { GET: by(exportState) },
  };
}

async function showState(
  request: Request,
  name: string,
  by: Operating & StateParts,
): Promise<Response> {
  const { servlet, scope } = await targetIn(request, name, by);
  return jsonAnswer({ scope: named(scope), ...(await by.states.summary(servlet, scope)) });
}

async function exportState(
  request: Request,
  name: string,
  by: Operating & StateParts,
): Promise<Response> {
  const { servlet, scope } = await targetIn(request, name, by);
  const file = await by.states.exported(servlet, scope);
  const headers = new Headers(jsonHeaders);
  headers.set("content-type", "application/octet-stream");
  return new Response(file, { headers });
}

async function importState(
  request: Request,
  name: string,
  by: Operating & StateParts,
): Promise<Response> {
  const { servlet, scope } = await targetIn(request, name, by);
  if (request.body === null)
    throw new Fault(
      "invalid_request",
      "The body is empty. Send a file that `npm run servlets -- state export` has written.",
    );
  const filesOnly = new URL(request.url).searchParams.has("files");
  const given = { file: request.body, filesOnly };
  const imported = await by.states.imported(servlet, scope, given);
  await by.recordAct(`Replaced the state of ${name} for ${named(scope)}.`);
  return jsonAnswer({ scope: named(scope), ...imported });
}

async function deleteState(
  request: Request,
  name: string,
  by: Operating & StateParts,
): Promise<Response> {
  const { servlet, scope } = await targetIn(request, name, by);
  await by.states.forget(servlet, scope);
  await by.recordAct(`Deleted the state of ${name} for ${named(scope)}.`);
  return jsonAnswer({ scope: named(scope) });
}

/** The servlet named in a URL, and the scope in its query, by default that of the operator's own calls. */
async function targetIn(
  { url }: Request,
  name: string,
  { states, principal, sessionState }: Operating & StateParts,
): Promise<{ servlet: StateOwner; scope: Scope }> {
  const owners = await states.owners();
  const servlet = owners.find((one) => encodeURIComponent(one.name) === name);
  if (servlet === undefined) {
    throw new Fault(
      "method_not_found",
      `There is no servlet ${name}. For the names: npm run servlets -- list`,
    );
  }
  const { state = "call" } = servlet;
  if (state === "call") {
    throw new Fault(
      "invalid_request",
      `The servlet ${servlet.name} keeps no state: its servlet.json has no "state".`,
    );
  }
  const asked = new URL(url).searchParams.get("scope");
  if (asked === null) return { servlet, scope: scopeOf(servlet, { principal }) };
  const [, kind, id] = /^(caller|session|server)(?::(.+))?$/s.exec(asked) ?? [];
  if (kind === "server" && state === "server" && id === undefined)
    return { servlet, scope: ["server"] };
  if (kind === "session" && state === "session" && id !== undefined)
    return { servlet, scope: ["session", (await sessionState(id)) ?? unknownSessionId()] };
  if (kind === "caller" && state !== "server" && id !== undefined)
    return { servlet, scope: callerScope(state, callerKeyOf(id)) };
  throw new Fault(
    "invalid_request",
    `The servlet ${servlet.name} has no scope ${asked}. It keeps state for ${SCOPES[state]}.`,
  );
}

function unknownSessionId(): never {
  throw new Fault(
    "invalid_request",
    "The session id is not one of this server, or was cut off. Give the whole Mcp-Session-Id.",
  );
}

const SCOPES = {
  server: "server",
  caller: "caller:NAME",
  session: "session:ID and, for clients without sessions, caller:NAME",
};

/** A scope as written in `--scope`. */
const named = ([kind, id]: Scope): string =>
  id === undefined ? kind : `${kind === "sessionless" ? "caller" : kind}:${id}`;
