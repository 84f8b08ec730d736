/** The server's tools `list_servlets` for all agents, and `install_servlet`, `uninstall_servlet` for operators'. */
import { unsettled } from "../../kernel/core/settled.ts";
import type { CallContext } from "../../kernel/core/call-context.ts";
import { Fault } from "../../kernel/core/errors.ts";
import {
  OPERATOR_SCOPE,
  type CallToolResult,
  type Json,
  type Principal,
} from "../../kernel/core/model.ts";
import { errorResult, type OwnTool } from "../../kernel/servlets/own.ts";
import { shownOf } from "../../kernel/servlets/catalog.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { Wait } from "../../kernel/core/suspension.ts";
import type { Installer } from "./installer.ts";

const name = { type: "string", minLength: 1, description: "The name of a servlet." };

/** The parts of the server that these tools use. */
interface ToolParts {
  installer: Installer;
  /** Records what an agent has done for an operator. */
  recordAct: (by: string, what: string) => Promise<void>;
  registry: () => Promise<Registry>;
}

/** The tools, grouped by their servlet. */
export const installerTools = ({ recordAct, installer, registry }: ToolParts) => ({
  server: { list_servlets: listServlets(installer, registry) },
  operator: {
    install_servlet: installServlet(installer, recordAct),
    uninstall_servlet: uninstallServlet(installer, recordAct),
  },
});

const listServlets = (installer: Installer, registry: () => Promise<Registry>): OwnTool => ({
  tool: {
    title: "List servlets",
    description:
      "Lists the servlets that this server serves to you, and their tools. To operators it also lists those that can be installed, also where an older build is.",
    inputSchema: { type: "object" },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async run(_args, { principal, session }) {
    const all = await registry();
    const catalog = await all.for({ principal, session }).catalog();
    const shown = shownOf(catalog.tools.values(), catalog);
    const versions = new Map(
      (await installer.installs().list()).map((one) => [one.name, one.version]),
    );
    const servlets = [...Map.groupBy(shown, ({ servlet }) => servlet)].map(
      ([{ name: servlet, manifest }, entries]) => ({
        name: servlet,
        ...(manifest.description !== undefined && { description: manifest.description }),
        ...(versions.has(servlet) && { installed: `version ${versions.get(servlet)}` }),
        tools: entries.map(({ tool }) => tool.name),
      }),
    );
    if (!mayOperate(principal)) return resultOf({ servlets });
    const others = await installer.installable();
    return resultOf({ servlets, installable: others.map((one) => one.name) });
  },
});

const installServlet = (installer: Installer, recordAct: ToolParts["recordAct"]): OwnTool => ({
  tool: {
    title: "Install a servlet",
    description:
      "Serves a servlet that an operator has published here, or its newest build. The user is asked, and told what it may do.",
    inputSchema: { type: "object", properties: { name }, required: ["name"] },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  },
  async run(args, call) {
    const { build, digest } = await publishedBuild(installer, String(args["name"]));
    const question = `Install the servlet ${build.name}? It will be served to all callers of this server.\n${(await installer.consequences(build)).join("\n")}`;
    const agreed = await agreement(question, digest, call);
    if (agreed !== true) return errorResult(`${build.name} was not installed: ${agreed}`);
    const { version, isNew } = await installer.install(build, call.principal.name);
    if (isNew) await recordAct(call.principal.name, `Installed ${build.name}, version ${version}.`);
    const tools = build.lists?.tools.map((one) => one.name) ?? [];
    return resultOf({ name: build.name, version, isNew, tools });
  },
});

const uninstallServlet = ({ installs }: Installer, recordAct: ToolParts["recordAct"]): OwnTool => ({
  tool: {
    title: "Uninstall a servlet",
    description: "Stops serving an installed servlet. The user is asked.",
    inputSchema: { type: "object", properties: { name }, required: ["name"] },
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  },
  async run(args, call) {
    const wanted = String(args["name"]);
    const installed = await installs().list();
    const found = installed.find((one) => one.name === wanted);
    if (found === undefined) {
      return errorResult(`No servlet ${wanted} is installed. Installed: ${namesOf(installed)}.`);
    }
    const agreed = await agreement(`Uninstall the servlet ${wanted}?`, found.hash, call);
    if (agreed !== true) return errorResult(`${wanted} is still installed: ${agreed}`);
    unsettled(await installs().uninstall(wanted));
    await recordAct(call.principal.name, `Uninstalled ${wanted}.`);
    return resultOf({ name: wanted });
  },
});

/** The published build of this name. Throws `invalid_params` that names the published builds. */
async function publishedBuild(installer: Installer, wanted: string) {
  const found = await installer.published(wanted);
  if (found !== undefined) return found;
  const there = namesOf(await installer.installs().published());
  throw new Fault(
    "invalid_params",
    `No servlet ${wanted} was published here. Published: ${there}. An operator can publish it: npm run servlets -- publish ${wanted}`,
  );
}

/**
 * Asks the user. Returns true or the reason for a no. Throws `Wait` for the answer, which counts only for the same
 * `state`: the digest of the build in question.
 */
async function agreement(
  message: string,
  state: string,
  { input, ask, signal }: CallContext,
): Promise<true | string> {
  const requestedSchema = { type: "object", properties: {} };
  const asks = {
    agree: { method: "elicitation/create", params: { message, requestedSchema }, isConsent: true },
  } as const;
  try {
    const known = input?.state === state ? input.responses : undefined;
    const { agree } = known ?? (await ask(asks, signal()));
    if (agree === undefined) return "the user was not asked.";
    if ("failed" in agree) return agree.message;
    return agree.result["action"] === "accept" ? true : "the user has declined.";
  } catch (error) {
    if (!(error instanceof Wait)) throw error;
    throw new Wait(error.reason, state);
  }
}

const namesOf = (all: readonly { name: string }[]): string =>
  all.map((one) => one.name).join(", ") || "none";

const mayOperate = ({ scopes = [] }: Principal): boolean => scopes.includes(OPERATOR_SCOPE);

const resultOf = (structuredContent: Json): CallToolResult => ({
  content: [{ type: "text", text: JSON.stringify(structuredContent) }],
  structuredContent,
});
