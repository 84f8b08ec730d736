import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, resolve } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";
import { FEATURES } from "./src/tools/bundle/features.ts";
import { withoutFeatures } from "./test/node/without.ts";
import { settings } from "./test/worker/settings.ts";
import { storageFolder } from "./test/worker/storage.ts";

// Hundreds of processes load the same modules: compiled once, they start in half the time.
process.env["NODE_COMPILE_CACHE"] ??= resolve(".bundle/compiled");

// A fresh clone has none, and no test could be found.
if (!existsSync("test/bundle.gen.ts")) {
  console.error(
    "The tests need the bundle, which is made now, once, in some minutes: npm run bundle:tests",
  );
  const made = spawnSync("npm run --silent bundle:tests", {
    stdio: "inherit",
    shell: true,
  });
  if (made.status !== 0) process.exit(1);
}

/** Polls end with their condition; this bound is for a busy machine. */
const expect = { poll: { timeout: 30_000, interval: 20 } };

// Where miniflare, in this process, has its storage. The other tests have the usual folder.
const TMPDIR = tmpdir();
process.env["TMPDIR"] = storageFolder();

// Wrangler reads the .dev.vars that are beside a configuration: those of the project are its user's.
const CONFIGURATION = resolve(".bundle/vitest/wrangler.toml");
mkdirSync(dirname(CONFIGURATION), { recursive: true });
const own = readFileSync("wrangler.toml", "utf8");
writeFileSync(
  CONFIGURATION,
  own.replace('".bundle/assets"', JSON.stringify(resolve(".bundle/assets"))),
);

/** The features that the tested Worker is made without: `npm run without -- NAME`. */
const without = process.env["WITHOUT"]?.split(",") ?? [];

export default defineConfig({
  // Packages without their sources are no news.
  logLevel: "error",
  test: {
    reporters: ["./test/node/progress.ts"],
    // What servers and servlets log is shown of tests that fail.
    silent: "passed-only",
    slowTestThreshold: 10_000,
    // An object whose alarm comes as the run ends loads the Worker's modules, which nobody gives it any more.
    onUnhandledError: ({ name, message }) =>
      name !== "EnvironmentTeardownError" || !message.includes('"resolve" was pending'),
    // Most of them wait more than they compute.
    maxWorkers: 3,
    // `@module-tag NAME` in a file of `test/features/` names a feature that its tests need beside that of their folder.
    tags: FEATURES.map((name) => ({ name })),
    projects: [
      {
        // The Worker that is tested has the test guests too; its bindings are those of wrangler.toml.
        plugins: [
          withoutFeatures(without),
          cloudflareTest({
            main: "./test/worker/index.ts",
            // Else workerd tells of each exception that is caught.
            verbose: false,
            wrangler: { configPath: CONFIGURATION },
            miniflare: {
              bindings: settings,
              r2Buckets: ["BUILDS", "TRANSFERS_BUCKET"],
              workerLoaders: { TEST_LOADER: {} },
              durableObjects: {
                SCRATCH: { className: "Scratch", useSQLite: true },
                // wrangler.toml has these as comments.
                HOOKS: { className: "Hooks", useSQLite: true },
                TRANSFERS: { className: "Transfers", useSQLite: true },
              },
              ratelimits: { LIMITED: { namespace_id: "1", simple: { limit: 3, period: 60 } } },
            },
          }),
        ],
        test: {
          name: "workerd",
          include: ["test/worker/**/*.test.ts", "test/features/*/*.test.ts"],
          globalSetup: "./test/worker/quiet.ts",
          // Files share their modules: to load them for each takes longer than most tests. Whatever a file changes in
          // them it puts back, and hooks stand in test files, or in functions that they call (`prepare…`).
          isolate: false,
          setupFiles: "./test/worker/shared.ts",
          expect,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "node",
          globalSetup: ["./test/node/built-worker.ts", "./test/node/given-plugins.ts"],
          include: [
            "test/node/**/*.test.ts",
            "test/features/*/node/*.test.ts",
            "plugins/**/*.test.ts",
          ],
          env: { TMPDIR },
          // Node's own WASI, an oracle, says that it is experimental.
          execArgv: ["--disable-warning=ExperimentalWarning"],
          isolate: false,
          expect,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
