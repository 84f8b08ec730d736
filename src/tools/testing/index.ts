/**
 * `edge-servlets/testing`: builds a servlet, and runs it in a test as the server would, in a world that the test
 * scripts. For test runners in Node, such as vitest.
 */
import { stateRunner } from "../../server/kernel/servlets/runners.ts";
import { LANGUAGES } from "../../languages/index.ts";
import { makeBundle } from "../bundle/bundle.ts";
import { servedFrom } from "../bundle/served.ts";
import { Fault } from "../../server/kernel/core/errors.ts";
import type { Answer, Ask, AskFailure } from "../../server/kernel/core/asks.ts";
import type { CallContext } from "../../server/kernel/core/call-context.ts";
import type {
  CallToolResult,
  CompleteResult,
  GetPromptResult,
  Json,
  Lists,
  Notification,
  ReadResourceResult,
} from "../../server/kernel/core/model.ts";
import { servletPrincipal } from "../../server/kernel/core/model.ts";
import {
  withRecordedAnswer,
  type JournalEntry,
  type JournalHead,
  type Keeper,
  type Recorded,
} from "../../server/kernel/core/record.ts";
import { Wait } from "../../server/kernel/core/suspension.ts";
import { mapValues } from "../../server/kernel/core/values.ts";
import type { PreparedServlet } from "../../server/kernel/servlets/bundle.ts";
import type {
  Deployment,
  Accounts,
  FindTool,
  Secrets,
} from "../../server/kernel/servlets/deployment.ts";
import { HOW_TO_SET } from "../../server/kernel/servlets/config.ts";
import { grants } from "../../server/kernel/servlets/scopes.ts";
import { tidyToolResult } from "../../server/kernel/servlets/tidy/results.ts";
import { keepsState } from "../../server/kernel/servlets/manifest.ts";
import { skillsContributor } from "../../server/features/skills/skills.ts";
import { viewsContributor } from "../../server/features/views/views.ts";
import { Registry } from "../../server/kernel/servlets/registry.ts";
import { allReasons, perform, Rerun, type Waiting } from "../../server/kernel/calls/engine.ts";
import { toolCallerOf } from "../../server/features/tool-calls/tool-caller.ts";
import type { CallRef, CompletionRequest } from "../../server/kernel/calls/call-ref.ts";
import type { Script, ScriptedAnswer, Tested } from "./script.ts";
import { principalOf, TestStates, type Whose } from "./states.ts";
import { viewUnderTest, type ViewUnderTest } from "./views.ts";
import type { World } from "../../server/kernel/wasm/world.ts";

export type { Script, ScriptedAnswer, ScriptedTool, Tested } from "./script.ts";
export type { Whose } from "./states.ts";
export type { ViewUnderTest } from "./views.ts";

/**
 * A servlet under test. Its methods reject with a `Fault` if the server would answer with an error.
 *
 * @example
 * const hello: ServletUnderTest = await loadServlet("plugins/hello");
 * const { tools } = await hello.list();
 * tools.map(({ name }) => name); // → ["greet"]
 */
export interface ServletUnderTest {
  list(script?: Script): Promise<Lists>;
  callTool(name: string, args?: Json, script?: Script): Promise<Tested<CallToolResult>>;
  readResource(uri: string, script?: Script): Promise<Tested<ReadResourceResult>>;
  getPrompt(
    name: string,
    args?: Record<string, string>,
    script?: Script,
  ): Promise<Tested<GetPromptResult>>;
  complete(request: CompletionRequest, script?: Script): Promise<Tested<CompleteResult>>;
  /** Runs the code of a schedule, as when it is due now or at `due`, having missed so many due times before. */
  runSchedule(
    name: string,
    time?: { due?: Date; missed?: number },
    script?: Script,
  ): Promise<Tested<CallToolResult>>;
  /**
   * Delivers something to a webhook, as if its signature were right: `body` and the like, with defaults. It runs without
   * a caller, unless the script has one.
   */
  receiveWebhook(
    name: string,
    delivery?: { id?: string; headers?: Record<string, string>; body?: string; isBase64?: boolean },
    script?: Script,
  ): Promise<Tested<CallToolResult>>;
  /**
   * All files in the folders of a servlet with state, by the paths that the servlet uses: as text, or as bytes if a
   * file is not UTF-8. `whose` selects the caller and session.
   */
  files(whose?: Whose): Promise<Record<string, string | Uint8Array>>;
  /** Writes files into the servlet's folders, even read-only ones. Creates missing folders. */
  writeFiles(files: Readonly<Record<string, string | Uint8Array>>, whose?: Whose): Promise<void>;
  /** The servlet's view of this name. Rejects if there is none. */
  view(name: string): Promise<ViewUnderTest>;
}

/**
 * Builds the servlet in this folder, and prepares it for calls. Its state (`state` in the manifest) lasts as long as
 * the returned object. Throws a `Refusal` if the servlet cannot be built.
 *
 * @example
 * import { loadServlet } from "edge-servlets/testing";
 *
 * const hello = await loadServlet("plugins/hello");
 * const { result } = await hello.callTool("greet", { name: "Ada" });
 * result.content; // → [{ type: "text", text: "Hello, Ada!" }]
 */
export async function loadServlet(folder: string): Promise<ServletUnderTest> {
  const members = await makeBundle({
    folders: [folder],
    languages: LANGUAGES,
    cache: ".bundle",
    progress: () => {},
    optimise: false,
  });
  const [member] = members;
  if (member === undefined || members.length > 1) {
    throw new Error(`${folder} holds ${members.length} servlets: name the folder of one`);
  }
  const { found, prepared } = member;
  const servlet = await servedFrom(member);
  const states = keepsState(found.manifest) ? await statesOf(servlet) : undefined;
  const ownStates = () => {
    if (states !== undefined) return states;
    throw new Error(`${folder} keeps nothing from call to call: \`state\` in servlet.json would.`);
  };
  const tested = async <T>(
    script: Script,
    work: (registry: Registry, call: CallContext, recorder: Recorder) => Promise<T>,
  ): Promise<Tested<T>> => {
    const notifications: Notification[] = [];
    const asked: Ask[] = [];
    const logs: string[] = [];
    const deployment: Deployment = {
      variables: script.variables ?? {},
      logLevel: "trace",
      log: (_servlet, level, text) => logs.push(`${level}: ${text}`),
      record: {
        format: "json",
        share: 1,
        print(line) {
          const { outcome, message } = JSON.parse(line) as { outcome: string; message?: string };
          const isRun = ["threw", "trapped", "refused"].includes(outcome);
          if (isRun && message !== undefined) logs.push(`error: ${message}`);
        },
      },
      world: scriptedWorld(script),
      toolCaller: (outer) => toolCallerOf({ ...outer, find: scriptedTools(script, outer.servlet) }),
      secrets: scriptedSecrets(script),
      accounts: scriptedAccounts(script),
      hostFunctions: scriptedFunctions(script),
      contributors: [viewsContributor, skillsContributor],
    };
    const registry = new Registry(
      { servlets: [servlet] },
      {
        ...deployment,
        ...(states && {
          runners: [stateRunner((_servlet, run, call) => states.run(deployment, run, call))],
        }),
      },
    );
    const answer = scriptedAsker(script);
    const call: CallContext = {
      id: "test",
      meta: script.meta ?? { progressToken: "test" },
      principal: principalOf(script),
      session: script.session,
      client: { capabilities: script.capabilities ?? {} },
      signal: () => new AbortController().signal,
      // Clients are not told which servlet sent a notification.
      notify: ({ method, params }) => notifications.push({ method, ...(params && { params }) }),
      ask: (asks, signal) => {
        asked.push(...Object.values(asks));
        return answer(asks, signal);
      },
    };
    const recorder = new Recorder(script);
    const recorded = script.recorded && {
      ...script.recorded,
      head: { ...script.recorded.head, hash: prepared.hash },
    };
    const context = { ...call, keeper: recorder, ...(recorded && { recorded }) };
    const result = await work(registry, context, recorder).catch(async (error: unknown) => {
      // An entry is also unknown if the servlet could not list it, such as without a required setting: say why.
      const { failures } = await registry.catalog();
      const why = failures?.get(servlet.name)?.[0];
      if (why === undefined || !String(error).includes("Unknown ")) throw withoutWorker(error);
      throw withoutWorker(new Error(`${folder} ${why}`, { cause: error }));
    });
    const kept = recorder.recorded;
    return { result, notifications, asked, logs, ...(kept && { recorded: kept }) };
  };
  const called = <T extends object>(ref: CallRef, script: Script): Promise<Tested<T>> =>
    tested(script, async (registry, call, recorder) =>
      perform<T>(await registry.resolve(ref), call, {
        ended: (result) => result as T,
        waits: allReasons(async (waiting) => {
          recorder.beginRun();
          return new Rerun(await goneOn(call, waiting));
        }),
      }),
    );
  const list = async (script: Script = {}) =>
    (await tested(script, (registry) => registry.catalog())).result.lists;
  const callTool: ServletUnderTest["callTool"] = (name, args = {}, script = {}) =>
    called({ kind: "tool", name, input: asSent(args) }, script);
  const readResource: ServletUnderTest["readResource"] = (uri, script = {}) =>
    called({ kind: "resource", name: uri }, script);
  return {
    list,
    callTool,
    readResource,
    view: async (name) =>
      viewUnderTest(name, { servlet, lists: await list(), callTool, readResource }),
    getPrompt: (name, args = {}, script = {}) =>
      called({ kind: "prompt", name, input: args }, script),
    complete: (input, script = {}) => {
      const { ref } = input;
      const name = ref.type === "ref/prompt" ? ref.name : ref.uri;
      return called({ kind: "completion", name, input }, script);
    },
    runSchedule(name, { due, missed = 0 } = {}, script = {}) {
      const { now = 0 } = script;
      const at = due ?? new Date(typeof now === "number" ? now : now());
      const input = { name, due: at.toISOString(), missed };
      return called({ kind: "schedule", name: servlet.name, input }, script);
    },
    receiveWebhook: (name, delivery = {}, script = {}) => {
      const { id = "test", headers = {}, body = "", isBase64 = false } = delivery;
      const receivedAt = new Date(0).toISOString();
      const input = { name, id, headers, body, isBase64, receivedAt };
      const { name: caller } = servletPrincipal(servlet.name);
      return called({ kind: "webhook", name: servlet.name, input }, { caller, ...script });
    },
    files: async (whose = {}) => ownStates().files(whose),
    writeFiles: async (files, whose = {}) => ownStates().write(files, whose),
  };
}

/** Replaces the advice on a missing variable by one for tests. */
function withoutWorker(error: unknown): unknown {
  if (error instanceof Error)
    error.message = error.message.replace(
      HOW_TO_SET,
      'Give it in the script of the test: callTool(name, args, { variables: { NAME: "value" } }).',
    );
  return error;
}

/** Loads SQLite only on demand, because older versions of Node lack it. */
async function statesOf(servlet: PreparedServlet): Promise<TestStates> {
  const { Database } = await import("../bundle/database.ts");
  return new TestStates(servlet, () => new Database());
}

/** Arguments as they arrive over the wire. */
const asSent = (args: Json): Json => JSON.parse(JSON.stringify(args)) as Json;

/** The context for the next run of a call, after an interruption by `alwaysReplay`, or with the script's answers. */
async function goneOn(
  { ask, signal }: CallContext,
  { reason, recorded, state }: Waiting,
): Promise<Partial<CallContext>> {
  if (reason.kind !== "input") return recorded ? { recorded } : {};
  const responses = await ask(reason.asks, signal());
  if (recorded !== undefined)
    return { recorded: withRecordedAnswer(recorded, JSON.stringify(responses), 0) };
  return { recorded: undefined, input: { responses, ...(state !== undefined && { state }) } };
}

/** Keeps the journal of a call in memory, and interrupts the call as its script's `alwaysReplay` says. */
class Recorder implements Keeper {
  readonly #entries: JournalEntry[];
  readonly #script: Script;
  #begun: Omit<Recorded, "entries"> | undefined;
  #isInterrupted = false;

  constructor(script: Script) {
    this.#script = script;
    this.#entries = [...(script.recorded?.entries ?? [])];
    this.#begun = script.recorded;
  }

  /** Starts a run. Each run is interrupted once; later entries of that run are still recorded. */
  beginRun(): void {
    this.#isInterrupted = false;
  }

  get recorded(): Recorded | undefined {
    return this.#begun && { ...this.#begun, entries: this.#entries };
  }

  async begin(head: JournalHead, place?: string): Promise<void> {
    if (place !== undefined) return;
    this.#begun = { head, notices: 0 };
    this.#entries.length = 0;
  }

  async keep(
    position: number,
    entry: JournalEntry,
    notices: number,
    place?: string,
  ): Promise<void> {
    if (place !== undefined) return;
    if (this.#begun !== undefined) this.#begun = { ...this.#begun, notices };
    const isNew = position >= this.#entries.length;
    this.#entries[position] = entry;
    const { alwaysReplay = false } = this.#script;
    const ends = Array.isArray(alwaysReplay) ? alwaysReplay.includes(position) : alwaysReplay;
    if (!isNew || !ends || this.#isInterrupted) return;
    this.#isInterrupted = true;
    throw new Wait({ kind: "task" });
  }
}

/** Answers asks from the script; an ask without an answer ends the call. */
function scriptedAsker({ answers = {} }: Script): CallContext["ask"] {
  const used = new Map<string, number>();
  const answerOne = ({ method, params }: Ask): Answer => {
    const scripted = answers[method];
    if (typeof scripted === "function") return answerOf(scripted(params), method);
    const at = used.get(method) ?? 0;
    used.set(method, at + 1);
    const answer = scripted?.[at];
    if (answer !== undefined) return answerOf(answer, method);
    throw new Fault("servlet_failed", `The script has no answer number ${at + 1} to ${method}.`);
  };
  return async (asks) => mapValues(asks, answerOne);
}

const answerOf = (scripted: ScriptedAnswer, method: Ask["method"]): Answer =>
  typeof scripted["failed"] === "string"
    ? ({ method, message: `The script says ${scripted["failed"]}.`, ...scripted } as AskFailure)
    : { result: scripted };

/** The clock, network and random numbers of a script. */
function scriptedWorld({
  fetch,
  now = 0,
}: {
  fetch?: (request: Request) => Response | Promise<Response>;
  now?: number | (() => number);
}): World {
  let time = typeof now === "number" ? now : 0;
  return {
    now: () => (typeof now === "number" ? time : now()),
    random: (bytes) => void crypto.getRandomValues(bytes),
    sleep: async (ms) => {
      time += ms;
    },
    fetch: async (input, init) => {
      if (fetch === undefined) throw new Error("the script has no fetch");
      return fetch(new Request(input, init));
    },
  };
}

/** Host functions of features, answered by the script. */
const scriptedFunctions = ({
  hostFunctions = {},
}: Script): NonNullable<Deployment["hostFunctions"]> =>
  new Map(
    Object.entries(hostFunctions).map(([name, answer]) => [
      name,
      async (payload) => answer(payload),
    ]),
  );

/** Finds the tools of a script, as tools of the servlets that the manifest's `may_call` names. */
function scriptedTools(script: Script, { manifest }: PreparedServlet): FindTool {
  const { tools = {}, alwaysReplay: _often, recorded: _record, ...rest } = script;
  return () => async (ref) => {
    const name = ref.name;
    const scripted = Object.hasOwn(tools, name) ? tools[name] : undefined;
    if (ref.kind !== "tool" || scripted === undefined)
      throw new Fault("invalid_params", `The script has no tool ${name}.`);
    const { may_call: patterns = [] } = manifest;
    const named = patterns.find((one) => grants(one, one.split(":")[0]!, name)) ?? "other:";
    const servlet = { name: named.split(":")[0]!, manifest: {} } as PreparedServlet;
    const run = async (): Promise<Json> => {
      if (typeof scripted === "object" && "callTool" in scripted) {
        const { result } = await scripted.callTool(name, ref.input, rest);
        return result;
      }
      const given = typeof scripted === "function" ? scripted(ref.input) : scripted;
      return tidyToolResult(
        typeof given === "string" ? { content: [{ type: "text", text: given }] } : { ...given },
      );
    };
    return { ref, servlet, tool: { own: name }, subject: name, run };
  };
}

/** The secrets of a script. The page to enter other secrets exists, but nobody enters one. */
const scriptedSecrets = ({ secrets = {} }: { secrets?: Record<string, string> }): Secrets => ({
  find: async (_caller, { name }) => secrets[name],
  page: async () => "https://server.example/secret/1",
});

/** The accounts of a script: access tokens by account name. Other accounts cannot be connected. */
const scriptedAccounts = ({ accounts = {} }: { accounts?: Record<string, string> }): Accounts => ({
  knows: ({ account }) => Object.hasOwn(accounts, account),
  state: async () => "connected",
  connectPage: async () => "https://server.example/connect/1",
  token: async (_caller, { account }) => accounts[account],
});
