import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFile, cp, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { built, Operator } from "../http/installing.ts";
import { build, host, project, resultOf, type Hosting } from "./hosting.ts";

/** Backups of a server that runs and of one that does not, put back elsewhere. */

let folder: string;
let hosting: Hosting;
const at = (path: string) => join(folder, path);

const SOON = { timeout: 30_000 };

/** Runs a command of backups; gives its exit code and what it printed. */
const backup = (...args: string[]) =>
  new Promise<{ code: number; output: string }>((done) => {
    const command = [resolve("src/tools/host/backup.ts"), ...args];
    execFile(process.execPath, command, { cwd: folder }, (error, stdout, stderr) =>
      done({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    );
  });

const API_KEYS = JSON.stringify({
  boss: { hash: createHash("sha256").update("boss").digest("hex"), scopes: ["operator", "*:*"] },
});
const KEY = { authorization: "Bearer boss" };
const callAs = async (name: string) =>
  (await resultOf(hosting.url, "tools/call", { name, arguments: {} }, KEY)).content[0].text;
const look = (taskId: string) => resultOf(hosting.url, "tasks/get", { taskId }, KEY);
const SOURCE = `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: { shout: { description: "Shouts.", input: { type: "object", properties: {} }, handler: () => "HEY" } } });`;

beforeAll(async () => {
  folder = await project();
  await build(folder);
  hosting = await host(folder, { variables: { API_KEYS } });
});
afterAll(async () => {
  await hosting.end();
  await rm(folder, { recursive: true });
});

// Each goes on with what those before it have made.
describe("backups", { shuffle: false }, () => {
  test("a backup of a busy server is restored into another folder, and its state and waiting calls go on", async () => {
    const operator = new Operator(hosting.url, KEY);
    await operator.put(await built("loud", SOURCE));
    const asked = { name: "request_approval", arguments: { what: "Paint the bridge" } };
    const { taskId } = await resultOf(hosting.url, "tools/call", asked, KEY);
    await expect.poll(() => look(taskId), SOON).toMatchObject({ status: "input_required" });

    let last = 0;
    const over = new AbortController();
    const counting = (async () => {
      while (!over.signal.aborted) last = Number(await callAs("counting-next"));
    })();
    const before = last;
    const { code, output } = await backup("backup", "saved");
    expect(output).toMatch(
      /saved has a backup of .edge-servlets: \d+ files.*stood still for \d+ ms/,
    );
    expect(code).toBe(0);
    over.abort();
    await counting;
    await hosting.end();

    expect(await backup("restore", "saved", "--storage", "elsewhere")).toMatchObject({ code: 0 });
    const args = ["--storage", "elsewhere"];
    hosting = await host(folder, { variables: { API_KEYS }, args });
    const next = Number(await callAs("counting-next"));
    expect(next).toBeGreaterThan(before);
    expect(next).toBeLessThanOrEqual(last + 1);
    await expect.poll(() => callAs("shout"), SOON).toBe("HEY");
    const inputResponses = { ask_1: { action: "accept", content: { approve: true } } };
    await resultOf(hosting.url, "tasks/update", { taskId, inputResponses }, KEY);
    await expect.poll(() => look(taskId), SOON).toMatchObject({ status: "completed" });
  });

  test("a stopped server is backed up from its folder, and cannot start until the backup is done", async () => {
    await hosting.end();
    expect(await backup("backup", "still", "--storage", "elsewhere")).toMatchObject({ code: 0 });
    expect(await backup("restore", "still", "--storage", "third")).toMatchObject({ code: 0 });
    hosting = await host(folder, { variables: { API_KEYS }, args: ["--storage", "third"] });
    expect(Number(await callAs("counting-next"))).toBeGreaterThan(0);
  });

  test.each([
    ["an empty storage", ["backup", "x", "--storage", "nothing"], /nothing to back up/],
    ["a folder that is not empty", ["backup", "still", "--storage", "third"], /not empty/],
    ["a storage that has data", ["restore", "still", "--storage", "elsewhere"], /has data already/],
    ["a storage in use", ["restore", "still", "--storage", "third"], /in use by another server/],
    [
      "a folder that is no backup",
      ["restore", "built", "--storage", "fresh"],
      /no backup, or one that was not finished/,
    ],
    ["no folder", ["backup"], /npm run backup -- DIR/],
    ["an unknown option", ["backup", "x", "--stroage", "y"], /Unknown option/],
  ])("refuses %s", async (_what, args, message) => {
    const { code, output } = await backup(...args);
    expect(output).toMatch(message);
    expect(code).toBe(1);
  });

  test("refuses a backup that was not finished, or that has changed", async () => {
    const index = at("still/backup.json");
    const { files } = JSON.parse(await readFile(index, "utf8")) as {
      files: Record<string, unknown>;
    };
    const path = Object.keys(files).find((name) => name.endsWith(".sqlite"))!;
    await cp(at("still"), at("changed"), { recursive: true });
    await appendFile(at(join("changed/objects", path)), "x");
    const changed = await backup("restore", "changed", "--storage", "fresh");
    expect(changed.output).toContain(`${path} in changed is missing or damaged`);
    await cp(at("still"), at("half"), { recursive: true });
    await rm(at("half/backup.json"));
    const half = await backup("restore", "half", "--storage", "fresh");
    expect(half.output).toContain("not finished");
    expect([changed.code, half.code]).toEqual([1, 1]);
  });
});
