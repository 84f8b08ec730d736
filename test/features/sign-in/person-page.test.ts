// @module-tag people
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { hashPassphrase } from "../../../src/server/kernel/auth/passphrase.ts";
import { bundle } from "../../bundle.gen.ts";
import { limited, prepare } from "../../worker/calls/client.ts";
import { browser } from "../../worker/pages/browser.ts";

/** The page of a question: its forms, who may open it, and what nobody should send. */
prepare();

describe("who may open it", () => {
  test("the owner with the passphrase, of which wrong ones are counted", async () => {
    limited({ wrongPassphrases: 3 });
    const owned = createApp(
      new Kernel(bundle, { ...env, OWNER_PASSPHRASE: await hashPassphrase("open") }),
    );
    const person = browser(owned, "https://tools.example");
    const page = `/ask/${"0".repeat(64)}`;
    for (let nth = 0; nth < 3; nth++)
      expect((await person.send(page, { credential: "no" })).status).toBe(403);
    const over = await person.send(page, { credential: "open" });
    expect([over.status, over.text]).toEqual([429, expect.stringContaining("Too many attempts")]);
    const other = browser(owned, "https://tools.example");
    expect((await other.send(page, { credential: "open" })).text).toContain("Not for you");
  });
});
