/**
 * Deviations from the protocol or a schema that the server accepts from clients, one row each: only
 * unambiguous ones, and never where the check protects security.
 *
 * | function | clients | accepted | why it has one meaning |
 * | --- | --- | --- | --- |
 * | `checkWithoutNulls` | FastMCP (forms); mcp-use, CrewAI (arguments) | null for an optional member whose schema does not allow null | null is not a valid value, so the member is absent |
 * | `checkWithoutNulls` (arguments) | clients whose models write lists and objects as JSON text | the text, if its schema does not allow a text | the text is not a valid value, but the list or object in it is |
 * | `isNotification` (mcp/wire/message.ts) | go-sdk 1.8 | a modern notification without `_meta` or other parts | a modern notification has no effect |
 * | `checkHeaders` (mcp/wire/headers.ts) | FastMCP | `tasks/*` without `Mcp-Name`; a different one is refused | the body names the task |
 * | `listen` (features/sessions/session-streams.ts) | go-sdk up to 2025-06-18 | a second standalone stream, which replaces the first | the client has lost the first one |
 * | `describedClient` (mcp/wire/params.ts) | Claude Code in VS Code and the desktop app (claude-code#79174, #89858), Codex's app server (codex#45621), if `LINK_CLIENTS` or `Prefer-Links` says so | a declared `elicitation` that declines unseen questions: they go by a link | the operator or the user says so |
 * | routes (app.ts) | all | `/mcp/` | no other endpoint has that name |
 * | `toEndpoint` (features/sign-in/token-requests.ts) | Python SDK 1.30 and 2.3 | Basic and an equal `client_id` in the body; a different one is refused | both name the same client |
 * | `toEndpoint` | FastMCP after a restart; 2025-03-26 | `/token`, `/register` | that revision defines them as the defaults |
 * | `registrationOf` (features/sign-in/token-requests.ts) | clients that write every member | members that are null or empty; grant types that no client can use here, beside others | they say nothing; a server may replace what is asked |
 * | `unified` (features/sign-in/authorization-server.ts), `toEndpoint` | clients that join scopes by tabs or lines | any white space between scopes | no scope contains any |
 */
import { isObject } from "./model.ts";
import { parseJson } from "./text.ts";

/** A place at which a value does not match its schema. */
interface Issue {
  /** Names and indices, outermost first. */
  path: readonly string[];
}

/**
 * Checks a value. If that fails, removes the rejected nulls, parses the rejected JSON texts of lists and objects, and
 * checks once more. Returns the valid value, or the issues of the original. A required member that is null stays an
 * issue.
 */
export function checkWithoutNulls<I extends Issue, V extends object>(
  check: ((value: unknown) => readonly I[] | undefined) | undefined,
  value: V,
): { value: V; issues?: readonly I[] } {
  const issues = check?.(value);
  if (check === undefined || issues === undefined) return { value };
  const stripped = structuredClone(value);
  const changed = issues.filter(({ path }) => changeRejected(stripped, path));
  return changed.length > 0 && check(stripped) === undefined
    ? { value: stripped }
    : { value, issues };
}

/**
 * Removes the member at this path if it is null, or parses it if it is the JSON text of a list or object. Returns
 * whether it did.
 */
function changeRejected(value: unknown, path: readonly string[]): boolean {
  const key = path.at(-1);
  let parent = value;
  for (const step of path.slice(0, -1))
    parent = (parent as Record<string, unknown> | undefined)?.[step];
  if (key === undefined || typeof parent !== "object" || parent === null) return false;
  const members = parent as Record<string, unknown>;
  if (members[key] === null && isObject(parent)) return delete members[key];
  const written = valueIn(members[key]);
  if (typeof written !== "object" || written === null) return false;
  members[key] = written;
  return true;
}

/** The list or object in a JSON text; undefined for any other value. */
function valueIn(text: unknown): unknown {
  if (typeof text !== "string" || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
