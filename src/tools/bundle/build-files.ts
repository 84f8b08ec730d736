import type { Build } from "../../server/features/installs/build.ts";
import type { Member } from "./bundle.ts";
import type { Cached } from "./wasm/prepare.ts";

/** A build with its code and files, by digest. */
export interface BuildFiles {
  build: Build;
  code: Map<string, Cached>;
}

export function buildOf(member: Member): BuildFiles {
  const { found, dialect, prepared, parts, hash, startsOnce, neverWaits, mayAsk } = member;
  const { lists, definitions, archives, views, skills } = member;
  const { $schema: _, ...manifest } = found.manifest;
  const { path, wasm, base, packages, patch, exports, unrestorable } = prepared;
  const code = new Map<string, Cached>([[parts.module, { path, bytes: wasm }]]);
  if (base !== undefined) code.set(parts.base!, base);
  if (packages !== undefined) code.set(parts.packages!, packages);
  if (patch !== undefined) code.set(parts.patch!, patch);
  for (const { digest, path: file, bytes } of [...archives, ...views, ...(skills ? [skills] : [])])
    code.set(digest, { path: file, bytes });
  const files = Object.fromEntries(archives.map(({ host, digest }) => [host, digest]));
  const documents = Object.fromEntries(views.map((view) => [view.name, view.digest]));
  const restorable = unrestorable === undefined;
  const known = {
    name: found.name,
    dialect,
    hash,
    startsOnce,
    restorable,
    neverWaits,
    mayAsk,
    exports,
  };
  const listed = { ...(lists && { lists }), ...(definitions && { definitions }) };
  return {
    build: {
      ...known,
      parts: {
        ...parts,
        ...(archives.length > 0 && { files }),
        ...(views.length > 0 && { views: documents }),
        ...(skills && { skills: skills.digest }),
      },
      ...(skills && { skills: skills.skills }),
      manifest,
      ...listed,
    },
    code,
  };
}
