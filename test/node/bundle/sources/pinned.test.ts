import { readFile, rm, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { makeBundle } from "../../../../src/tools/bundle/bundle.ts";
import { adding, servlet } from "./adding.ts";

/** Sources must be what the lock file pins. */

const { at, plugins, cache, add } = adding();
const now = () => servlet({ name: "now" });

describe("bundling", () => {
  const bundle = () =>
    makeBundle({ folders: [plugins()], languages: LANGUAGES, cache: cache(), progress: () => {} });

  test("refuses what is no longer what was pinned, by its name", async () => {
    await writeFile(at("time.wasm"), await now());
    await add(at("time.wasm"));
    await writeFile(at("time.wasm"), await servlet({ name: "other" }));
    await rm(cache(), { recursive: true });
    await expect(bundle()).rejects.toThrow(
      /plugins\/time: .*time.wasm: it has the digest sha256:\w+ now, .* pins sha256:.* update time/,
    );
  });

  test("refuses a source that is not pinned, or not this one", async () => {
    await writeFile(at("time.wasm"), await now());
    await add(at("time.wasm"));
    const path = at("plugins/time/servlet.json");
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replace("time.wasm", "tide.wasm"));
    await expect(bundle()).rejects.toThrow(/tide.wasm is not pinned in servlets.lock.json/);
    await rm(at("plugins/servlets.lock.json"));
    await writeFile(path, text);
    await expect(bundle()).rejects.toThrow(/time.wasm is not pinned/);
  });

  test("refuses a wasm beside a source", async () => {
    await writeFile(at("time.wasm"), await now());
    await add(at("time.wasm"));
    await writeFile(at("plugins/time/other.wasm"), await now());
    await expect(bundle()).rejects.toThrow(/has a "source", and .*other.wasm is beside it/);
  });
});
