import * as z from "zod/mini";
import type { Fault } from "../errors.ts";
import type { Json } from "../model.ts";

/** Paths of the metadata: for the MCP endpoint, and for clients that look at the root. */
const METADATA_PATH = "/.well-known/oauth-protected-resource/mcp";
export const METADATA_PATHS = [METADATA_PATH, "/.well-known/oauth-protected-resource"];

/** The URL of the MCP endpoint, for which tokens are issued. https://www.rfc-editor.org/rfc/rfc8707 */
export const resourceOf = (request: Request): string => new URL("/mcp", request.url).href;

/** The issuers of tokens for the MCP endpoint, and the scopes to request. */
interface Protection {
  name: string;
  authorizationServers: readonly string[];
  scopes: readonly string[];
}

/** https://www.rfc-editor.org/rfc/rfc9728#section-2 */
export function metadataOf(request: Request, protection: Protection): Json {
  return {
    resource: resourceOf(request),
    resource_name: protection.name,
    authorization_servers: protection.authorizationServers,
    bearer_methods_supported: ["header"],
    ...(protection.scopes.length === 0 ? {} : { scopes_supported: protection.scopes }),
  };
}

const needSchema = z.object({ scope: z.string() });

/**
 * The `WWW-Authenticate` header for a refused request. `oauth` has the scopes that some issuer requires; absent
 * without OAuth. A fault's data may name the `scope` that this request needs.
 * https://www.rfc-editor.org/rfc/rfc6750#section-3, https://www.rfc-editor.org/rfc/rfc9728#section-5.1
 */
export function challengeOf(
  request: Request,
  fault: Fault,
  oauth?: { scopes: readonly string[] },
): string {
  const needed = needSchema.safeParse(fault.data).data?.scope ?? oauth?.scopes.join(" ") ?? "";
  const hasToken = request.headers.has("authorization");
  const error = fault.code === "insufficient_scope" ? fault.code : "invalid_token";
  const parts = {
    ...(oauth === undefined && { realm: "mcp" }),
    ...(hasToken ? { error, error_description: fault.message } : {}),
    ...(needed === "" ? {} : { scope: needed }),
    ...(oauth && { resource_metadata: new URL(METADATA_PATH, request.url).href }),
  };
  return `Bearer ${Object.entries(parts)
    .map(([name, value]) => `${name}="${value.replaceAll(/[^ !#-[\]-~]/g, "'")}"`)
    .join(", ")}`;
}
