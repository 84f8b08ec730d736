/** Limits of installed servlets. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Names of each kind in a servlet's lists, and characters of a name, shown to the person who approves it. */
    approvedNames: 50,
    approvedCharacters: 128,
    /** One part of a build: the maximum size of a Worker. The JSON of a build: a row has at most 2 MB. */
    partBytes: 64 * 1024 * 1024,
    buildBytes: 1024 * 1024,
    /** The skills of a servlet together: every client accepts an archive of this size. */
    skillBytes: 16 * 1024 * 1024,
    /** How long an isolate caches the installed servlets before it asks again: five seconds are promised. */
    installsMs: 3000,
    installsStaleMs: 4500,
    /** Installed servlets: each isolate's catalog has all of them. */
    installedServlets: 300,
    /** Their builds together, as JSON: each isolate gets them in one message of at most 32 MiB. */
    installedBytes: 16 * 1024 * 1024,
    /** How long a build is kept that is no longer served: no call waits longer than `taskMs`. */
    oldBuildMs: 8 * 86_400_000,
    /** Interval of the sweep for old builds, and the age at which parts without a build are deleted. */
    sweepMs: 86_400_000,
  },
});
