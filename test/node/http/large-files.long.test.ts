import { expect, test } from "vitest";
import { modern } from "../bench/kinds.ts";
import { residentMB } from "../workerd.ts";
import { serving } from "./serving.ts";

/** Large folders and files of a servlet, in workerd itself: what they take of memory has an end. */
const { url, served, restart } = await serving();

/** How much the process may grow: the memory of a call, the database's cache, and uncollected garbage. */
const MOST_MB = 150;

async function filing(what: string, path: string, text = ""): Promise<string> {
  const params = { name: "filing-do", arguments: { what, path, text } };
  const { headers, body } = modern("tools/call", params, "filing-do");
  const accept = "application/json, text/event-stream";
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept, connection: "close" },
    body,
  });
  const { result, error } = (await response.json()) as {
    result?: { content: { text: string }[] };
    error?: { message: string };
  };
  return result?.content[0]?.text ?? error!.message;
}

test(
  "a folder of 100,000 entries, and a name of 10,000 characters",
  { timeout: 240_000 },
  async () => {
    expect(await filing("mkdir", "/data/many")).toBe("done");
    const before = await residentMB(served());
    for (let made = 0; made < 100_000; made += 10_000) {
      expect(await filing("many", "/data/many", "10000")).toBe("done");
    }
    expect(await filing("many", "/data/many", "1")).toBe("No space left on device");
    expect(await filing("count", "/data/many")).toBe("100000");
    expect(await filing("write", `/data/${"n".repeat(10_000)}`, "x")).toBe("Filename too long");
    expect((await residentMB(served())) - before).toBeLessThan(MOST_MB);
    await restart();
    expect(await filing("count", "/data/many")).toBe("100000");
  },
);

test("a file of 50 MB is read and written at random", { timeout: 240_000 }, async () => {
  expect(await filing("write", "/data/a", "small")).toBe("done");
  const before = await residentMB(served());
  expect(await filing("fill", "/data/large", "50")).toBe("done");
  expect(await filing("poke", "/data/large", "1000")).toBe("1000");
  expect(await filing("peek", "/data/large", "1000")).toBe("1000");
  expect((await residentMB(served())) - before).toBeLessThan(MOST_MB);
  await restart();
  expect(await filing("peek", "/data/large", "1000")).toBe("1000");
  expect(await filing("read", "/data/a")).toBe("small");
});
