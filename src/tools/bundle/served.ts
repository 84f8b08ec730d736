import type { PreparedServlet } from "../../server/kernel/servlets/bundle.ts";
import type { Member } from "./bundle.ts";
import type { Prepared } from "./wasm/prepare.ts";

/** A servlet of the bundle in the form that the server runs. It has no stored lists, so the servlet itself is asked for them. */
export async function servedFrom(member: Member): Promise<PreparedServlet> {
  const { found, dialect, prepared, startsOnce, archives, views, skills } = member;
  return {
    name: found.name,
    dialect,
    module: await compiled(prepared),
    ...(prepared.base && { base: prepared.base.bytes.buffer }),
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

/** By the files of the cache, which are named by their content. */
const modules = new Map<string, Promise<WebAssembly.Module>>();

/** Compiled once in a process: the servlets of an interpreter share its module and its instances, as in a Worker. */
function compiled({ path, base, wasm }: Prepared): Promise<WebAssembly.Module> {
  const key = `${path} ${base?.path ?? ""}`;
  return modules.getOrInsertComputed(key, () => WebAssembly.compile(wasm));
}
