import type { Settled } from "../durable/remote-hooks.ts";
import type { Build } from "./build.ts";

/** A version of an installed servlet, without its build. */
export interface Version {
  version: number;
  hash: string;
  /** ISO 8601. */
  installed: string;
  /** The name of who has installed it. */
  by: string;
}

/** What is installed; `generation` grows with each change. */
export interface Installed {
  generation: number;
  /** Each as JSON. */
  builds: string[];
}

/** RPC type of the object that knows what is installed. */
export interface InstallsObject extends Rpc.DurableObjectBranded {
  /** What is installed; undefined if that is still this generation. */
  since(generation: number): Promise<Installed | undefined>;
  install(build: Build, by: string): Promise<Settled<{ version: number; isNew: boolean }>>;
  /** Remembers which build of a servlet may be installed by its name. */
  publish(name: string, hash: string, by: string): Promise<void>;
  /** Those builds. */
  published(): Promise<{ name: string; hash: string; by: string }[]>;
  /** Serves an earlier version again: this one, or else the one before. */
  rollBack(name: string, to: number | null): Promise<Settled<{ version: number; hash: string }>>;
  uninstall(name: string): Promise<Settled<void>>;
  /** The versions of a servlet with their builds as JSON, the newest first, and which is served. */
  versions(
    name: string,
  ): Promise<{ current: number | null; versions: (Version & { build: string })[] }>;
  /** The served version of each installed servlet. */
  list(): Promise<(Version & { name: string; tools: number })[]>;
  /** Notes a task that waits, by its id and the name of its servlet, until it expires (Unix ms). */
  waits(task: string, servlet: string, until: number): Promise<void>;
  /** The ids of those that wait for a servlet; some may have ended. */
  waiting(servlet: string): Promise<string[]>;
  /** Keeps an old build for longer: a call has gone on with it. */
  needed(hash: string): Promise<void>;
}
