import { hash } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test, vi } from "vitest";
import { built, INSTALLING, NEWS_AT_ONCE, Operator } from "../../../node/http/installing.ts";
import { serving } from "../../../node/http/serving.ts";

/** The server is killed at each step of an install: then the old or the new version is served, never neither. */

const KEY = "esk_operator";
const authorization = `Bearer ${KEY}`;
const variables = {
  API_KEYS: JSON.stringify({ boss: { hash: hash("sha256", KEY), scopes: ["operator", "*:*"] } }),
  TEST_LIMITS: JSON.stringify(NEWS_AT_ONCE),
};
const { url, restart } = await serving({ ...INSTALLING, variables });
const operator = new Operator(url, { authorization });

async function connected() {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  const options = { requestInit: { headers: { authorization } } };
  await client.connect(new StreamableHTTPClientTransport(url, options));
  return client;
}

/** Which version answers a call. */
async function served(): Promise<string> {
  const client = await connected();
  try {
    const { content } = await client.callTool({ name: "say", arguments: {} });
    return (content as { text: string }[])[0]!.text;
  } finally {
    await client.close();
  }
}

const version = (reply: string) =>
  built(
    "words",
    `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ tools: {
  say: { description: "Says it.", input: { type: "object", properties: {} }, handler: () => "${reply}" },
} });`,
  );
type Built = Awaited<ReturnType<typeof version>>;

const sendParts = async ({ code }: Built) => {
  for (const [digest, { bytes }] of code) await operator.json("PUT", `part/${digest}`, bytes);
};

/** The steps of an install during which the server dies. */
const STEPS: [string, (build: Built) => Promise<unknown>][] = [
  [
    "while a part is sent",
    async ({ code }) => {
      const [digest, { bytes }] = [...code][0]!;
      void operator.send("PUT", `part/${digest}`, bytes).catch(() => {});
      await new Promise((done) => setTimeout(done, 3));
    },
  ],
  ["after the parts", sendParts],
  ["after the build was kept", async (one) => operator.put(one, "build")],
  ...[10, 40, 120].map((ms): [string, (build: Built) => Promise<unknown>] => [
    `${ms} ms into the install`,
    async (one) => {
      await sendParts(one);
      void operator.send("PUT", "servlet/words", one.build).catch(() => {});
      await new Promise((done) => setTimeout(done, ms));
    },
  ]),
];

test("at each step of an install", { timeout: 150_000 }, async () => {
  await operator.put(await version("v0"));
  await vi.waitFor(async () => expect(await served()).toBe("v0"), 10_000);
  let before = "v0";
  for (const [at, [step, work]] of STEPS.entries()) {
    const next = `v${at + 1}`;
    const one = await version(next);
    await work(one);
    await restart();
    expect({ step, isEither: [before, next].includes(await served()) }).toEqual({
      step,
      isEither: true,
    });
    expect(await operator.put(one)).toMatchObject({ hash: one.build.hash });
    await vi.waitFor(async () => expect(await served()).toBe(next), 10_000);
    before = next;
  }
});

/** A server that is killed after a change, and a client that listens to the next one; `isInTime` where that is before news of it. */
async function killedAfterChange(installsStaleMs: number) {
  variables.TEST_LIMITS = JSON.stringify({ ...NEWS_AT_ONCE, installsStaleMs });
  await restart();
  const reply = `after ${installsStaleMs} ms`;
  const before = Date.now();
  await operator.put(await version(reply));
  await restart();
  const client = await connected();
  const heard: string[] = [];
  const method = "notifications/tools/list_changed";
  client.setNotificationHandler(method, () => void heard.push(method));
  await client.listen({ toolsListChanged: true });
  return { client, heard, reply, isInTime: Date.now() < before + installsStaleMs };
}

test("after a change, before it is announced", { timeout: 150_000 }, async () => {
  let installsStaleMs = 1500;
  let killed = await killedAfterChange(installsStaleMs);
  // On a busy machine it takes longer until the client listens.
  while (!killed.isInTime) {
    await killed.client.close();
    killed = await killedAfterChange((installsStaleMs *= 2));
  }
  const { client, heard, reply } = killed;
  expect(await served()).toBe(reply);
  await expect.poll(() => heard, { timeout: 25_000 + installsStaleMs }).not.toEqual([]);
  await client.close();
});
