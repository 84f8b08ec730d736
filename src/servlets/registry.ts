import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import {
  JOURNAL_VERSION,
  Suspended,
  type CallContext,
  type CallToolResult,
  type CompleteResult,
  type GetPromptResult,
  type Json,
  type Lists,
  type Outcome,
  type ReadResourceResult,
} from "../model.ts";
import { callExport, type Durability, type LogLevel, type Setup } from "../wasm/call.ts";
import { liveWorld, type World } from "../wasm/world.ts";
import type { Bundle, BundledServlet } from "./bundle.ts";
import { merge, wholeMatch, type Catalog } from "./catalog.ts";
import { dialects } from "./dialects.ts";
import { listAll, type CompletionRequest, type Servlet } from "./servlet.ts";

/** What the deployment gives to its servlets. */
export interface Deployment {
  /** The Worker's variables and secrets, by name. */
  variables: Readonly<Record<string, string>>;
  logLevel: LogLevel;
  log(servlet: string, level: LogLevel, text: string): void;
  /**
   * `fresh` makes a new instance for each call, whatever the manifests say; `checked` compares each one
   * that was put back with a newborn.
   */
  isolation?: "restored" | "fresh" | "checked";
  /** What servlets see of the world; the real one where it is not given. */
  world?: World;
}

/** All servlets as one: finds who offers what, checks what goes in and comes out. */
export class Registry {
  readonly #bundle: Bundle;
  readonly #deployment: Deployment;
  readonly #servlets = new Map<BundledServlet, Servlet>();
  #catalog: { value: Catalog; until: number } | undefined;

  constructor(bundle: Bundle, deployment: Deployment) {
    this.#bundle = bundle;
    this.#deployment = deployment;
    this.isDynamic = bundle.servlets.some(({ lists }) => lists === undefined);
  }

  /** Does some list depend on more than the bundle? */
  readonly isDynamic: boolean;

  get servlets(): readonly BundledServlet[] {
    return this.#bundle.servlets;
  }

  /**
   * Everything that is offered. Servlets whose lists depend on the world are asked now and then, by
   * nobody in particular: what they list is the same for every caller.
   */
  async catalog(): Promise<Catalog> {
    if (this.#catalog !== undefined && this.#catalog.until > Date.now()) return this.#catalog.value;
    // No promise is kept: in Workers one request must not wait for what another one does.
    const value = await this.#merge();
    const until = this.isDynamic ? Date.now() + limits.dynamicListMs : Infinity;
    this.#catalog = { value, until };
    return value;
  }

  async callTool(name: string, args: Json, call: CallContext): Promise<Outcome<CallToolResult>> {
    const entry = (await this.catalog()).tools.get(name);
    if (entry === undefined) throw new Fault("invalid_params", `Unknown tool: ${name}`);
    const wrong = entry.input?.(args);
    if (wrong !== undefined) {
      const text = `The arguments of ${name} are not valid: ${wrong}`;
      return { content: [{ type: "text", text }], isError: true };
    }
    const result = interrupted(
      entry.servlet,
      await this.servlet(entry.servlet).callTool(entry.own, args, call),
    );
    if (result instanceof Suspended) return result;
    if (entry.output !== undefined && result.isError !== true) {
      const unfit = entry.output(result.structuredContent);
      if (unfit !== undefined) {
        const message = `The servlet's structuredContent does not fit the outputSchema of ${name}: ${unfit}`;
        throw new Fault("servlet_failed", message);
      }
    }
    return result;
  }

  /** Found by the catalog, then by templates, then by asking every servlet that can read. */
  async readResource(uri: string, call: CallContext): Promise<Outcome<ReadResourceResult>> {
    const { resources, templates } = await this.catalog();
    const entry = resources.get(uri) ?? templates.find(({ matches }) => matches.test(uri));
    const listed = entry?.servlet;
    if (listed !== undefined && !isSkipped(listed, uri)) {
      return interrupted(listed, await this.servlet(listed).readResource(uri, call));
    }
    for (const bundled of this.#bundle.servlets) {
      const servlet = this.servlet(bundled);
      if (!servlet.reads || isSkipped(bundled, uri)) continue;
      try {
        return interrupted(bundled, await servlet.readResource(uri, call));
      } catch (error) {
        const { code } = Fault.from(error);
        if (code !== "servlet_failed" && code !== "servlet_error" && code !== "not_found")
          throw error;
      }
    }
    throw new Fault("not_found", `Resource not found: ${uri}`, { data: { uri } });
  }

  async getPrompt(
    name: string,
    args: Record<string, string>,
    call: CallContext,
  ): Promise<Outcome<GetPromptResult>> {
    const entry = (await this.catalog()).prompts.get(name);
    if (entry === undefined) throw new Fault("invalid_params", `Unknown prompt: ${name}`);
    const missing = (entry.prompt.arguments ?? []).filter(
      (argument) => argument.required === true && args[argument.name] === undefined,
    );
    if (missing.length > 0) {
      const names = missing.map((argument) => argument.name).join(", ");
      throw new Fault("invalid_params", `The prompt ${name} needs the argument: ${names}`);
    }
    const { servlet, own } = entry;
    return interrupted(servlet, await this.servlet(servlet).getPrompt(own, args, call));
  }

  async complete(request: CompletionRequest, call: CallContext): Promise<CompleteResult> {
    const { prompts, templates, resources } = await this.catalog();
    const { ref } = request;
    if (ref.type === "ref/prompt") {
      const entry = prompts.get(ref.name);
      if (entry === undefined) throw new Fault("invalid_params", `Unknown prompt: ${ref.name}`);
      const own = { ...request, ref: { ...ref, name: entry.own } };
      return this.#completeBy(entry.servlet, own, call);
    }
    const found =
      templates.find(({ template }) => template.uriTemplate === ref.uri) ??
      templates.find(({ matches }) => matches.test(ref.uri));
    const entry = found ?? resources.get(ref.uri);
    if (entry === undefined) {
      throw new Fault("invalid_params", `Unknown resource template: ${ref.uri}`);
    }
    return this.#completeBy(entry.servlet, request, call);
  }

  /** Tells one servlet that the client's roots are others now. */
  async rootsChanged(name: string, call: CallContext): Promise<Outcome<Json>> {
    const bundled = this.#bundle.servlets.find((one) => one.name === name);
    if (bundled === undefined) return {};
    const outcome = await this.servlet(bundled).rootsChanged?.(call);
    return outcome === undefined ? {} : interrupted(bundled, outcome);
  }

  #completeBy(
    bundled: BundledServlet,
    request: CompletionRequest,
    call: CallContext,
  ): Promise<CompleteResult> | CompleteResult {
    const servlet = this.servlet(bundled);
    if (!servlet.completes) return { completion: { values: [] } };
    return servlet.complete(request, call);
  }

  /** One servlet by itself, for the bundle step and for those who have found it in the catalog. */
  servlet(bundled: BundledServlet): Servlet {
    let servlet = this.#servlets.get(bundled);
    if (servlet === undefined) {
      servlet = this.#connect(bundled);
      this.#servlets.set(bundled, servlet);
    }
    return servlet;
  }

  #connect(bundled: BundledServlet): Servlet {
    const { manifest, exports } = bundled;
    const { variables, logLevel, log, isolation, world = liveWorld } = this.#deployment;
    const isFresh = manifest.isolation === "fresh" || isolation === "fresh";
    const program = {
      ...bundled,
      restorable: bundled.restorable === true && !isFresh,
      checked: isolation === "checked",
    };
    let config: Record<string, string> | undefined;
    return dialects[bundled.dialect]({
      exports,
      idsAsGiven: manifest.request_ids === "as-given",
      run: (name, input, call) => {
        config ??= configOf(bundled, variables);
        const { recorded, keeper } = call;
        const { version, hash } = recorded?.head ?? {
          version: JOURNAL_VERSION,
          hash: bundled.hash,
        };
        if (version !== JOURNAL_VERSION || hash !== bundled.hash) {
          throw new Fault(
            "invalid_params",
            `The servlet ${bundled.name} has been deployed anew since this call began, so it cannot go on: call again.`,
          );
        }
        const setup: Setup & Durability = {
          world,
          config,
          allowedHosts: manifest.allowed_hosts ?? [],
          resends: manifest.resend_requests === true,
          secret: (service, user) => secretOf(bundled, variables, { service, user }),
          logLevel,
          fuel: manifest.compute_limit && Math.ceil(manifest.compute_limit * limits.fuelPerSecond),
          signal: call.signal,
          log: (level, text) => log(bundled.name, level, text),
          notify: call.notify,
          ask: call.ask,
          ...(call.gate && { gate: call.gate }),
          recorded,
          keeper,
        };
        return callExport(program, name, input, setup);
      },
    });
  }

  async #merge(): Promise<Catalog> {
    const servlets = await Promise.all(
      this.#bundle.servlets.map(async (servlet) => ({
        servlet,
        lists: servlet.lists ?? (await this.#ask(servlet)),
      })),
    );
    return merge(servlets, ({ kind, name, servlets: [first, second] }) => {
      const text = `its ${kind} entry ${name} is hidden by that of ${first}: give one of them a prefix`;
      this.#deployment.log(second, "warn", text);
    });
  }

  /** Asks a servlet for its lists at run time; one that fails offers nothing until it is asked again. */
  async #ask(bundled: BundledServlet): Promise<Lists> {
    try {
      return await listAll(this.servlet(bundled));
    } catch (error) {
      this.#deployment.log(bundled.name, "error", `its lists: ${Fault.from(error).message}`);
      return { tools: [], resources: [], resourceTemplates: [], prompts: [] };
    }
  }
}

/** Notes on a call that waits what the manifest says of it. */
function interrupted<T>({ manifest }: BundledServlet, outcome: Outcome<T>): Outcome<T> {
  if (outcome instanceof Suspended) outcome.isSingleUse = manifest.single_use_state === true;
  return outcome;
}

function isSkipped({ manifest }: BundledServlet, uri: string): boolean {
  return wholeMatch(manifest.skip_resources)(uri);
}

/** The servlet's config, with the Worker's variables in it. */
function configOf(
  { name, manifest }: BundledServlet,
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  const expand = (text: string) =>
    text.replace(
      /\$\$\{|\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
      (whole, variable: string | undefined, otherwise: string | undefined) => {
        if (variable === undefined) return "${";
        const value = variables[variable] || otherwise;
        if (value !== undefined) return value;
        throw new Fault(
          "servlet_failed",
          `The servlet ${name} is not configured: the Worker's variable or secret ${variable} is not set.`,
          { cause: whole },
        );
      },
    );
  return Object.fromEntries(
    Object.entries(manifest.env_vars ?? {}).map(([key, text]) => [key, expand(text)]),
  );
}

function secretOf(
  { manifest }: BundledServlet,
  variables: Readonly<Record<string, string>>,
  { service, user }: { service: string; user: string },
): string | undefined {
  const allowed = manifest.allowed_secrets?.find(
    (one) => one.service === service && one.user === user,
  );
  if (allowed === undefined) return undefined;
  const name = allowed.variable ?? `${service}_${user}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  return variables[name];
}
