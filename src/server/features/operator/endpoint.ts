/** The endpoint of the operators' commands: `/operator/OPERATION/NAME`. */
import { Fault, httpStatus, retryAfterOf } from "../../kernel/core/errors.ts";
import type { CallerQuota } from "../../kernel/core/model.ts";
import { jsonHeaders } from "../../kernel/http/body.ts";
import type { Operating, Operations } from "../../kernel/http/operations.ts";

/** Answers an operator's request with the operation of a feature. */
export async function operatorEndpoint(
  request: Request,
  operations: Operations,
  operating: Operating & CallerQuota,
): Promise<Response> {
  await operating.admit?.();
  const [, , what = "", name = "", ...more] = new URL(request.url).pathname.split("/");
  const methods = Object.hasOwn(operations, what) ? operations[what]! : undefined;
  if (methods === undefined || more.some(Boolean)) throw notFound(operations);
  if (!Object.hasOwn(methods, request.method)) {
    const allowed = Object.keys(methods).join(", ");
    const message = `${request.method} is not supported at ${what}. Use ${allowed}.`;
    throw new Fault("method_not_allowed", message, { data: allowed });
  }
  return methods[request.method]!(request, name, operating);
}

const notFound = (operations: Operations) =>
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
