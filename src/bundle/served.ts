import type { PreparedServlet } from "../servlets/bundle.ts";
import type { Member } from "./bundle.ts";

/** A servlet of the bundle in the form that the server runs. It has no stored lists, so the servlet itself is asked for them. */
export async function servedFrom(member: Member): Promise<PreparedServlet> {
  const { found, dialect, prepared, startsOnce, archives } = member;
  return {
    name: found.name,
    dialect,
    module: await WebAssembly.compile(prepared.wasm),
    ...(prepared.base && { base: prepared.base.bytes.buffer }),
    ...(prepared.patch && { patch: prepared.patch.bytes.buffer }),
    startsOnce,
    restorable: prepared.unrestorable === undefined,
    hash: prepared.hash,
    exports: prepared.exports,
    manifest: found.manifest,
    files: Object.fromEntries(
      archives.map(({ host, digest, bytes }) => [host, { digest, archive: bytes.buffer }]),
    ),
  };
}
