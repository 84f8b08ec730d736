import { Refusal } from "../refusal.ts";
import type { Trust } from "../sources/add.ts";
import type { HyperConfig } from "./config.ts";

/**
 * Who must have signed the images of a config. hyper-mcp searches an identity for a regular expression; here a glob must
 * match the whole identity.
 *
 * Throws a `Refusal` for an expression that no glob expresses.
 */
export function trustOf({ oci = {} }: HyperConfig): Trust {
  if (oci.insecure_skip_signature) return { allowUnsigned: true };
  const key = typeof oci.cert_email === "string" ? "cert_email" : "cert_url";
  const { [key]: identity, cert_issuer: issuer } = oci;
  // Without an identity hyper-mcp accepts anybody's signature, which proves nothing: the user must name the signer.
  if (typeof identity !== "string" || typeof issuer !== "string") return {};
  return {
    identity: globOf(`oci.${key}`, identity, "--identity"),
    issuer: globOf("oci.cert_issuer", issuer, "--issuer"),
  };
}

function globOf(member: string, expression: string, option: string): string {
  const inner = expression.replace(/^\^/, "").replace(/\$$/, "").replace(/^\\A/, "");
  const parts = inner.match(/\.\*|\\[^A-Za-z0-9]|[^\\]/g) ?? [];
  if (parts.join("") !== inner || parts.some((part) => "*+?()[]{}|^$".includes(part))) {
    throw new Refusal(
      `${member}: a regular expression with more than .* and \\. cannot be mapped: replace it by ${option}`,
    );
  }
  return parts.map((part) => (part === ".*" ? "*" : part.replace(/^\\/, ""))).join("");
}
