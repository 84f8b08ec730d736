import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { LANGUAGES } from "../../../../src/languages/index.ts";
import { Refusals } from "../../../../src/tools/bundle/refusal.ts";
import { scan } from "../../../../src/tools/bundle/scan.ts";
import type { Trust } from "../../../../src/tools/bundle/sources/add.ts";
import { updateOf } from "../../../../src/tools/bundle/sources/update.ts";
import { adding, servlet, tarLayer } from "./adding.ts";
import { keyPair, pem, signByKey } from "./signing.ts";

/** Who must have signed a servlet whose `source` was changed before its update. */

const { registry, at, plugins, cache, source, add, lock } = adding();
const { publicKey, privateKey } = keyPair();

const image = async (repository: string, tool: string, { isSigned = false } = {}) => {
  const layer = await tarLayer(await servlet({ name: tool }));
  const { digest } = registry().image(repository, "latest", [layer]);
  if (isSigned) signByKey(registry(), repository, digest, { key: privateKey });
};

/** Adds the image `ada/time`, signed by the key. */
async function addSigned() {
  await image("ada/time", "now", { isSigned: true });
  await mkdir(at("."), { recursive: true });
  await writeFile(at("cosign.pub"), pem(publicKey));
  await add(source("ada/time"), { key: at("cosign.pub") });
}

/** Writes another source into the manifest, updates, and gives the differences and who has signed it. */
async function updatedTo(origin: string, trust: Trust = {}) {
  const path = at("plugins/time/servlet.json");
  const manifest = JSON.parse(await readFile(path, "utf8"));
  await writeFile(path, JSON.stringify({ ...manifest, source: origin }));
  const [found] = await scan({ folders: [plugins()], languages: LANGUAGES }, new Refusals());
  const update = await updateOf(found!, trust, {
    languages: LANGUAGES,
    cache: cache(),
    progress: () => {},
  });
  update.accept();
  return { changes: update.changes, signed: (await lock())!["time"]!["signed"] };
}

describe("a source that was changed", () => {
  test("from a signed image to a file is signed by nobody", async () => {
    await addSigned();
    await writeFile(at("time.wasm"), await servlet({ name: "later" }));
    expect(await updatedTo("../../time.wasm")).toMatchObject({ signed: { by: "nobody" } });
  });

  test("from a signed image to another must be signed by the same key", async () => {
    await addSigned();
    await image("ada/clock", "later", { isSigned: true });
    expect(await updatedTo(source("ada/clock"))).toMatchObject({ signed: { by: "key" } });
    await image("eve/clock", "later");
    await expect(updatedTo(source("eve/clock"))).rejects.toThrow(/it is not signed/);
  });

  test("from a file to an image needs a signer, or that it is done without in so many words", async () => {
    await writeFile(at("time.wasm"), await servlet({ name: "now" }));
    await add(at("time.wasm"));
    await image("ada/time", "later");
    const unsigned = /say who must have signed it.*--allow-unsigned/;
    await expect(updatedTo(source("ada/time"))).rejects.toThrow(unsigned);
    expect(await updatedTo(source("ada/time"), { allowUnsigned: true })).toMatchObject({
      signed: { by: "nobody" },
    });
  });

  test("to another tag of an unsigned image is still unsigned, and to another image is asked anew", async () => {
    await image("ada/time", "now");
    await add(source("ada/time"), { allowUnsigned: true });
    registry().image("ada/time", "v2", [await tarLayer(await servlet({ name: "later" }))]);
    expect(await updatedTo(source("ada/time", ":v2"))).toMatchObject({ signed: { by: "nobody" } });
    await image("eve/time", "later");
    await expect(updatedTo(source("eve/time"))).rejects.toThrow(/say who must have signed it/);
  });
});

test("the tools of a component that was built again are compared", async () => {
  const components = "test/node/components";
  await mkdir(at("."), { recursive: true });
  await copyFile(`${components}/low/blocks.wasm`, at("time.wasm"));
  await add(at("time.wasm"));
  await copyFile(`${components}/low/waits.wasm`, at("time.wasm"));
  const { changes } = await updatedTo("../../time.wasm");
  expect(changes.join("\n")).toMatch(/- tool told[^]*\+ tool run/);
});
