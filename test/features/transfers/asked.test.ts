import { describe, expect, test } from "vitest";
import { limits } from "../../../src/server/features/transfers/limits.ts";
import { withFileArguments } from "../../../src/server/features/transfers/wire.ts";
import { goOn, send } from "../../worker/calls/client.ts";
import {
  clock,
  keysOf,
  limited,
  newCaller,
  prepare,
  put,
  rowsOf,
  sender,
  type Json,
  type Sender,
} from "./senders.ts";

prepare();

const page = { headers: { accept: "text/html" } };
const csv = new TextEncoder().encode("a,b\n");
const chosen = { "x-file-name": encodeURIComponent("my täble.csv"), "content-type": "text/csv" };

/** Begins a call that asks for a file; `open` goes on with it as if the user had opened the page. */
async function asked(by: Sender, name = "ask_for_file") {
  const sent = { ...by.sent, capabilities: { elicitation: { url: {} } } };
  const params = { name, arguments: {} };
  const first = await send("tools/call", params, sent);
  const { requestState: state, inputRequests: requests } = first.result!;
  const [key] = Object.keys(requests);
  const { url, message, mode } = requests[key!].params;
  expect([mode, message]).toEqual(["url", "Which one?"]);
  const round = { ...first, method: "tools/call", params, sent, state, requests };
  const answer = async (action: string) => {
    const { result } = await goOn(round, { [key!]: { action } });
    return result!["content"][0].text as string;
  };
  return { url: url as string, answer };
}

describe("a file that a servlet asks for", () => {
  test("is chosen on a page, sent under its name, and given to the servlet", async () => {
    const ada = await sender();
    const { url, answer } = await asked(ada);
    const response = await ada.fetch(url, page);
    const text = await response.text();
    expect(text).toMatch(/Which one\?/);
    expect(text).toMatch(/<input[^>]*type="file"[^>]*accept="\.csv"/);
    expect(response.headers.get("content-security-policy")).toMatch(
      /script-src 'self'.*connect-src 'self'/,
    );
    const [, path] = /<script type="module" src="([^"]+)"/.exec(text)!;
    const script = await ada.fetch(new URL(path!, url).href);
    expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    const [, sending] = /^import [^"]* from "([^"]+)"/m.exec(await script.text())!;
    const sends = await ada.fetch(new URL(sending!, url).href);
    expect(await sends.text()).toContain("x-file-name");
    const first = await put(ada, url, csv.subarray(0, 2), { range: "bytes 0-1/4", ...chosen });
    expect([first.status, await first.json()]).toEqual([
      202,
      expect.objectContaining({ received: 2, size: 4 }),
    ]);
    expect((await put(ada, url, csv.subarray(2), { range: "bytes 2-3/4", ...chosen })).status).toBe(
      201,
    );
    expect(await (await ada.fetch(url, page)).text()).toContain("The file was sent");
    expect(await answer("accept")).toBe("my täble.csv text/csv a,b\n");
  });

  test("is asked for where it is the argument of a tool that may be left out", async () => {
    const ada = await sender();
    const { tools } = (await send("tools/list", {}, ada.sent)).result as { tools: Json[] };
    const { inputSchema } = tools.find(({ name }) => name === "need_file")!;
    expect(inputSchema.required ?? []).toEqual([]);
    expect(inputSchema.properties.data.description).toMatch(/leave it out: the user is asked/);
    const { url, answer } = await asked(ada, "need_file");
    expect((await put(ada, url, csv, chosen)).status).toBe(201);
    expect(await answer("accept")).toBe("a,b\n");
    const declined = await asked(ada, "need_file");
    expect(await declined.answer("decline")).toMatch(/The user sends no file for "data"/);
  });

  test("is passed where the client cannot ask for it", async () => {
    const { call } = await sender();
    const { isError, content } = await call("need_file");
    expect(isError).toBe(true);
    expect(content[0].text).toMatch(/cannot ask the user for it\. Pass it as an argument/);
  });

  test("is none if the user declines", async () => {
    const { answer } = await asked(await sender());
    expect(await answer("decline")).toBe("none");
  });

  test("is refused if it is too large, and another one may be chosen", async () => {
    const ada = await sender();
    const { url, answer } = await asked(ada);
    const large = await put(ada, url, new Uint8Array(1001), chosen);
    expect([large.status, await large.json()]).toEqual([
      400,
      { error: expect.stringMatching(/1001 bytes \(limit 1000\)/) },
    ]);
    expect((await put(ada, url, csv, chosen)).status).toBe(201);
    expect(await answer("accept")).toContain("a,b");
  });

  test.each<[what: string, headers: Record<string, string>, status: number]>([
    ["no size", { range: "bytes 0-3/*" }, 400],
    ["a name that is a path", { "x-file-name": "..%2F..%2Fa.csv" }, 201],
    ["a name that is none", { "x-file-name": "%2E%2E" }, 400],
    ["a media type that is none", { "content-type": "x" }, 201],
  ])("with %s has a clear end", async (_what, headers, status) => {
    const ada = await sender();
    const { url, answer } = await asked(ada);
    const response = await put(ada, url, csv, headers);
    const body = (await response.json()) as Json;
    expect(response.status).toBe(status);
    expect(body["error"] ?? body["name"]).toMatch(status === 201 ? /^(a\.csv|file)$/ : /size|name/);
    if (status !== 201) await put(ada, url, csv, chosen);
    expect(await answer("accept")).toContain("a,b");
  });

  test.each([
    ["a bucket", true],
    ["objects", false],
  ])("is another one if that is chosen before all has arrived in %s", async (_what, hasBucket) => {
    const ada = await sender({ hasBucket });
    const { url, answer } = await asked(ada);
    const other = (bytes: string, range: string) =>
      put(ada, url, new TextEncoder().encode(bytes), { range });
    expect((await other("xx", "bytes 5-6/9")).status).toBe(409);
    expect((await other("xx", "bytes 0-1/9")).status).toBe(202);
    expect(
      (await put(ada, url, csv.subarray(0, 2), { range: "bytes 0-1/4", ...chosen })).status,
    ).toBe(202);
    const mixed = await other("xx", "bytes 2-3/9");
    expect([mixed.status, await mixed.json()]).toEqual([
      409,
      { error: expect.stringMatching(/part of another file/), received: 2 },
    ]);
    expect((await put(ada, url, csv.subarray(2), { range: "bytes 2-3/4", ...chosen })).status).toBe(
      201,
    );
    expect(await answer("accept")).toBe("my täble.csv text/csv a,b\n");
    expect(await keysOf(ada)).toHaveLength(hasBucket ? 2 : 0);
  });

  test("is over when nobody sends it in time", async () => {
    const ada = await sender();
    const { url, answer } = await asked(ada);
    clock.aheadMs += limits.transferMs + 1;
    const response = await ada.fetch(url, page);
    expect([response.status, await response.text()]).toEqual([
      404,
      expect.stringMatching(/This page is over/),
    ]);
    expect(await answer("accept")).toMatch(/askFile\(\): The file has not come in time/);
  });

  test("may be chosen many hours later, and its upload then takes the usual time", async () => {
    const ada = await sender();
    const { url, answer } = await asked(ada);
    clock.aheadMs += limits.transferMs - 60_000;
    expect(
      (await put(ada, url, csv.subarray(0, 1), { range: "bytes 0-0/4", ...chosen })).status,
    ).toBe(202);
    clock.aheadMs += limits.uploadIdleMs - 1000;
    expect((await put(ada, url, csv.subarray(1), { range: "bytes 1-3/4", ...chosen })).status).toBe(
      201,
    );
    expect(await answer("accept")).toContain("a,b");
  });

  test("for which nobody has chosen one makes room for others, the oldest first", async () => {
    const ada = await sender({}, newCaller());
    limited({ callerTransfers: 2 });
    const [first, second] = [await asked(ada), await asked(ada)];
    await expect(asked(ada)).rejects.toThrow();
    clock.aheadMs += limits.uploadIdleMs + 1;
    const third = await asked(ada);
    const statuses = [first, second, third].map(
      async ({ url }) => (await ada.fetch(url, page)).status,
    );
    expect(await Promise.all(statuses)).toEqual([404, 200, 200]);
  });

  test("counts for its caller from when its size is known", async () => {
    const ada = await sender({}, newCaller());
    const { url } = await asked(ada);
    await put(ada, url, csv.subarray(0, 1), { range: "bytes 0-0/4" });
    const other = await put(ada, url, csv.subarray(1), { range: "bytes 1-3/9" });
    expect(other.status).toBe(409);
    expect(await rowsOf(ada)).toMatchObject({ stored_files: 1, file_pieces: 1 });
  });
});

test("a file within an argument does not say that the user is asked for it: the kits ask for arguments alone", () => {
  const file = { type: "string", "x-edge-file": { ask: "Which one?" } };
  const group = { type: "object", properties: { file } };
  const properties = { file, group, list: { type: "array", items: file } };
  const tool = { name: "a", inputSchema: { type: "object" as const, properties } };
  const listed = withFileArguments(tool)!.inputSchema.properties as Json;
  const asks = [listed["file"], listed["group"].properties.file, listed["list"].items].map(
    ({ description }) => description.includes("the user is asked"),
  );
  expect(asks).toEqual([true, false, false]);
});
