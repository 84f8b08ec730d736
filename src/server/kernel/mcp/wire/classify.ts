import { Fault } from "../../core/errors.ts";
import { isObject } from "../../core/model.ts";
import { isNotification } from "./message.ts";

/** Revisions of MCP that are served, newest first. */
export const MODERN_VERSIONS = ["2026-07-28"];
export const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/** The version of a client that sends no version header. */
const DEFAULT_LEGACY_VERSION = "2025-03-26";

/** True for a revision without sessions. */
export const isModern = (version: string | undefined): boolean =>
  version !== undefined && MODERN_VERSIONS.includes(version);

export const PROTOCOL_VERSION_META = "io.modelcontextprotocol/protocolVersion";

/** The era of a message, and its revision. */
type Era = { era: "modern"; version: string } | { era: "legacy"; version: string };

/**
 * Tells the eras apart, by the body first. `version` is the `MCP-Protocol-Version` header.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
 *
 * Throws `invalid_meta` for a modern header without a version in the body, `invalid_request` for an unknown version in
 * the header.
 */
export function classify(body: unknown, version: string | undefined): Era {
  const claim = claimedVersion(body);
  if (claim !== undefined && !LEGACY_VERSIONS.includes(claim))
    return { era: "modern", version: claim };
  // Its body names the version. A client that initializes again may still send the headers of its last session.
  if (isInitialize(body)) return { era: "legacy", version: DEFAULT_LEGACY_VERSION };
  if (version === undefined) return { era: "legacy", version: claim ?? DEFAULT_LEGACY_VERSION };
  if (LEGACY_VERSIONS.includes(version)) return { era: "legacy", version };
  // Revisions are dates, so one after the last legacy one is modern.
  if (/^\d{4}-\d{2}-\d{2}$/.test(version) && version > LEGACY_VERSIONS[0]!) {
    if (isNotification(body)) return { era: "modern", version };
    throw new Fault(
      "invalid_meta",
      `A request of ${version} must name its version in params._meta["${PROTOCOL_VERSION_META}"].`,
    );
  }
  throw new Fault(
    "invalid_request",
    `Unsupported MCP-Protocol-Version header. Supported are ${[...MODERN_VERSIONS, ...LEGACY_VERSIONS].join(", ")}.`,
  );
}

/** True for a request that begins a session. */
export const isInitialize = (body: unknown): boolean =>
  isObject(body) && body["method"] === "initialize" && "id" in body;

function claimedVersion(body: unknown): string | undefined {
  if (!isObject(body) || !isObject(body["params"])) return undefined;
  const meta = body["params"]["_meta"];
  if (!isObject(meta)) return undefined;
  const claim = meta[PROTOCOL_VERSION_META];
  return typeof claim === "string" ? claim : undefined;
}
