import type { Settled } from "../state/remote-hooks.ts";
import type { Manifest } from "../servlets/manifest.ts";
import type { Build } from "./build.ts";

/** A version of an installed servlet, without its build. */
export interface InstalledVersion {
  version: number;
  hash: string;
  /** ISO 8601. */
  installed: string;
  /** The name of the operator who installed it. */
  by: string;
}

/** The builds of all installed servlets; `generation` grows with each change. */
export interface InstalledBuilds {
  generation: number;
  /** Each as JSON. */
  builds: string[];
}

/** RPC type of the object that has all installed servlets. */
export interface InstallsObject extends Rpc.DurableObjectBranded {
  /** The installed builds; undefined if nothing has changed since this generation. */
  since(generation: number): Promise<InstalledBuilds | undefined>;
  /**
   * Serves a build as a new version; `isNew` is false if it is served already. Fails with `conflict` if the bundle has a
   * servlet of that name, if another servlet has one of its tools, prompts or resources, and beyond
   * `limits.installedServlets`. Here and below, also if `seen` is given and is not the served version (0: none).
   */
  install(
    build: Build,
    by: string,
    seen?: number,
  ): Promise<Settled<{ version: number; isNew: boolean }>>;
  /** Makes the build with this hash the one that agents may install by this name. */
  publish(name: string, hash: string, by: string): Promise<void>;
  /** Undoes `publish`. Fails with `invalid_request` if no build of that name is published. */
  unpublish(name: string): Promise<Settled<void>>;
  /** All published builds, by name. */
  published(): Promise<{ name: string; hash: string; by: string }[]>;
  /** Serves a kept version again. Fails with `invalid_request` that names the versions that are kept, or `conflict` as above. */
  rollBack(
    name: string,
    to: number,
    seen?: number,
  ): Promise<Settled<{ version: number; hash: string }>>;
  /** Removes all versions. Fails with `invalid_request` if no servlet of that name is installed. */
  uninstall(name: string, seen?: number): Promise<Settled<void>>;
  /** The versions of a servlet with their builds as JSON, the newest first, and the number of the one that is served. */
  versions(
    name: string,
  ): Promise<{ current: number | null; versions: (InstalledVersion & { build: string })[] }>;
  /** The served version of each installed servlet. */
  list(): Promise<(InstalledVersion & { name: string; tools: number })[]>;
  /** The names of all servlets that were ever installed with state, and for whom they kept it. */
  kept(): Promise<{ name: string; state: Manifest["state"] }[]>;
  /** Notes a task that waits, by its id and the name of its servlet, until it expires (Unix ms). */
  waits(task: string, servlet: string, until: number): Promise<void>;
  /** The ids of tasks that wait for a servlet; some may have ended. */
  waiting(servlet: string): Promise<string[]>;
  /** Keeps an old build for another `limits.oldBuildMs`, because a call has continued with it. */
  needed(hash: string): Promise<void>;
}
