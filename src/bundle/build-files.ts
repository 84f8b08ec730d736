import type { Build } from "../builds/build.ts";
import type { Member } from "./bundle.ts";

/** The build of a servlet, and its code by the digests of its parts. */
export function buildOf(member: Member): {
  build: Build;
  code: Map<string, Uint8Array<ArrayBuffer>>;
} {
  const { found, dialect, prepared, parts, hash, startsOnce, lists, definitions } = member;
  const { $schema: _, ...manifest } = found.manifest;
  const { wasm, base, patch, exports, unrestorable } = prepared;
  const code = new Map<string, Uint8Array<ArrayBuffer>>([[parts.module, wasm]]);
  if (base !== undefined) code.set(parts.base!, base.bytes);
  if (patch !== undefined) code.set(parts.patch!, patch.bytes);
  const restorable = unrestorable === undefined;
  const known = { name: found.name, dialect, hash, parts, startsOnce, restorable, exports };
  const offered = { ...(lists && { lists }), ...(definitions && { definitions }) };
  return { build: { ...known, manifest, ...offered }, code };
}
