import { stateRunner } from "../../../src/server/kernel/servlets/runners.ts";
import { unsettled } from "../../../src/server/kernel/core/settled.ts";
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import type { BuildBucket } from "../../../src/server/features/installs/bucket.ts";
import { facetsWith } from "../../../src/server/features/installs/state-facet.ts";
import { ServletLoader } from "../../../src/server/features/installs/loaded.ts";
import { CallHooks, hookSupportOf } from "../../../src/server/features/state/remote-hooks.ts";
import { ServletState } from "../../../src/server/features/state/servlet-state.ts";
import { sealerOf } from "../../../src/server/kernel/storage/vault.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { refOf, type PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { connected } from "../../../src/server/kernel/servlets/connect.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import type { CallContext } from "../../../src/server/kernel/core/call-context.ts";
import { callPartsOf } from "../../../src/server/kernel/servlets/setup.ts";
import { bundle } from "../../bundle.gen.ts";

/** Objects of servlet state that can run servlets of the test bundle as if they were installed. */

const { SCRATCH: objects, TEST_LOADER } = env as unknown as {
  SCRATCH: DurableObjectNamespace;
  TEST_LOADER: WorkerLoader;
};

const settings = readSettings(env);
export const deployment = deploymentOf(settings, env);

/** The parts of servlets of the bundle, by digests that are made up. */
const parts = new Map<string, WebAssembly.Module | ArrayBuffer>();
export const bucket = {
  part: async (digest: string) => {
    const part = parts.get(digest);
    if (part === undefined) throw new Error("The part is missing.");
    return part;
  },
};

const runner = bundle.runner!;
const loaderOf = (own: typeof runner) =>
  new ServletLoader({
    loader: TEST_LOADER,
    bucket: bucket as unknown as BuildBucket,
    runner: own,
    deployment: () => deployment,
  });
export const loader = loaderOf(runner);

/** A loader whose facets do this when they are asked for a summary, and give the message of what it throws. */
export const loaderWith = (attempt: string) =>
  loaderOf({
    ...runner,
    stateScript: `import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
export const runnerOf = () => class extends WorkerEntrypoint {};
export const stateFacetOf = () => class extends DurableObject {
  async summary() {
    try { ${attempt}; return { code: "internal", message: "It was reached." }; }
    catch (error) { return { code: "internal", message: error.message ?? error }; }
  }
};`,
  });

/** A servlet of the bundle. */
export const bundled = (name: string): PreparedServlet =>
  bundle.servlets.find((one) => one.name === name)!;

/** The same servlet as an installed one. */
export function installed(name: string, changes: Partial<PreparedServlet> = {}): PreparedServlet {
  const { module, base, packages, patch, files = {}, ...servlet } = bundled(name);
  const named = (part: string, content: WebAssembly.Module | ArrayBuffer) => {
    parts.set(`${name} ${part}`, content);
    return `${name} ${part}`;
  };
  return {
    ...servlet,
    parts: {
      module: named("module", module!),
      ...(base && { base: named("base", base) }),
      ...(packages && { packages: named("packages", packages) }),
      ...(patch && { patch: named("patch", patch) }),
      files: Object.fromEntries(
        Object.entries(files).map(([host, { archive }]) => [host, named(host, archive)]),
      ),
    },
    ...changes,
  };
}

const sealer = sealerOf(settings, env)!;

/** What the server of an object has. */
interface Served {
  /** Undefined where the binding LOADER is missing. */
  by?: ServletLoader | undefined;
  /** False if the bundle has no servlets any more. */
  bundles?: boolean;
}

/** An object of servlet state, for one scope. */
export function newScope() {
  const stub = objects.getByName(`installed ${crypto.randomUUID()}`);
  /** Does this with the object, as it is after it has started. */
  const within = <T>(
    work: (object: ServletState, state: DurableObjectState) => Promise<T> | T,
    { bundles = true, ...given }: Served = {},
  ): Promise<T> =>
    runInDurableObject(stub, async (_object, state) => {
      const served = bundles ? bundle : { ...bundle, servlets: [] };
      // It dies with the object.
      state.facets.abort("state", new Error("The object has started again."));
      const by = "by" in given ? given.by : loader;
      const server = { bundle: served, sealer, deployment, ...(by && { facets: facetsWith(by) }) };
      return work(new ServletState(state, env, server), state);
    });
  return { stub, within };
}

/** Runs a statement in the database of the facet. */
export async function inFacet({ facets }: DurableObjectState, statement: string) {
  facets.abort("state", new Error("Its code is replaced."));
  const code = TEST_LOADER.get("sql", () => ({
    compatibilityDate: runner.compatibilityDate,
    mainModule: "main.js",
    modules: {
      "main.js": `import { DurableObject } from "cloudflare:workers";
export class Sql extends DurableObject {
  exec(statement) { return this.ctx.storage.sql.exec(statement).toArray(); }
}`,
    },
  }));
  const { exec } = facets.get<SqlFacet>("state", () => ({
    class: code.getDurableObjectClass<SqlFacet>("Sql"),
  }));
  const rows = await Promise.resolve(exec(statement));
  facets.abort("state", new Error("Its code is replaced."));
  return rows;
}

interface SqlFacet extends Rpc.DurableObjectBranded {
  exec(statement: string): Promise<Record<string, string>[]>;
}

/** Calls a tool of a servlet, in this object; answers with its text, or the error. */
export async function callIn(
  object: ServletState,
  servlet: PreparedServlet,
  name: string,
  args: Json = {},
  more: Partial<CallContext> = {},
): Promise<string> {
  const { callTool } = connected(servlet, {
    ...deployment,
    runners: [
      stateRunner(async (_servlet, run, call) => {
        const about = {
          ...run,
          id: crypto.randomUUID(),
          servlet: refOf(servlet),
          call: callPartsOf(call),
          recorded: call.recorded,
          there: hookSupportOf(call),
        };
        return unsettled(await object.run(about, new CallHooks(call, call.signal)));
      }),
    ],
  });
  return callTool(name, args, { ...nobodysCall, principal: { name: "ada" }, ...more }).then(
    (result) => (result as { content: { text: string }[] }).content[0]!.text,
    (error: Error) => error.message,
  );
}

/** Has the guest `filing` do something with a file. */
export const fileIn = (object: ServletState, servlet: PreparedServlet, what: string, text = "") =>
  callIn(object, servlet, "do", { what, path: what === "list" ? "/data" : "/data/a", text });
