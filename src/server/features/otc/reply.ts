import { jsonHeaders, textResponse } from "../../kernel/http/body.ts";
import { httpStatus, retryAfterOf, type Fault } from "../../kernel/core/errors.ts";
import { LATEST } from "./request.ts";

export const jsonResponse = (body: string, status = 200): Response =>
  textResponse(body, { status, headers: jsonHeaders });

/**
 * The error response to a request that was refused before its tool was called.
 * https://github.com/OpenToolCalling/Specification/blob/45b1208/spec/http/1.0/openapi.json
 */
export function errorResponse(fault: Fault, $schema = LATEST): Response {
  const { message, data } = fault;
  const status = statusOf(fault);
  const details = status === 422 && { parameter_errors: data };
  const response = jsonResponse(JSON.stringify({ $schema, message, ...details }), status);
  if (status === 405) response.headers.set("allow", String(data));
  const retryAfter = retryAfterOf(fault);
  if (retryAfter !== undefined) response.headers.set("retry-after", retryAfter);
  if (status === 401) response.headers.set("www-authenticate", 'Bearer realm="tools"');
  return response;
}

/** Statuses for the faults that MCP reports in a result. */
function statusOf(fault: Fault): number {
  if (fault.code === "invalid_params") return 422;
  return fault.code === "not_found" ? 400 : httpStatus(fault);
}
