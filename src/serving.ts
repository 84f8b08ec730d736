import { isRecent } from "./core/recent.ts";
import { providersOf, type Provider } from "./auth/account-provider.ts";
import type { Env } from "./bindings.ts";
import { PersonObjects } from "./pages/person-objects.ts";
import type { StateOwner } from "./operator/operated-states.ts";
import { stateful } from "./state/servlet-states.ts";
import type { tasksOf } from "./calls/tasks.ts";
import { toolCallerOf } from "./calls/tool-caller.ts";
import type { Sealer } from "./storage/vault.ts";
import { apiKeysOf, deploymentOf, ownNamesOf, variablesOf, type Settings } from "./settings/env.ts";
import { Fault, report } from "./core/errors.ts";
import { limits } from "./core/limits.ts";
import type { Principal } from "./core/model.ts";
import { refOf, type Bundle, type PreparedServlet } from "./servlets/bundle.ts";
import type { Deployment } from "./servlets/deployment.ts";
import { Registry } from "./servlets/registry.ts";
import { countingIn } from "./observe/counting.ts";
import { actsIn, nearestUsage } from "./observe/usage.ts";
import { metricsFrom } from "./observe/metrics.ts";
import { RefusedRequests } from "./observe/refusals.ts";
import { copiesOf, copyFor, nearestCopy } from "./storage/copies.ts";
import { bucketOf } from "./installs/bucket.ts";
import type { Build } from "./installs/build.ts";
import type { Facets } from "./state/state-backend.ts";
import { facetsWith } from "./installs/state-facet.ts";
import { Installer } from "./installs/installer.ts";
import type { Installs } from "./installs/installs.ts";
import { ServletLoader } from "./installs/loaded.ts";
import { ownServlets } from "./operator/tools.ts";

/** Old builds that an isolate remembers. */
const OLD_BUILDS = 100;
/** The name of the object that has the installed servlets. */
const INSTALLED = "installs";

/** Dependencies of `Serving`; undefined where a binding is missing. */
interface ServingParts {
  sealer: Sealer | undefined;
  tasks: ReturnType<typeof tasksOf>;
}

/**
 * The servlets that this isolate serves: the bundle, and the installed ones, which it asks for at most every
 * `limits.installsMs`. A call keeps the registry that it began with.
 */
export class Serving {
  readonly deployment: Deployment;
  /** Where installed servlets keep their state. */
  readonly facets: Facets;
  /** Undefined where a binding is missing, so that nothing can be installed. */
  readonly installer: Installer | undefined;
  /** Absent where no person can open pages. */
  readonly persons: PersonObjects | undefined;
  /** Absent where nothing is counted. */
  readonly counting: ReturnType<typeof countingIn>;
  readonly refusals: RefusedRequests;
  /** Where callers have accounts, by name. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** The scopes of API keys, by name. */
  readonly keyScopes: ReadonlyMap<string, readonly string[] | undefined>;
  readonly #bundle: Bundle;
  #known: { registry: Registry; generation: number; at: number };
  #isAsking = false;
  /** The copy of the object of installs that this isolate asks, and the one that notes a waiting task. */
  readonly #nearInstalls: (() => DurableObjectStub<Installs>) | undefined;
  readonly #waitsOf: ((task: string) => DurableObjectStub<Installs>) | undefined;
  readonly #old = new Map<string, { servlet: PreparedServlet; at: number }>();

  constructor(bundle: Bundle, settings: Settings, env: Env, { sealer, tasks }: ServingParts) {
    const hasPages = settings.LINKS === "on";
    this.counting = countingIn(nearestUsage(env), metricsFrom(env) !== undefined);
    this.refusals = new RefusedRequests(this.counting?.refused);
    this.keyScopes = new Map(apiKeysOf(settings).map(({ name, scopes }) => [name, scopes]));
    const configured = { ...deploymentOf(settings, env), count: this.counting?.count };
    this.providers = providersOf(settings, variablesOf(env));
    const names = new Set(this.providers.keys());
    const { PROFILES, LOADER, INSTALLS, TASKS } = env;
    const persons =
      hasPages && PROFILES && sealer ? new PersonObjects(PROFILES, sealer, names) : undefined;
    this.persons = persons;
    const kept = { secrets: persons, accounts: persons };
    const plain = { ...configured, ...stateful(env), ...kept, toolCaller: toolCallerOf };
    const registry = this.registry.bind(this);
    const calls = hasPages ? tasks : undefined;
    const personal = calls && ((principal: Principal) => calls(principal, async () => {}));
    let installing: Pick<Deployment, "runLoaded" | "oldBuild" | "storedPart"> = {};
    let loader: ServletLoader | undefined;
    const { runner } = bundle;
    const bucket = bucketOf(env);
    if (LOADER && bucket && INSTALLS && runner) {
      loader = new ServletLoader({ loader: LOADER, bucket, runner }, plain);
      const named = (name: string) => INSTALLS.getByName(name);
      this.#nearInstalls = nearestCopy(INSTALLS, INSTALLED, env);
      this.#waitsOf = (task) => named(copyFor(INSTALLED, task, env));
      this.installer = new Installer({
        bucket,
        loader,
        registry,
        tasks: TASKS,
        installs: () => named(INSTALLED),
        waiting: () => copiesOf(INSTALLED, env).map(named),
        ownNames: ownNamesOf(settings, env),
      });
      const runLoaded = loader.run.bind(loader);
      const storedPart = bucket.part.bind(bucket);
      installing = { runLoaded, oldBuild: this.#oldBuild.bind(this), storedPart };
    }
    const { installer } = this;
    const { profiles = {}, skills } = bundle;
    const isSearched = Object.values(profiles).some(({ tools }) => tools === "search");
    const noted = actsIn(env);
    const acted = (by: string, what: string) => noted(by, "agent", what);
    const own = ownServlets({ acted, installer, registry, tasksOf: personal, skills, isSearched });
    this.facets = facetsWith(loader);
    this.deployment = { ...plain, ...installing, own, profiles };
    this.#bundle = bundle;
    this.#known = {
      registry: this.#registryWith([]),
      generation: -1,
      at: -Infinity,
    };
  }

  /** Everything that is served, if it is known without waiting. */
  get known(): Registry | undefined {
    const { registry, at } = this.#known;
    if (this.#nearInstalls === undefined || isRecent(at, limits.installsMs)) return registry;
    return this.#isAsking && isRecent(at, limits.installsStaleMs) ? registry : undefined;
  }

  /** Everything that is served. Throws `unavailable` (retry after 1 s) until the installed servlets were first read. */
  async registry(): Promise<Registry> {
    const { known } = this;
    if (known !== undefined) return known;
    this.#isAsking = true;
    try {
      await this.#ask();
    } catch (error) {
      if (this.#known.generation < 0) {
        const fault = Fault.from(error);
        if (fault.code === "storage_full") throw fault;
        throw new Fault(
          "unavailable",
          "The server does not know yet which servlets are installed. Try again in a moment.",
          { cause: error, data: { retryAfter: 1 } },
        );
      }
      report(error);
    } finally {
      this.#isAsking = false;
    }
    return this.#known.registry;
  }

  /** All servlets with the scope of their state: first those that keep state, then former ones that did, then all. */
  async stateOwners(): Promise<StateOwner[]> {
    const { servlets } = (await this.registry()).whole;
    const former = (await this.installer?.installs().kept()) ?? [];
    const all = servlets.map((one) => ({ ...refOf(one), state: one.manifest.state }));
    const keeping = all.filter(({ state = "call" }) => state !== "call");
    return [...keeping, ...former, ...all];
  }

  /** Registers a waiting task, by its id and its servlet's hash, for `replay`, until it expires (Unix ms). */
  async noteWaiting(task: string, hash: string, until: number): Promise<void> {
    if (this.#waitsOf === undefined) return;
    const { servlets } = (await this.registry()).whole;
    const { name } =
      servlets.find((one) => one.hash === hash) ?? (await this.#oldBuild(hash)) ?? {};
    if (name !== undefined) await this.#waitsOf(task).waits(task, name, until);
  }

  async #ask(): Promise<void> {
    if (this.#nearInstalls === undefined) return;
    const asked = Date.now();
    const news = await this.#nearInstalls().since(this.#known.generation);
    if (news === undefined) {
      this.#known.at = asked;
      return;
    }
    // Another request may have had a later answer meanwhile.
    if (news.generation < this.#known.generation) return;
    const registry = this.#registryWith(news.builds.map((build) => JSON.parse(build) as Build));
    this.#known = { registry, generation: news.generation, at: asked };
  }

  /** The registry of the bundle, of the server's own servlets and of these. */
  #registryWith(installed: readonly Build[]): Registry {
    const { own = new Map() } = this.deployment;
    const names = new Set(this.#bundle.servlets.map(({ name }) => name));
    const others = installed.filter(({ name }) => !names.has(name));
    // The first of two entries with one name is the one that is served.
    const servlets = [...own.keys(), ...this.#bundle.servlets, ...others];
    return new Registry({ servlets }, this.deployment);
  }

  /** A build that is no longer served, from the bucket; undefined if it is gone. Its time in the bucket begins anew. */
  async #oldBuild(hash: string): Promise<PreparedServlet | undefined> {
    const known = this.#old.get(hash);
    if (known !== undefined && Date.now() - known.at < limits.sweepMs) return known.servlet;
    const servlet = await this.installer!.bucket.build(hash);
    if (servlet === undefined) return undefined;
    await this.installer!.installs().needed(hash);
    if (this.#old.size >= OLD_BUILDS) this.#old.clear();
    this.#old.set(hash, { servlet, at: Date.now() });
    return servlet;
  }
}
