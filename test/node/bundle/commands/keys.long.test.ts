import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import {
  access,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { keyCommand } from "../../../../src/tools/commands/keys.ts";
import { localValues } from "../../../../src/tools/commands/local-variables.ts";
import { Refusal } from "../../../../src/tools/bundle/refusal.ts";
import { variableFilesIn, variablesIn } from "../../../../src/tools/bundle/variable-files.ts";
import { isPassphrase } from "../../../../src/server/kernel/auth/passphrase.ts";
import { readVariables } from "../../../../src/tools/host/variables.ts";

/** `npm run keys` and `npm run passphrase`, as an operator runs them. */

const run = promisify(execFile);
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "keys-"));
});

const keys = async (...args: string[]) => keyCommand(args, folder);

/** Runs `keys` in a process of its own. */
const keysProcess = (...args: string[]) =>
  run("node", [resolve("src/tools/commands/cli.ts"), "keys", ...args], { cwd: folder });

/** Runs the command with `typed` on its standard input, which is closed at once without it. */
function passphrase(typed?: string): Promise<{ stdout: string; stderr: string }> {
  const running = run("node", [resolve("src/tools/commands/passphrase.ts")], {
    cwd: folder,
  });
  running.child.stdin!.end(typed === undefined ? "" : `${typed}\n`);
  return running;
}

const kept = async () => JSON.parse(await readFile(join(folder, ".keys.json"), "utf8"));
const variables = () => readFile(join(folder, ".dev.vars"), "utf8");

describe("npm run keys", () => {
  test("makes a key, shows it once, and keeps no more than its hash", async () => {
    const said = await keys("create", "ada", "--scopes", "hello:*, web:fetch", "--expires", "30d");
    const [key = ""] = said.split("\n");
    expect(key).toMatch(/^esk_[\w-]{43}$/);
    const hash = createHash("sha256").update(key).digest("hex");
    const { ada } = await kept();
    expect(ada).toMatchObject({ hash, scopes: ["hello:*", "web:fetch"] });
    expect(Date.parse(ada.expires) - Date.now()).toBeGreaterThan(29 * 86_400_000);
    expect(await variables()).toContain(hash);
    expect(
      (await variables()) + (await readFile(join(folder, ".keys.json"), "utf8")),
    ).not.toContain(key);
  });

  test("keeps its files from others, also where they were there before", async () => {
    await writeFile(join(folder, ".keys.json"), "{}", { mode: 0o644 });
    await writeFile(join(folder, ".dev.vars"), "OTHER=1\n", { mode: 0o644 });
    await keys("create", "ada");
    for (const file of [".keys.json", ".dev.vars"]) {
      expect((await stat(join(folder, file))).mode & 0o077).toBe(0);
    }
  });

  test("says of a scope that is a name that SCOPES must have it", async () => {
    expect(await keys("create", "ada", "--scopes", "hello:*,reader")).toContain(
      "SCOPES has reader",
    );
    expect(await keys("create", "bob", "--scopes", "hello:*")).not.toContain("SCOPES");
  });

  test("takes names that objects have anyway", async () => {
    await expect(keys("revoke", "toString")).rejects.toThrow("no key toString");
    expect(await keys("create", "constructor")).toContain("the key of constructor");
  });

  test("lists what each key may do, and until when", async () => {
    expect(await keys("list")).toContain(
      "unless it has OWNER_PASSPHRASE, SIGN_IN or OAUTH_ISSUERS",
    );
    await keys("create", "ada", "--scopes", "hello:*");
    await keys("create", "bob", "--expires", "2099-01-31");
    const [ada, bob] = (await keys("list")).split("\n");
    expect(ada).toMatch(/^ada +hello:\* +expires never$/);
    expect(bob).toMatch(/^bob +all but operator +expires 2099-01-31/);
  });

  test("as a process, in a project alone, prints what it says, and fails with its message", async () => {
    await expect(keysProcess("create", "ada")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no wrangler.toml in this folder"),
    });
    expect((await keysProcess("create", "--help")).stdout).toContain("npm run keys -- create NAME");
    await expect(keysProcess("--expires", "30d", "create", "ada")).rejects.toThrow(
      "no wrangler.toml",
    );
    expect((await keysProcess("list")).stdout).toContain("No key was made here");
    expect(await readdir(folder)).toEqual([]);
    await writeFile(join(folder, "wrangler.toml"), "");
    await keys("create", "ada");
    expect(await keysProcess("list")).toEqual({ stdout: `${await keys("list")}\n`, stderr: "" });
    const failed = { code: 1, stdout: "", stderr: expect.stringContaining("no key eve") };
    await expect(keysProcess("revoke", "eve")).rejects.toMatchObject(failed);
  });

  test("takes a key away: without any left nobody may call, and other variables stay", async () => {
    await writeFile(join(folder, ".dev.vars"), "# Mine\n\nOTHER=1\n\nLAST=2");
    await keys("create", "ada");
    expect(await keys("revoke", "ada")).toContain("Revoked");
    expect(await kept()).toEqual({});
    expect(await variables()).toBe("# Mine\n\nOTHER=1\n\nLAST=2\nAPI_KEYS='{}'\n");
    expect(await keys("list")).toContain("There are no keys");
  });

  test("says that a server in development takes a moment to know", async () => {
    expect(await keys("create", "ada")).toMatch(/If `npm run dev` is running, it reloads now/);
  });

  test.each([
    [["create"], "name of a key"],
    [["create", "a b"], "name of a key"],
    [["create", "owner"], "not anonymous, owner or jwt"],
    [["create", "ada", "hello:*"], "Unexpected argument: hello:*.\n\nnpm run keys -- create NAME"],
    [["create", "ada", "--expires", "yesterday"], "not a future time"],
    [["create", "ada", "--expires", ""], "not a future time"],
    [["create", "ada", "--expires", "3000000d"], "not a future time"],
    [["create", "ada", "--expires", "99999999999d"], "not a future time"],
    [["create", "ada", "--scopes", ""], "is not a scope"],
    [["create", "ada", "--scopes", "hello:*,"], "is not a scope"],
    [["create", "ada", "--scopes", "clock:* hello:greet"], "is not a scope"],
    [["create", "ada", "--scopes", "*"], "is not a scope"],
    [["create", "ada", "--scopes", "hello:it's"], "is not a scope"],
    [["push"], "There is no .keys.json"],
    [["revoke", "eve"], "no key eve"],
    [["make"], "There is no command make.\n\nnpm run keys -- create NAME"],
    [["revoke"], "Give the name of a key.\n\nnpm run keys -- create NAME"],
  ])("says what to do: %j", async (args, what) => {
    await expect(keys(...args)).rejects.toThrow(what);
    await expect(access(join(folder, ".keys.json"))).rejects.toThrow("ENOENT");
  });

  test("writes into .env where that has the variables, which .dev.vars would hide", async () => {
    await writeFile(join(folder, ".env"), "OTHER=1\n");
    expect(await keys("create", "ada")).toContain("the key of ada");
    expect(await readFile(join(folder, ".env"), "utf8")).toMatch(/^OTHER=1\nAPI_KEYS='\{"ada":/);
    await expect(access(join(folder, ".dev.vars"))).rejects.toThrow("ENOENT");
    await rm(join(folder, ".env"));
    await run("mkfifo", [join(folder, ".env")]);
    expect(variableFilesIn(folder)).toEqual([".env"]);
    // As in a virtual environment of Python.
    await rm(join(folder, ".env"));
    await mkdir(join(folder, ".env"));
    await keys("create", "eve");
    expect(await variables()).toContain('"eve"');
    await rm(join(folder, ".env"), { recursive: true });
    await rm(join(folder, ".dev.vars"));
    // It overrides .env.
    await writeFile(join(folder, ".env.local"), "");
    await keys("create", "bob");
    expect(await readFile(join(folder, ".env.local"), "utf8")).toContain('"bob"');
  });

  test("makes, lists and revokes keys in a file of secrets for a self-hosted server", async () => {
    const file = join(folder, "server.env");
    await writeFile(
      file,
      `\uFEFFOTHER=1\nexport API_KEYS = '{\n  "old": "${"0".repeat(64)}"\n}' # by hand\nLAST="a\nb"\n`,
    );
    const said = await keys("create", "ada", "--scopes", "hello:*", "--secrets", file);
    expect(said).toContain(`npm start -- --secrets ${file}`);
    expect(said).not.toContain("npm run dev");
    const { API_KEYS, ...others } = variablesIn(await readFile(file, "utf8"), file);
    expect(Object.keys(JSON.parse(API_KEYS!))).toEqual(["old", "ada"]);
    expect(others).toEqual({ OTHER: "1", LAST: "a\nb" });
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect(await keys("list", "--secrets", file)).toMatch(/old .*\nada .*hello:\*/);
    expect(await readdir(folder)).toEqual(["server.env"]);
    expect(await keys("revoke", "old", "--secrets", file)).toContain("after a restart");
    await keys("revoke", "ada", "--secrets", file);
    expect(variablesIn(await readFile(file, "utf8"), file)["API_KEYS"]).toBe("{}");
    await expect(keys("list", "--secrets", join(folder, "none.env"))).resolves.toContain("No key");
    await writeFile(file, "API_KEYS {}\n");
    await expect(keys("create", "ada", "--secrets", file)).rejects.toThrow(/server\.env:1: /);
    await writeFile(file, "API_KEYS=[]\n");
    await expect(keys("create", "ada", "--secrets", file)).rejects.toThrow("API_KEYS in");
  });

  test("makes a key in a file of secrets when run outside of a project", async () => {
    const { stdout } = await keysProcess("create", "ada", "--secrets", "new.env");
    expect(stdout).toContain("esk_");
    expect(await readdir(folder)).toEqual(["new.env"]);
  });

  test("warns of a scope that matches no servlet of the project", async () => {
    const scopes = "helo:*,hello:greet,*:read,profile:x,nothing-like-it:go";
    const said = await keys("create", "ada", "--scopes", scopes);
    expect(said.match(/Beware: .*/g)).toEqual([
      "Beware: helo:* matches no servlet of this project (did you mean hello?). The scope grants nothing unless such a servlet is installed on the server.",
      expect.stringContaining(
        "nothing-like-it:go matches no servlet of this project (its servlets are",
      ),
    ]);
  });

  test("leaves its files as they are where they cannot be written whole", async () => {
    await writeFile(join(folder, ".dev.vars"), "OTHER=1\n");
    await keys("create", "ada");
    const before = [await kept(), await variables()];
    const full = vi.spyOn(fs, "writeFileSync").mockImplementation((file) => {
      fs.closeSync(fs.openSync(String(file), "w"));
      throw new Error("ENOSPC: no space left on device");
    });
    await expect(keys("create", "bob")).rejects.toThrow(/could not be written.*ENOSPC/);
    full.mockRestore();
    expect([await kept(), await variables()]).toEqual(before);
    expect((await readdir(folder)).toSorted()).toEqual([".dev.vars", ".keys.json"]);
  });

  test("keeps a link to a file of variables", async () => {
    await writeFile(join(folder, "shared"), "OTHER=1\n");
    await symlink("shared", join(folder, ".dev.vars"));
    await keys("create", "ada");
    expect(await readFile(join(folder, "shared"), "utf8")).toMatch(/^OTHER=1\nAPI_KEYS=/);
  });

  test.each(["", '{"ada":', "[]", '{"ada": 1}'])(
    "says that a file of keys is damaged: %j",
    async (text) => {
      await writeFile(join(folder, ".keys.json"), text);
      const damaged = /\.keys\.json is damaged.*API_KEYS in \.dev\.vars/;
      await expect(keys("list")).rejects.toThrow(damaged);
      await expect(keys("list")).rejects.toBeInstanceOf(Refusal);
    },
  );

  test("keeps a key that is a hash alone, as API_KEYS may have it", async () => {
    await writeFile(join(folder, ".keys.json"), JSON.stringify({ eve: "ab".repeat(32) }));
    await keys("create", "ada");
    expect(await keys("list")).toMatch(/^eve +all but operator +expires never$/m);
    expect((await kept()).eve).toBe("ab".repeat(32));
  });

  test("gives wrangler the keys, and fails with a message where it does", async () => {
    await keys("create", "ada");
    const asked: unknown[] = [];
    const push = (code: number) =>
      keyCommand(["push"], folder, async (args, _output, { input } = {}) => {
        asked.push(args, JSON.parse(input!));
        return code;
      });
    expect(await push(0)).toBe("");
    expect(asked).toEqual([["secret", "put", "API_KEYS"], await kept()]);
    await expect(push(1)).rejects.toThrow(/deployed Worker has the same keys as before/);
  });

  test("does not make a key twice", async () => {
    await keys("create", "ada");
    await expect(keys("create", "ada")).rejects.toThrow("Revoke it first");
  });
});

describe("npm run passphrase", () => {
  test("gives the hash of what was typed, and says where it goes", async () => {
    const { stdout, stderr } = await passphrase("correct horse battery");
    expect(await isPassphrase("correct horse battery", stdout.trim())).toBe(true);
    expect(await isPassphrase("correct horse battery!", stdout.trim())).toBe(false);
    expect(stderr).toContain("wrangler secret put OWNER_PASSPHRASE");
    expect(stdout + stderr).not.toContain("correct horse");
    expect(stderr).toMatch(/in \.dev\.vars$/m);
    // A new .dev.vars would hide it.
    await writeFile(join(folder, ".env"), "OTHER=1\n");
    const again = await passphrase("correct horse battery");
    expect(again.stderr).toMatch(/in \.env$/m);
    const [line = ""] = /OWNER_PASSPHRASE='.*'/.exec(again.stderr) ?? [];
    await writeFile(join(folder, ".env"), line);
    const config = join(folder, "wrangler.toml");
    await writeFile(config, "");
    const read = { OWNER_PASSPHRASE: again.stdout.trim() };
    expect(await localValues({ config })).toEqual(read);
    expect(
      await readVariables({ vars: {}, secrets: [] } as never, {
        files: [join(folder, ".env")],
        environment: {},
      }),
    ).toEqual(read);
  });

  test("makes one where none is typed", async () => {
    const { stdout, stderr } = await passphrase("");
    const made = /not kept anywhere: (\S+)/.exec(stderr)?.[1] ?? "";
    expect(made.length).toBeGreaterThanOrEqual(20);
    expect(await isPassphrase(made, stdout.trim())).toBe(true);
  });

  test("makes none where its input ends without a line", async () => {
    await expect(passphrase()).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("No passphrase was made"),
    });
  });

  test("refuses one that is short", async () => {
    await expect(passphrase("secret")).rejects.toThrow("take 12 or more");
  });
});
