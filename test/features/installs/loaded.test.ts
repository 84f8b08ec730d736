import { loadedRunner } from "../../../src/server/kernel/servlets/runners.ts";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { bucketOf } from "../../../src/server/features/installs/bucket.ts";
import { hashOf } from "../../../src/server/features/installs/build.ts";
import { ServletLoader } from "../../../src/server/features/installs/loaded.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import type { PreparedServlet } from "../../../src/server/kernel/servlets/bundle.ts";
import { connected } from "../../../src/server/kernel/servlets/connect.ts";
import type { Manifest } from "../../../src/server/kernel/servlets/manifest.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { GuestError } from "../../../src/server/kernel/wasm/guest.ts";
import { liveWorld } from "../../../src/server/kernel/wasm/world.ts";

/** The isolate of a servlet, with another runner than ours: one that has been taken over, or dies. */

const bucket = bucketOf(env)!;
const { TEST_LOADER: loader } = env as unknown as { TEST_LOADER: WorkerLoader };
const WASM = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

async function servletOf(module: Uint8Array<ArrayBuffer>, manifest: Manifest = {}) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", module));
  const parts = { module: digest.toHex() };
  const servlet: PreparedServlet = {
    name: "taken",
    dialect: "hyper-v2",
    hash: await hashOf(parts),
    parts,
    exports: ["call_tool"],
    manifest,
  };
  return servlet;
}

const put = async ({ parts }: PreparedServlet, module: Uint8Array<ArrayBuffer>) =>
  bucket.putPart(parts!.module, new Blob([module]).stream(), module.length);

/** A loader whose runner does this with `input` and `hooks`; and what it has fetched. */
function loaderWith(body: string, script = "") {
  const fetched: Request[] = [];
  const fetches = async (request: Request) => {
    fetched.push(request);
    return new Response("fetched", { status: 302, headers: { location: "http://10.0.0.1/" } });
  };
  const runner = {
    compatibilityDate: "2026-09-01",
    stateScript: "",
    script: `import { WorkerEntrypoint } from "cloudflare:workers";
${script}
export const runnerOf = () => class extends WorkerEntrypoint {
  async run({ input }, hooks) {
    const returned = (output) => ({ value: { kind: "returned", output: JSON.stringify(output), fuelUsed: 0 } });
    ${body}
  }
};`,
  };
  const deployment = {
    ...deploymentOf(readSettings({}), {}),
    world: { ...liveWorld, fetch: fetches },
  };
  return {
    loader: new ServletLoader({ loader, bucket, runner, deployment: () => deployment }),
    fetched,
  };
}

const run = async (
  { loader: by }: ReturnType<typeof loaderWith>,
  servlet: PreparedServlet,
  input = "",
) => {
  const ending = await by.run(servlet, { export: "call_tool", input }, nobodysCall);
  return ending.kind === "returned" ? ending.output : ending.kind;
};

beforeAll(async () => put(await servletOf(WASM), WASM));

describe("a runner that has been taken over", () => {
  const asks = "return returned(await hooks.fetch(new Request(input)));";

  test("reaches no host that the manifest does not name", async () => {
    const taken = loaderWith(asks);
    const servlet = await servletOf(WASM, { allowed_hosts: ["*.example"] });
    for (const url of ["https://other.test/", "http://127.0.0.1/", "http://a.example.evil.test/"]) {
      expect(await run(taken, servlet, url)).toMatch(/"forbidden".*does not allow that host/);
    }
    expect(taken.fetched).toEqual([]);
    await run(taken, servlet, "https://api.example/");
    expect(taken.fetched).toMatchObject([{ url: "https://api.example/", redirect: "manual" }]);
  });

  test.each([
    "Requests with the account mail may not go to other.example.",
    "The account mail is not connected. Call again to connect it.",
    "The response had its access token in it.",
  ])("is told why a request was refused: %s", async (why) => {
    const { loader: by } = loaderWith(asks);
    const refuses = () => Promise.reject(new GuestError(why));
    Object.assign(by.deployment, { world: { ...liveWorld, fetch: refuses } });
    const servlet = await servletOf(WASM, { allowed_hosts: ["*.example"] });
    const said = await run({ loader: by, fetched: [] }, servlet, "https://api.example/");
    expect(JSON.parse(said!)).toEqual({ code: "forbidden", message: why });
  });

  test("is not told more of a host that could not be reached", async () => {
    const { loader: by } = loaderWith(asks);
    const fails = () => Promise.reject(new TypeError("10.1.2.3 refused"));
    Object.assign(by.deployment, { world: { ...liveWorld, fetch: fails } });
    const servlet = await servletOf(WASM, { allowed_hosts: ["*.example"] });
    const said = await run({ loader: by, fetched: [] }, servlet, "https://api.example/");
    expect(said).not.toContain("10.1.2.3");
  });

  test.each([
    ["has no network of its own", "await fetch(input);"],
    [
      "has no sockets",
      'const { connect } = await import("cloudflare:sockets"); await connect("127.0.0.1:1").opened;',
    ],
  ])("%s", async (_what, body) => {
    const taken = loaderWith(
      `try { ${body} return returned("out"); } catch (error) { return returned(error.message); }`,
    );
    expect(await run(taken, await servletOf(WASM), "http://127.0.0.1:1/")).toMatch(
      /not permitted to access the internet/,
    );
  });

  test("has no bindings, and no way to other servlets", async () => {
    const taken = loaderWith("return returned([this.env, Object.keys(this.ctx.exports ?? {})]);");
    expect(await run(taken, await servletOf(WASM))).toBe('[{},["Runner"]]');
  });
});

test("a run that is not to be seen logs nowhere else", async () => {
  const { loader: by } = loaderWith(
    `await hooks.log("info", "xyzzy"); return returned({ content: [] });`,
  );
  const logged = vi.spyOn(console, "info");
  onTestFinished(() => logged.mockRestore());
  const said: string[] = [];
  const quiet = {
    ...by.deployment,
    runners: [loadedRunner(by.run.bind(by))],
    log: (_servlet: string, _level: string, text: string) => void said.push(text),
  };
  await connected(await servletOf(WASM), quiet).callTool("any", {}, nobodysCall);
  expect(said).toEqual(["xyzzy"]);
  expect(logged).not.toHaveBeenCalled();
});

describe("a runner that dies", () => {
  test.each([
    ["in a call", loaderWith("throw new Error('isolate exceeded its memory');")],
    ["when it is loaded", loaderWith("", "throw new Error('isolate exceeded its memory');")],
  ])("%s ends the call with a message", async (_when, dying) => {
    const servlet = await servletOf(WASM);
    for (let time = 0; time < 2; time++) {
      await expect(run(dying, servlet)).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringMatching(/^The servlet taken was stopped: .*Try again\.$/),
      });
    }
  });

  test("in a call is replaced by one that knows nothing of it", async () => {
    const dying = loaderWith(
      "if (input === 'die') { isHurt = true; throw new Error('dead'); } return returned(isHurt);",
      "let isHurt = false;",
    );
    const servlet = await servletOf(WASM);
    await expect(run(dying, servlet, "die")).rejects.toMatchObject({ code: "unavailable" });
    expect(await run(dying, servlet)).toBe("false");
  });

  test("because its code is missing is replaced once the code is there again", async () => {
    const well = loaderWith("return returned('well');");
    const module = new Uint8Array([...WASM, 0, 2, 1, 0x61]);
    const servlet = await servletOf(module);
    await expect(run(well, servlet)).rejects.toMatchObject({ code: "unavailable" });
    await put(servlet, module);
    expect(await run(well, servlet)).toBe('"well"');
  });
});
