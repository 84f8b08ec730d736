/**
 * The static facts of a feature, which the bundle step reads in Node: `src/server/features/NAME/about.ts` exports them.
 */
import type { Lists } from "./core/model.ts";
import type { Manifest } from "./servlets/manifest.ts";
import type { Profiles } from "./servlets/profiles.ts";
import type { Optional } from "./settings/known-features.ts";

/** A project: its servlets, skills and profiles, and the names of the bindings and variables in its wrangler.toml. */
export interface Project {
  servlets: readonly {
    name: string;
    manifest: Manifest;
    /** Absent if they are dynamic. */
    lists?: Lists | undefined;
    hasSkills?: boolean;
  }[];
  hasSkills?: boolean;
  profiles: Profiles;
  bindings: ReadonlySet<string>;
  variables: ReadonlySet<string>;
}

export interface AboutFeature {
  /** The names of its bindings. */
  readonly bindings?: readonly string[];
  /** What is off without its bindings, as a noun. */
  readonly off?: string;
  /** The names of the settings that its `settings.ts` describes. */
  readonly settings?: readonly string[];
  /** How a server without the feature describes it. */
  readonly optional?: Optional;
  /** The features that its record needs. */
  readonly needs?: readonly string[];
  /**
   * Bindings, any of which brings the feature in: its own by default. A bound class may have stored objects with
   * alarms.
   */
  readonly broughtInBy?: readonly string[];
  /** Why anything else in a project brings it in; undefined if nothing does. */
  reasonIn?(project: Project): string | undefined;
  /** Names in the code of servlets that call its host functions: such a servlet may wait. */
  readonly calledAs?: readonly string[];
  /** True if installed servlets may need it. */
  readonly isForInstalled?: boolean;
  /** The Durable Objects that some servlets require, by binding name. */
  readonly servletsNeed?: {
    readonly bindings: readonly string[];
    of(manifest: Manifest): boolean;
    /** The reason, to be read after the servlet's name. */
    readonly because: string;
  };
  /** The bindings that are required where this variable is set. */
  readonly variableNeeds?: { readonly variable: string; readonly bindings: readonly string[] };
  /** The Durable Object that counts what it stores for callers where it is bound: without that, they may store any amount. */
  readonly storageCountedBy?: string;
}
