import type { CallRecords } from "./call-record.ts";
import { checkWithoutNulls } from "../../kernel/core/deviations.ts";
import { readJson } from "../../kernel/http/body.ts";
import type { Tasks } from "../../kernel/calls/task-object.ts";
import { Fault, report } from "../../kernel/core/errors.ts";
import type { Principal, CallerQuota } from "../../kernel/core/model.ts";
import { oncePer } from "../../kernel/core/once-per.ts";
import { traceInHeaders, type Trace } from "../../kernel/observe/trace-context.ts";
import { isListening } from "../../kernel/observe/spans.ts";
import type { Catalog } from "../../kernel/servlets/catalog.ts";
import type { Issue } from "../../kernel/schema/schema.ts";
import { describeIssues } from "../../kernel/servlets/checks.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { hiding } from "../../kernel/core/redaction.ts";
import { NOBODY } from "../../kernel/asks/links.ts";
import { runUnrecorded, type CallToolResponse } from "./call.ts";
import { directoryOf, type Offer } from "./directory.ts";
import { errorResponse, jsonResponse } from "./reply.ts";
import {
  allCredentials,
  canonical,
  LATEST,
  credentialsFor,
  requestIn,
  schemaVersionOf,
  type CallToolRequest,
} from "./request.ts";

interface OtcDependencies extends CallerQuota {
  /** The servlets that the principal may use. */
  registry: Registry;
  principal: Principal;
  /** The calls with a `call_id`; absent where calls are not recorded. */
  records?: CallRecords | undefined;
  /** The principal's tasks, and the origin of the pages on which its user answers; absent as in `Exchange`. */
  tasks?: Tasks | undefined;
  pages?: string | undefined;
}

/** https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#52-tool-discovery */
export async function listTools(
  request: Request,
  dependencies: OtcDependencies,
): Promise<Response> {
  let $schema = LATEST;
  try {
    demandMethod(request, "GET");
    await dependencies.admit?.();
    if (request.body !== null) $schema = schemaVersionOf(await readJson(request));
    const list = listOf(await dependencies.registry.catalog());
    // OXP, the later name of the protocol, calls the list `items`.
    return jsonResponse(`{"$schema":${JSON.stringify($schema)},"tools":${list},"items":${list}}`);
  } catch (error) {
    return errorResponse(report(error), $schema);
  }
}

/** https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#53-tool-execution */
export async function callTool(request: Request, dependencies: OtcDependencies): Promise<Response> {
  let $schema = LATEST;
  let asked: CallToolRequest = { tool_id: "" };
  try {
    demandMethod(request, "POST");
    const body = await readJson(request);
    $schema = schemaVersionOf(body);
    asked = requestIn(body);
    const headers = traceInHeaders(request.headers);
    const trace = isListening() ? { ...headers, isRecorded: true } : headers;
    const result = await call(asked, { ...dependencies, trace }, () => request.signal);
    return jsonResponse(JSON.stringify({ $schema, result }));
  } catch (error) {
    return errorResponse(report(error, hiding(allCredentials(asked))), $schema);
  }
}

async function call(
  asked: CallToolRequest,
  {
    registry,
    principal,
    records,
    tasks,
    pages,
    trace,
    admit,
  }: OtcDependencies & { trace: Trace | undefined },
  signal: () => AbortSignal,
): Promise<CallToolResponse> {
  const { call_id, trace_id } = asked;
  await admit?.();
  const { entry, definition } = await offerOf(asked.tool_id, registry);
  await admit?.(entry.tool.name);
  const credentials = credentialsFor(asked, definition);
  const { value: input, issues } = checkWithoutNulls(entry.input, asked.input ?? {});
  if (issues !== undefined) {
    const { name: subject } = entry.tool;
    const message = `Tool input does not match the input schema of ${definition.id}: ${describeIssues(issues)}.`;
    const called = { id: call_id ?? "", principal, client: NOBODY, subject };
    registry.tellMisfit(entry, called, message);
    throw new Fault("invalid_params", message, { data: byParameter(issues) });
  }
  const about = { trace_id, principal, pages, ...(trace !== undefined && { trace }) };
  const tool = { ...about, tool: definition.id, input, credentials };
  if (call_id === undefined || records === undefined) {
    return runUnrecorded(
      { registry, tasks },
      { ...tool, call_id: call_id ?? crypto.randomUUID() },
      signal,
    );
  }
  const result = await records.run({ ...tool, call_id }, canonical(asked));
  if (result !== undefined) return result;
  throw new Fault(
    "invalid_request",
    "This call_id was used before for a different request. Use a new call_id.",
  );
}

/** Throws `not_found`, or `insufficient_scope` for a tool that the caller may not use. */
async function offerOf(id: string, registry: Registry): Promise<Offer> {
  try {
    return directoryOf(await registry.catalog()).find(id);
  } catch (error) {
    registry.access.demand(directoryOf(await registry.whole.catalog()).find(id).entry);
    throw error;
  }
}

function byParameter(issues: readonly Issue[]): Record<string, string> {
  const named = issues.flatMap(({ path: [parameter, ...path], message }) => {
    const place = path.length > 0 ? `${path.join(".")} ` : "";
    return parameter === undefined ? [] : [{ parameter, text: place + message }];
  });
  const grouped = Map.groupBy(named, ({ parameter }) => parameter);
  return Object.fromEntries(
    [...grouped].map(([parameter, all]) => [parameter, all.map(({ text }) => text).join("; ")]),
  );
}

/** The list as JSON. It is the same for all callers, so it is serialized once. */
const listOf = oncePer((catalog: Catalog) => JSON.stringify(directoryOf(catalog).definitions));

function demandMethod({ method }: Request, wanted: string): void {
  if (method !== wanted && !(method === "HEAD" && wanted === "GET")) {
    throw new Fault("method_not_allowed", `Method ${method} is not allowed. Use ${wanted}.`, {
      data: wanted,
    });
  }
}
