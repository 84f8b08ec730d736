import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";

/** Anonymous callers are distinguished by their addresses. */

test("each has its own call_ids", async () => {
  const [ADA, BOB] = ["192.0.2.1", "2001:db8::2"];
  const server = createApp(new Kernel(bundle, env));
  const call_id = crypto.randomUUID();
  const call = async (address: string, name: string) => {
    const request = { tool_id: "hello.greet", input: { name }, call_id };
    const response = await server.fetch(
      new Request("http://localhost:8787/tools/call", {
        method: "POST",
        headers: { "content-type": "application/json", "cf-connecting-ip": address },
        body: JSON.stringify({ request }),
      }),
    );
    return [response.status, await response.text()];
  };
  expect(await call(ADA, "Ada")).toEqual([200, expect.stringContaining("Hello, Ada!")]);
  expect(await call(BOB, "Bob")).toEqual([200, expect.stringContaining("Hello, Bob!")]);
  expect(await call(ADA, "Ada")).toEqual([200, expect.stringContaining("Hello, Ada!")]);
  expect((await call(ADA, "Eve"))[0]).toBe(400);
});
