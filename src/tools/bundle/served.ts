import type { PreparedServlet } from "../../server/kernel/servlets/bundle.ts";
import type { Member } from "./bundle.ts";
import type { Prepared } from "./wasm/prepare.ts";

/**
 * Converts a servlet of the bundle to the form that the server runs, without stored lists: the servlet itself is asked.
 */
export async function servedFrom(member: Member): Promise<PreparedServlet> {
  const { found, dialect, prepared, startsOnce, archives, views, skills } = member;
  return {
    name: found.name,
    dialect,
    module: await compiled(prepared),
    ...(prepared.base && { base: prepared.base.bytes.buffer }),
    ...(prepared.packages && { packages: prepared.packages.bytes.buffer }),
    ...(prepared.patch && { patch: prepared.patch.bytes.buffer }),
    startsOnce,
    restorable: prepared.unrestorable === undefined,
    hash: prepared.hash,
    exports: prepared.exports,
    manifest: found.manifest,
    views: Object.fromEntries(views.map((view) => [view.name, view.bytes.buffer])),
    ...(skills && { skills: { ...skills.skills, archive: skills.bytes.buffer } }),
    files: Object.fromEntries(
      archives.map(({ host, digest, bytes }) => [host, { digest, archive: bytes.buffer }]),
    ),
  };
}

/** By path in the cache, which identifies the content. */
const modules = new Map<string, Promise<WebAssembly.Module>>();

/**
 * Compiles each module once in a process: servlets of one interpreter share its module and instances, as in a Worker.
 */
function compiled({ path, base, wasm }: Prepared): Promise<WebAssembly.Module> {
  const key = `${path} ${base?.path ?? ""}`;
  return modules.getOrInsertComputed(key, () => WebAssembly.compile(wasm));
}
