import type { HonoBase } from "hono/hono-base";
import { createAuthenticator, type Authenticator, type SignInParts } from "./auth/authenticator.ts";
import { keyRecordsOf } from "./auth/key-records.ts";
import { storageQuota } from "./auth/quotas.ts";
import { RateLimiter } from "./auth/rate-limiter.ts";
import type { Env } from "./bindings.ts";
import { configureLimits } from "./core/limits.ts";
import type { Fault } from "./core/errors.ts";
import { OPERATOR_SCOPE, type Principal } from "./core/model.ts";
import { siteOf, type Site } from "./http/site.ts";
import { listDigests, type ListDigests } from "./mcp/legacy/list-digests.ts";
import type { Carried, Introduction, Methods, SessionRequests } from "./mcp/method.ts";
import { methodsWith } from "./mcp/methods.ts";
import type { Publisher } from "./calls/changes.ts";
import type { TasksOf } from "./calls/task-object.ts";
import type { Counting } from "./observe/counted.ts";
import { RefusedRequests } from "./observe/refusals.ts";
import type { Operations } from "./http/operations.ts";
import type { ObjectClass } from "./object-class.ts";
import {
  refOf,
  type BundledServlets,
  type PreparedServlet,
  type StateOwner,
} from "./servlets/bundle.ts";
import type { Contributor } from "./servlets/catalog.ts";
import type { Deployment, FeatureFunction, ServletRunner } from "./servlets/deployment.ts";
import { ownServlet, type OwnTool } from "./servlets/own.ts";
import { endpointsOf, profileOf, type Profile } from "./servlets/profiles.ts";
import { Registry } from "./servlets/registry.ts";
import { noState } from "./servlets/runners.ts";
import {
  commonScopes,
  grantsProfile,
  isScope,
  OPERATOR_SERVLET,
  SERVER_SERVLET,
} from "./servlets/scopes.ts";
import { demandFeatures, knowFeatures, type KnownFeatures } from "./settings/known-features.ts";
import {
  apiKeysOf,
  deploymentOf,
  limitsIn,
  readSettings,
  type FeatureSettings,
  type Settings,
} from "./settings/env.ts";
import { sealerOf, type Sealer } from "./storage/vault.ts";

/** Servlets that are served but are not in the bundle. */
export interface OtherServlets {
  /** The registry of everything served, if known without waiting. */
  readonly known: Registry | undefined;
  /** The registry of everything served. Throws `unavailable`. */
  registry(): Promise<Registry>;
  /** Servlets that are no longer served, but may still have state. */
  former(): Promise<readonly StateOwner[]>;
  /** Registers a waiting task, by its id and its servlet's hash, until it expires (Unix ms). */
  noteWaiting(task: string, hash: string, until: number): Promise<void>;
}

/**
 * An optional part of the server, such as tasks or the console. The bundle step includes the features that the
 * servlets, profiles and bindings of a project need.
 */
export interface Feature {
  readonly name: string;
  /** Features that this one requires: they start first. */
  readonly needs?: readonly Feature[];
  /** Settings that only this feature, and features that need it, read. */
  readonly settings?: FeatureSettings;
  /**
   * Starts the feature, once in each isolate. `kernel.authenticator` and `kernel.deployment` do not exist yet: they are
   * set when all features have started. Throws if the configuration is invalid.
   */
  start(kernel: Kernel): Started;
}

/**
 * Parts that features add for the kernel and for each other. This declaration has the parts that the kernel itself
 * uses; each feature declares its own. A part is absent without its feature, or if a binding is missing.
 */
export interface Parts {
  tasks?: TasksOf;
  /** Waiting calls whose state the client carries. */
  carried?: Carried;
  sessionRequests?: SessionRequests;
  /** The hub on which changes are published for a principal's clients. */
  hubOf?(principal: Principal): Publisher;
  /** Origin of the pages on which a caller's user answers; undefined if nobody could open them. */
  pagesFor?(principal: Principal, request: Request): string | undefined;
  /** True if what a call asks is to be answered on a page, although its client declares that it can ask. */
  prefersLinks?: (client: string | undefined, headers: Headers) => boolean;
  counting?: Counting;
  /** Servlets that are not in the bundle. */
  others?: OtherServlets;
  /** Records an operator's act as a sentence, and how it was done. Never throws. */
  recordAct?(by: string, how: "agent" | "command" | "page", what: string): Promise<void>;
}

/** What a feature adds to the server. */
export interface Started {
  parts?: Parts;
  /** Classes of Durable Objects, under their names in wrangler.toml. */
  objects?: Readonly<Record<string, ObjectClass>>;
  /** Adds routes, before those of the kernel. */
  routes?(app: HonoBase): void;
  /**
   * A failed request as a page, with these headers; undefined if the client is not a browser. The first feature that
   * has this function answers.
   */
  failurePage?(
    raw: Request,
    failure: { status: number; message: string; headers?: Headers },
  ): Promise<Response> | undefined;
  /** MCP methods, or further handlers of the kernel's methods. */
  methods?: Methods;
  /** Replaces the kernel's response to a failed request at one of these paths. */
  refusal?: { paths: RegExp; answer(fault: Fault, challenge: string | undefined): Response };
  /** Additions to the catalog. */
  catalog?: Contributor;
  /** Additions to the deployment of servlets. */
  deployment?: Partial<Deployment>;
  /** Functions that guests may call, by name; the name begins with the feature's: `NAME.verb`. */
  hostFunctions?: Readonly<Record<string, FeatureFunction>>;
  /** Runs some servlets elsewhere; runners of features that started earlier come first. */
  runner?: ServletRunner;
  /** Tools of the server itself, by the servlet that has them. */
  tools?: Partial<Record<"server" | "operator", Readonly<Record<string, OwnTool>>>>;
  /** Means of authentication besides API keys. */
  signIn?: SignInParts;
  /** Operations for operators' commands, which the feature `operator` serves. */
  operations?: Operations;
  /**
   * Deletes everything that the feature stores for a caller, by its key. Returns the names of servlets that may have
   * stored something.
   */
  forget?(caller: string): Promise<void | readonly string[]>;
  /**
   * Called with the first request of an isolate to an address of this server, and with the next one whenever other
   * servlets are served.
   */
  served?(registry: Registry, request: Request): Promise<void>;
  /** Members to add to the response of `/health`. */
  health?: object;
}

/**
 * The module that `npm run bundle` writes, with all servlets and the server features that they need:
 * {@link createWorker} serves it.
 */
export interface Bundle extends BundledServlets {
  readonly features: readonly Feature[];
  /** The facts of all features, including those left out. */
  readonly known?: KnownFeatures;
}

// eslint-disable-next-line no-unsafe-declaration-merging -- Features' parts become members.
export interface Kernel extends Readonly<Parts> {}

/**
 * The core of the server: it serves servlets by itself, and holds the parts that features add. Made once in each
 * isolate, and shared by its requests and Durable Objects. Throws if the configuration is invalid.
 */
export class Kernel {
  readonly env: Env;
  readonly bundle: Bundle;
  readonly settings: Settings;
  readonly featureSettings: readonly FeatureSettings[];
  /** Absent without the binding KEY_RING. */
  readonly sealer: Sealer | undefined;
  readonly site: Site;
  readonly keyRecords: ReturnType<typeof keyRecordsOf>;
  readonly countStored: ReturnType<typeof storageQuota>;
  readonly rateLimiter: RateLimiter;
  /** The scopes of API keys, by name. */
  readonly keyScopes: ReadonlyMap<string, readonly string[] | undefined>;
  /** How the server introduces itself at `/mcp`, and at the endpoint of each profile. */
  readonly introduction: Introduction;
  readonly introductions: ReadonlyMap<string, Introduction>;
  readonly started: readonly Started[];
  /** The MCP methods that this server supports. */
  readonly methods: Methods;
  readonly authenticator: Authenticator;
  readonly refusals: RefusedRequests;
  readonly deployment: Deployment;

  readonly recordAct: NonNullable<Parts["recordAct"]> = async () => {};

  readonly #bundled: Registry;
  readonly #digests = new Map<string, ListDigests>();

  constructor(bundle: Bundle, env: Env) {
    const { version, profiles = {}, features, known } = bundle as Partial<Bundle> & Bundle;
    if (features === undefined)
      throw new Error("The bundle was made by an earlier version. Make it again: npm run bundle");
    if (known !== undefined) knowFeatures(known);
    const all = inOrder(features);
    this.featureSettings = all.flatMap((one) => one.settings ?? []);
    const settings = readSettings(
      { ...(version !== undefined && { SERVER_VERSION: version }), ...env },
      this.featureSettings,
    );
    configureLimits(limitsIn(env, settings.LIMITS));
    this.env = env;
    this.bundle = bundle;
    this.settings = settings;
    this.sealer = sealerOf(settings, env);
    this.site = siteOf(settings);
    this.keyRecords = keyRecordsOf(env);
    this.countStored = storageQuota(env);
    this.rateLimiter = new RateLimiter(env, this.countStored);
    this.keyScopes = new Map(apiKeysOf(settings).map(({ name, scopes }) => [name, scopes]));
    const endpoints = endpointsOf(profiles);
    this.introduction = introductionOf(settings);
    this.introductions = new Map(
      endpoints.map((name) => [name, introductionOf(settings, profiles[name])]),
    );

    demandFeatures(env, new Set(all.map(({ name }) => name)));
    this.started = all.map((feature) => {
      const started = feature.start(this);
      Object.assign(this, started.parts);
      return started;
    });
    this.methods = methodsWith(this.started.map(({ methods = {} }) => methods));
    this.refusals = new RefusedRequests(this.counting?.refused);
    const there = { servlets: bundle.servlets.map(({ name }) => name), profiles: endpoints };
    this.authenticator = createAuthenticator(settings, env, {
      isScope: (scope, profile) =>
        (scope === OPERATOR_SCOPE && profile === undefined) ||
        isScope(scope, settings.SCOPES, { ...there, ...(profile && { profiles: [profile] }) }),
      profiles: new Map(endpoints.map((name) => [name, profiles[name]!.title ?? name])),
      grantsProfile: (scopes, profile) => grantsProfile(scopes, settings.SCOPES ?? {}, profile),
      commonScopes: (one, other) => commonScopes(one, other, settings.SCOPES ?? {}),
      ...Object.assign({}, ...this.started.map(({ signIn }) => signIn)),
    });
    this.deployment = Object.assign(
      {
        ...deploymentOf(settings, env),
        count: this.counting?.count,
        own: this.#ownServlets(),
        profiles,
        contributors: this.started.flatMap(({ catalog }) => catalog ?? []),
        hostFunctions: new Map(
          this.started.flatMap(({ hostFunctions = {} }) => Object.entries(hostFunctions)),
        ),
        runners: [...this.started.flatMap(({ runner }) => runner ?? []), noState],
      },
      ...this.started.map(({ deployment }) => deployment),
    );
    this.#bundled = this.registryWith([]);
  }

  /** The registry of everything served, if known without waiting. */
  get known(): Registry | undefined {
    return this.others === undefined ? this.#bundled : this.others.known;
  }

  /** The registry of everything served. Throws `unavailable` until the installed servlets were first read. */
  async registry(): Promise<Registry> {
    return this.others === undefined ? this.#bundled : this.others.registry();
  }

  /** The registry of the bundle, the server's own servlets and these. */
  registryWith(installed: readonly PreparedServlet[]): Registry {
    const { own = new Map() } = this.deployment;
    const names = new Set(this.bundle.servlets.map(({ name }) => name));
    const others = installed.filter(({ name }) => !names.has(name));
    // Of two entries with the same name, the first is served.
    const servlets = [...own.keys(), ...this.bundle.servlets, ...others];
    return new Registry({ servlets }, this.deployment);
  }

  /**
   * All servlets with the scope of their state: first those that keep state, then former ones that did, then the rest.
   */
  async stateOwners(): Promise<StateOwner[]> {
    const { servlets } = (await this.registry()).whole;
    const former = (await this.others?.former()) ?? [];
    const all = servlets.map((one) => ({ ...refOf(one), state: one.manifest.state }));
    const keeping = all.filter(({ state = "call" }) => state !== "call");
    return [...keeping, ...former, ...all];
  }

  /**
   * Deletes everything stored for a caller, by its key; returns the names of servlets that may have stored something.
   */
  async forgetCaller(caller: string): Promise<string[]> {
    const names: string[] = [];
    const failures: unknown[] = [];
    // Cancels the waiting calls first, so that they store nothing more; then deletes the rest, even if one part fails.
    for (const { forget } of this.started.toReversed())
      try {
        names.push(...((await forget?.(caller)) ?? []));
      } catch (error) {
        failures.push(error);
      }
    if (failures.length > 0) throw failures[0];
    return names;
  }

  /** Registers a waiting task, so that installs can replay it: see {@link OtherServlets}. */
  async noteWaiting(task: string, hash: string, until: number): Promise<void> {
    await this.others?.noteWaiting(task, hash, until);
  }

  /** Digests of the lists of the bundle, or of a profile, for sessions to compare. */
  listDigests(profile = ""): ListDigests {
    const { profiles = {} } = this.bundle;
    return this.#digests.getOrInsertComputed(profile, () =>
      listDigests(this.bundle, profileOf(profiles, profile)),
    );
  }

  /** This kernel with its sealer, for Durable Objects. Throws an error that names the missing binding. */
  get sealing(): this & { sealer: Sealer } {
    if (this.sealer !== undefined) return this as this & { sealer: Sealer };
    throw new Error(
      "The binding KEY_RING is missing. Add the Durable Object KEY_RING to wrangler.toml.",
    );
  }

  /** The server's own servlets, with the tools of its features. */
  #ownServlets(): Deployment["own"] {
    const toolsOf = (servlet: "server" | "operator") =>
      Object.assign({}, ...this.started.map(({ tools }) => tools?.[servlet])) as object;
    const { skills } = this.bundle;
    const [server, operator] = [toolsOf("server"), toolsOf("operator")];
    const has = (tools: object) => Object.keys(tools).length > 0;
    return new Map([
      ...(has(server) || skills ? [ownServlet(SERVER_SERVLET, { ...server }, skills)] : []),
      ...(has(operator) ? [ownServlet(OPERATOR_SERVLET, { ...operator })] : []),
    ]);
  }
}

/**
 * A profile's own texts, else the server's, except for the instructions, which may mention tools that the profile
 * lacks.
 */
function introductionOf(settings: Settings, profile?: Profile): Introduction {
  const optional = {
    title: profile?.title ?? settings.SERVER_TITLE,
    description: profile?.description ?? settings.SERVER_DESCRIPTION,
    websiteUrl: settings.SERVER_WEBSITE,
    icons: settings.SERVER_ICONS ?? (settings.SERVER_ICON && [{ src: settings.SERVER_ICON }]),
  };
  const given = Object.entries(optional).filter(([, value]) => value !== undefined);
  const { SERVER_NAME: name, SERVER_VERSION: version, SERVER_INSTRUCTIONS: whole } = settings;
  const instructions = profile === undefined ? whole : profile.instructions;
  return {
    info: { name, version, ...Object.fromEntries(given) },
    ...(instructions !== undefined && { instructions }),
  };
}

/** These features and their needs, each once and after its needs. */
function inOrder(features: readonly Feature[]): readonly Feature[] {
  const all = new Set<Feature>();
  const add = (feature: Feature): void => {
    if (all.has(feature)) return;
    for (const needed of feature.needs ?? []) add(needed);
    all.add(feature);
  };
  for (const feature of features) add(feature);
  return [...all];
}
