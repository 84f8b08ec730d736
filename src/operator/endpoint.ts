import { jsonHeaders } from "../http/body.ts";
import type { Installer } from "../installs/installer.ts";
import { callerKey } from "../core/callers.ts";
import type { OperatedStates, StateOwner } from "./operated-states.ts";
import { callerScope, scopeOf, type Scope } from "../state/state-scopes.ts";
import {
  installBuild,
  jsonAnswer,
  publishBuild,
  putPart,
  replayBuild,
  rollBack,
  showInstalled,
  removeServlet,
  unpublishBuild,
  type Operating,
} from "./builds.ts";
import { Fault, httpStatus, retryAfterOf } from "../core/errors.ts";
import type { CallerQuota } from "../core/model.ts";

/** The parts of the server that the operations use. */
interface Operated extends CallerQuota, Operating {
  states: OperatedStates;
  /** The id under which servlets keep state for the session with this id; undefined if it is not a session id. */
  sessionState(id: string): Promise<string | undefined>;
  /** Throws `unavailable` where nothing can be installed. */
  installer(): Installer;
}

/** Answers one kind of request below `/operator/`. */
type Operation = (request: Request, name: string, operated: Operated) => Promise<Response>;

/** An operation that needs the installer, and the operator's name. */
function withInstaller(
  work: (request: Request, name: string, to: Installer, by: Operating) => Promise<Response>,
): Operation {
  return (request, name, operated) => work(request, name, operated.installer(), operated);
}

/** By the first part of the path below `/operator/`, and the method; the second part is the name of a servlet, or a digest. */
const operations: Readonly<Record<string, Readonly<Record<string, Operation>>>> = {
  state: {
    GET: showState,
    PUT: importState,
    DELETE: deleteState,
  },
  "state-file": { GET: exportState },
  part: { PUT: withInstaller(putPart) },
  build: { PUT: withInstaller(publishBuild), DELETE: withInstaller(unpublishBuild) },
  replay: { POST: withInstaller(replayBuild) },
  servlet: {
    GET: withInstaller(showInstalled),
    PUT: withInstaller(installBuild),
    POST: withInstaller(rollBack),
    DELETE: withInstaller(removeServlet),
  },
};

/**
 * Answers a request of an operator: `/operator/WHAT/NAME`. `state` shows (GET), replaces (PUT) or deletes what a servlet
 * keeps in the scope that the query names, `state-file` gives it as a file; `part`, `build`,
 * `replay` and `servlet` are in builds.ts.
 */
export async function operatorEndpoint(request: Request, operated: Operated): Promise<Response> {
  await operated.admit?.();
  const [, , what = "", name = "", ...more] = new URL(request.url).pathname.split("/");
  const methods = Object.hasOwn(operations, what) ? operations[what]! : undefined;
  if (methods === undefined || more.some(Boolean)) throw notFound();
  if (!Object.hasOwn(methods, request.method)) {
    const allowed = Object.keys(methods).join(", ");
    const message = `${request.method} is not supported at ${what}. Use ${allowed}.`;
    throw new Fault("method_not_allowed", message, { data: allowed });
  }
  return methods[request.method]!(request, name, operated);
}

async function showState(request: Request, name: string, operated: Operated): Promise<Response> {
  const { servlet, scope } = await targetIn(request, name, operated);
  return jsonAnswer({ scope: named(scope), ...(await operated.states.summary(servlet, scope)) });
}

async function exportState(request: Request, name: string, operated: Operated): Promise<Response> {
  const { servlet, scope } = await targetIn(request, name, operated);
  const file = await operated.states.exported(servlet, scope);
  const headers = new Headers(jsonHeaders);
  headers.set("content-type", "application/octet-stream");
  return new Response(file, { headers });
}

async function importState(request: Request, name: string, operated: Operated): Promise<Response> {
  const { servlet, scope } = await targetIn(request, name, operated);
  if (request.body === null)
    throw new Fault(
      "invalid_request",
      "The body is empty. Send a file that `npm run servlets -- state export` has written.",
    );
  const filesOnly = new URL(request.url).searchParams.has("files");
  const given = { file: request.body, filesOnly };
  const imported = await operated.states.imported(servlet, scope, given);
  await operated.acted(`Replaced the state of ${name} for ${named(scope)}.`);
  return jsonAnswer({ scope: named(scope), ...imported });
}

async function deleteState(request: Request, name: string, operated: Operated): Promise<Response> {
  const caller = new URL(request.url).searchParams.get("caller");
  if (caller !== null) {
    if (name !== "") {
      throw new Fault(
        "invalid_request",
        `\`caller\` deletes what all servlets keep, so it goes without the name of one. For ${name} alone, use the scope caller:${caller}.`,
      );
    }
    const servlets = await operated.states.forgetCaller(keyOf(caller));
    await operated.acted(`Deleted what all servlets keep for ${caller}.`);
    return jsonAnswer({ servlets });
  }
  const { servlet, scope } = await targetIn(request, name, operated);
  await operated.states.forget(servlet, scope);
  await operated.acted(`Deleted the state of ${name} for ${named(scope)}.`);
  return jsonAnswer({ scope: named(scope) });
}

/** The servlet of this name in a URL, and the scope that the query names; without one, that of the operator's own calls. */
async function targetIn(
  { url }: Request,
  name: string,
  { states, principal, sessionState }: Operated,
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
    return { servlet, scope: ["session", (await sessionState(id)) ?? noSession()] };
  if (kind === "caller" && state !== "server" && id !== undefined)
    return { servlet, scope: callerScope(state, keyOf(id)) };
  throw new Fault(
    "invalid_request",
    `The servlet ${servlet.name} has no scope ${asked}. It keeps state for ${SCOPES[state]}.`,
  );
}

function noSession(): never {
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

/** A scope in the form of `--scope`. */
const named = ([kind, id]: Scope): string =>
  id === undefined ? kind : `${kind === "sessionless" ? "caller" : kind}:${id}`;

/** The key of a caller by its name in the log. */
const keyOf = (caller: string): string =>
  caller.startsWith("address ") ? caller : (callerKey({ name: caller }) ?? "");

const notFound = () =>
  new Fault(
    "method_not_found",
    `Not found. Expected /operator/OPERATION/NAME, where OPERATION is one of ${Object.keys(operations).join(", ")}.`,
  );

/** The response for a fault: its HTTP status, and `{error}` with its message. */
export function operatorRefusal(fault: Fault, challenge: string | undefined): Response {
  const { message, data } = fault;
  const headers = new Headers(jsonHeaders);
  if (challenge !== undefined) headers.set("www-authenticate", challenge);
  if (fault.code === "method_not_allowed") headers.set("allow", String(data));
  const retryAfter = retryAfterOf(fault);
  if (retryAfter !== undefined) headers.set("retry-after", retryAfter);
  const status = httpStatus(fault) === 200 ? 400 : httpStatus(fault);
  return new Response(JSON.stringify({ error: message }), { status, headers });
}
