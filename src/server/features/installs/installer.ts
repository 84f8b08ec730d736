import type { TasksEnv } from "../tasks/tasks.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { Fault } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { printable } from "../../kernel/core/text.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { RESERVED_NAMES } from "../../kernel/servlets/scopes.ts";
import { toolkitOf, versionOf } from "../../kernel/servlets/toolkit.ts";
import { notPrepared } from "../../kernel/wasm/link.ts";
import { withoutState } from "../../kernel/servlets/runners.ts";
import { keepsState } from "../../kernel/servlets/manifest.ts";
import { ownVariablesIn } from "../../kernel/servlets/variables.ts";
import type { BuildBucket } from "./bucket.ts";
import { isSkillOfProject } from "../../kernel/servlets/skills.ts";
import { buildIn, type Published } from "./installs-rows.ts";
import { digestsOf, invalidBuild, nameTaken, type Build } from "./build.ts";
import { REPLAYED_TASKS, type Installs } from "./installs.ts";
import { permissionsOf } from "./permissions.ts";
import type { ServletLoader } from "./loaded.ts";
import { demandToolkit, overlapsOf, refuseClashes } from "./servable.ts";

/** The version that an install has created or found. */
interface InstallResult {
  name: string;
  version: number;
  hash: string;
  /** False if it was served already. */
  isNew: boolean;
  /** Warnings for the operator; absent if there are none. */
  warnings?: string[];
}

/** The parts of the server that an install needs. */
export interface InstallerParts {
  bucket: BuildBucket;
  installs: () => DurableObjectStub<Installs>;
  /** The objects that register waiting tasks. */
  waiting: () => DurableObjectStub<Installs>[];
  loader: ServletLoader;
  registry: () => Promise<Registry>;
  tasks: TasksEnv["TASKS"];
  /** True if servlets can have state here. */
  keepsState: boolean;
  /** True if servlets can have webhooks here. */
  hasWebhooks: boolean;
  /** Variables, secrets and bindings of the server, which no servlet may name. */
  ownNames: ReadonlySet<string>;
}

/** The outcome of a replay of waiting calls with another build. */
export interface ReplayReport {
  /** The number of waiting calls. */
  waiting: number;
  /** The number of waiting calls that could continue with the build. */
  goOn: number;
  /** The reasons why the others could not, without duplicates. */
  reasons: string[];
}

/** Checks, stores and installs builds. */
export class Installer {
  readonly bucket: BuildBucket;
  readonly installs: InstallerParts["installs"];
  readonly #loader: ServletLoader;
  readonly #registry: () => Promise<Registry>;
  readonly #tasks: InstallerParts["tasks"];
  readonly #waiting: InstallerParts["waiting"];
  readonly #ownNames: InstallerParts["ownNames"];
  readonly #keepsState: boolean;
  readonly #hasWebhooks: boolean;

  constructor(parts: InstallerParts) {
    const { bucket, installs, loader, registry, tasks, ownNames, waiting } = parts;
    this.#keepsState = parts.keepsState;
    this.#hasWebhooks = parts.hasWebhooks;
    this.#waiting = waiting;
    this.#ownNames = ownNames;
    this.#tasks = tasks;
    this.bucket = bucket;
    this.installs = installs;
    this.#loader = loader;
    this.#registry = registry;
  }

  /** The digests of the parts to send: missing ones, and old ones that a sweep could delete before the install ends. */
  missing(build: Build): Promise<string[]> {
    return this.bucket.missing(digestsOf(build), Date.now() - limits.sweepMs / 2);
  }

  /** Stores a build for waiting calls and for installs by agents. Throws `invalid_params` if it cannot be loaded. */
  async publish(build: Build, by: string): Promise<void> {
    await this.#keep(build);
    await this.installs().publish(build, by);
  }

  /** The published build of this name, with its digest; undefined if there is none. */
  async published(name: string): Promise<{ build: Build; digest: string } | undefined> {
    const found = await this.installs().publication(name);
    return found && { digest: found.digest, build: buildIn(found) };
  }

  /** The published builds that can be installed and are not served. */
  async installable(): Promise<Published[]> {
    const { servlets } = (await this.#registry()).whole;
    const bundled = new Set(servlets.flatMap((one) => (one.module ? [one.name] : [])));
    const published = await this.installs().published();
    return published.filter(({ name, isServed }) => !bundled.has(name) && !isServed);
  }

  /** Serves a build; `seen` as in `Installs`. Throws `invalid_params` if it cannot be loaded, `conflict`. */
  async install(build: Build, by: string, seen?: number): Promise<InstallResult> {
    const { name, hash } = build;
    await this.demandInstallable(build);
    await this.#keep(build);
    const warnings = await this.#warnings(build);
    const version = unsettled(await this.installs().install(build, by, seen));
    return { name, hash, ...version, ...(warnings.length > 0 && { warnings }) };
  }

  /** Warnings for the person who approves a build, besides its permissions. */
  async #warnings(build: Build): Promise<string[]> {
    const { whole } = await this.#registry();
    const { servlets } = whole;
    const toolkit = toolkitOf(build);
    const same = servlets.filter((one) => one.name !== build.name && toolkitOf(one) === toolkit);
    const versions = same.map(
      (one) =>
        `Beware: ${printable(one.name)} also has the toolkit ${printable(toolkit)}, in version ${versionOf(one)}; this one is ${versionOf(build)}. MCP clients get the newest alone.`,
    );
    return [...versions, ...overlapsOf(build, whole)];
  }

  /** Permissions and warnings for the person who approves an install. Throws `conflict` if it would be refused. */
  async consequences(build: Build): Promise<string[]> {
    await this.demandInstallable(build);
    return [...permissionsOf(build), ...(await this.#warnings(build))];
  }

  /** Throws `conflict` if its name or one of its tools, prompts or resources is taken. */
  async demandInstallable(build: Build): Promise<void> {
    const { name } = build;
    const { whole } = await this.#registry();
    const { servlets } = whole;
    const isOwn = servlets.some((one) => one.name === name && one.module !== undefined);
    if (isOwn || isSkillOfProject(servlets, name)) throw nameTaken(name);
    for (const one of [name, toolkitOf(build)]) if (RESERVED_NAMES.has(one)) throw nameTaken(one);
    if (keepsState(build.manifest) && !this.#keepsState) throw withoutState(name);
    if (build.manifest.webhooks !== undefined && !this.#hasWebhooks) throw withoutWebhooks(name);
    demandToolkit(
      build,
      servlets.filter((one) => one.module !== undefined),
    );
    refuseClashes(build, whole);
  }

  /** Replays a servlet's waiting tasks with another build. Throws `invalid_params` if the build cannot be loaded. */
  async replay(build: Build): Promise<ReplayReport> {
    const report: ReplayReport = { waiting: 0, goOn: 0, reasons: [] };
    const tasks = this.#tasks;
    if (tasks === undefined) return report;
    await this.#demandLoadable(build);
    const text = JSON.stringify(build);
    const waiting = await Promise.all(this.#waiting().map((one) => one.waiting(build.name)));
    for (const id of waiting.flat().slice(0, REPLAYED_TASKS)) {
      const reason = await tasks.get(tasks.idFromString(id)).replay(text);
      if (reason === null) continue;
      report.waiting++;
      if (reason === undefined) report.goOn++;
      else if (!report.reasons.includes(reason)) report.reasons.push(reason);
    }
    return report;
  }

  async #keep(build: Build): Promise<void> {
    const [problem] = ownVariablesIn(build.manifest, (name) => this.#ownNames.has(name));
    if (problem !== undefined) throw invalidBuild(`manifest: ${problem}`);
    await this.#demandLoadable(build);
    await this.bucket.putBuild(build);
  }

  async #demandLoadable(build: Build): Promise<void> {
    // It would run when the module is instantiated, before fuel is counted.
    if (hasStart(new Uint8Array(await this.bucket.part(build.parts.module))))
      throw notPrepared("it has a start function");
    await this.#loader.check(build);
  }
}

const withoutWebhooks = (name: string): Fault =>
  new Fault(
    "conflict",
    `${name} has webhooks, for which this server lacks the binding HOOKS. Add the Durable Object HOOKS to wrangler.toml, and deploy.`,
  );

/** The id of a module's start section: https://webassembly.github.io/spec/core/binary/modules.html */
const START = 8;

/** True if this module has a start function. The result is meaningless for bytes that are no module. */
function hasStart(wasm: Uint8Array): boolean {
  for (let at = 8; at < wasm.length;) {
    if (wasm[at] === START) return true;
    let size = 0;
    for (let shift = 0, byte = 0x80; byte >= 0x80 && shift < 35; shift += 7) {
      byte = wasm[++at] ?? 0;
      size += (byte & 0x7f) * 2 ** shift;
    }
    at += 1 + size;
  }
  return false;
}
