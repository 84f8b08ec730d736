import type { Build } from "../builds/build.ts";
import type { Member } from "./bundle.ts";
import type { Cached } from "./wasm/prepare.ts";

/** A build, and the files of its code by their digests. */
export interface BuildFiles {
  build: Build;
  code: Map<string, Cached>;
}

/** The build of a servlet. */
export function buildOf(member: Member): BuildFiles {
  const { found, dialect, prepared, parts, hash, startsOnce, lists, definitions } = member;
  const { $schema: _, ...manifest } = found.manifest;
  const { path, wasm, base, patch, exports, unrestorable } = prepared;
  const code = new Map([[parts.module, { path, bytes: wasm }]]);
  if (base !== undefined) code.set(parts.base!, base);
  if (patch !== undefined) code.set(parts.patch!, patch);
  const restorable = unrestorable === undefined;
  const known = { name: found.name, dialect, hash, parts, startsOnce, restorable, exports };
  const listed = { ...(lists && { lists }), ...(definitions && { definitions }) };
  return { build: { ...known, manifest, ...listed }, code };
}
