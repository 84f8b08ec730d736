/** Limits of installed servlets. */
import { addLimits } from "../../kernel/core/limits.ts";
export { limits } from "../../kernel/core/limits.ts";

declare module "../../kernel/core/limits.ts" {
  interface Limits extends Own {}
}

type Own = typeof own;
const own = addLimits({
  internal: {
    /** Names of each kind, and characters of each of them, that are shown of a servlet's lists to who approves it. */
    approvedNames: 50,
    approvedCharacters: 128,
    /** One part of a build in the bucket: as much as a Worker may have. Its JSON: a row has 2 MB. */
    partBytes: 64 * 1024 * 1024,
    buildBytes: 1024 * 1024,
    /** The skills of a servlet: every client takes one of so many. */
    skillBytes: 16 * 1024 * 1024,
    /** How long an isolate serves what it knows of installed servlets before it asks for news: five seconds are promised. */
    installsMs: 3000,
    installsStaleMs: 4500,
    /** Installed servlets: the catalog of each isolate has all of them. */
    installedServlets: 300,
    /** Their builds together, as JSON: each isolate gets them in one message, which may have 32 MiB. */
    installedBytes: 16 * 1024 * 1024,
    /** How long a build is kept that is served no more: no call waits longer than `taskMs`. */
    oldBuildMs: 8 * 86_400_000,
    /** How often old builds are looked for, and parts that no build has any more are deleted when so old. */
    sweepMs: 86_400_000,
  },
});
