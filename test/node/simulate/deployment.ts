import { createHash } from "node:crypto";
import "./hooks.ts";
import { LANGUAGES } from "../../../src/languages/index.ts";
import { makeBundle } from "../../../src/tools/bundle/bundle.ts";
import { servedFrom } from "../../../src/tools/bundle/served.ts";
import { OBJECTS, TEST_OBJECTS } from "../objects.ts";
import type { Class } from "./object.ts";
import { apiKey } from "./caller.ts";
import { HOOK_KEY } from "./unattended-clients.ts";

/** The code under test, with the servlet that follows plans. */
export interface Deployment {
  createApp(env: object): { fetch(request: Request): Promise<Response> };
  durableObjects(env: object): Record<string, Class>;
  bindings: Record<string, string>;
  variables: Record<string, string>;
}

/** Prefixes of the servlet's variants that keep state. */
export const SCOPES = { session: "ks", caller: "kc", server: "kv" };

/** Other type checkers know Workers' types: these files are checked by another project. */
const load = (path: string): Promise<any> => import(new URL(path, import.meta.url).href);

type Servlet = any;

/** Loads the code under test; it serves those that `choose` makes of the servlets of the tests' bundle. */
export async function loadDeployment(
  choose: (servlets: Servlet[]) => Servlet[] = planning,
): Promise<Deployment> {
  const [{ createApp }, { Kernel }, { durableObjects }, { bundle }] = await Promise.all([
    load("../../../src/server/kernel/app.ts"),
    load("../../../src/server/kernel/kernel.ts"),
    load("../../../src/server/kernel/objects.ts"),
    load("../../bundle.gen.ts"),
  ]);
  const own = { ...bundle, servlets: choose(bundle.servlets) };
  // Counters of runs are no part of the model: they stay when their calls are gone.
  const { USAGE: _usage, ...bindings } = OBJECTS;
  return {
    createApp: (env) => createApp(new Kernel(own, env)),
    durableObjects: (env) => durableObjects(new Kernel(own, env)),
    bindings,
    // The model knows clients that cannot be asked, and no persons at pages.
    variables: { GREETING: "hi", VAULT_PROBE: "opened", LOG_LEVEL: "error", LINKS: "off" },
  };
}

/** A deployment with a servlet that has schedules, a webhook and events, and two callers. */
export const loadUnattendedDeployment = (): Promise<Deployment> =>
  loadOwnDeployment((servlets) => servlets.filter(({ name }) => name === "unattended"));

/** A deployment with a servlet that reads and makes files. */
export const loadTransfersDeployment = (): Promise<Deployment> =>
  loadOwnDeployment((servlets) => variantsOf(servlets, "copying", ["check", "make"]));

/** A deployment with a servlet of two MCP servers of others. */
export const loadRemoteDeployment = (): Promise<Deployment> =>
  loadOwnDeployment((servlets) => {
    const tools = ["modern_do", "modern_ask", "older_do", "older_ask"];
    const [plain, always] = variantsOf(servlets, "remoting", tools);
    const manifest = { ...plain.manifest, prefix: "kept", state: "caller" };
    return [plain, always, { ...plain, name: "kept", manifest }];
  });

/** A servlet, and the same with calls that are always tasks. */
function variantsOf(servlets: Servlet[], name: string, tools: readonly string[]): Servlet[] {
  const plain = servlets.find((one) => one.name === name);
  const always = Object.fromEntries(tools.map((tool) => [tool, { task: "always" }]));
  const manifest = { ...plain.manifest, prefix: "always", tools: always };
  return [plain, { ...plain, name: "always", manifest }];
}

/** A deployment with two callers that have keys, and all kinds of objects. */
async function loadOwnDeployment(choose: (servlets: Servlet[]) => Servlet[]): Promise<Deployment> {
  const deployment = await loadDeployment(choose);
  const keys = [0, 1].map((caller) => [
    `caller${caller}`,
    createHash("sha256").update(apiKey(caller)).digest("hex"),
  ]);
  const own = {
    HOOK_STANDARD: HOOK_KEY,
    API_KEYS: JSON.stringify(Object.fromEntries(keys)),
    PUBLIC_URL: "https://own.example",
  };
  // Nor are the notices of changes, of which there are many.
  const { USAGE: _usage, HUBS: _hubs, ...bindings }: Record<string, string> = TEST_OBJECTS;
  return { ...deployment, bindings, variables: { ...deployment.variables, ...own } };
}

/** A deployment whose servlet that follows plans is in Python. It is in no bundle, as a server with Python starts slowly. */
export async function loadPythonDeployment(): Promise<Deployment> {
  const [member] = await makeBundle({
    folders: ["test/python/durable"],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    optimise: false,
  });
  const durable = { ...(await servedFrom(member!)), lists: member!.lists };
  return loadDeployment((servlets) =>
    planning(servlets.map((one) => (one.name === durable.name ? durable : one))),
  );
}

/** The servlet that follows plans, in its variants, and one that has files. */
function planning(servlets: Servlet[]): Servlet[] {
  const found = servlets.find(({ name }) => name === "durable");
  // Open Tool Calling gives values only of tools that say what they give.
  const tools = found.lists.tools.map((tool: object) => ({
    ...tool,
    outputSchema: { type: "object" },
  }));
  const durable = { ...found, lists: { ...found.lists, tools } };
  const manifest = { ...durable.manifest, prefix: "r", resend_requests: true };
  const lists = { ...durable.lists, resources: [], prompts: [] };
  const stateful = Object.entries(SCOPES).map(([state, prefix]) => ({
    ...durable,
    name: `durable-${state}`,
    manifest: { ...durable.manifest, prefix, state, compute_limit: 2 },
    lists,
  }));
  const filing = servlets.find(({ name }) => name === "filing");
  const resending = { ...durable, name: "resending", manifest, lists };
  return [durable, resending, ...stateful, filing];
}
