// @module-tag console
import { expect, test } from "vitest";
import { browser } from "../../worker/pages/browser.ts";
import { modern } from "../../worker/server.ts";
import {
  bytesOf,
  clock,
  keysOf,
  limited,
  newCaller,
  objectOf,
  prepare,
  put,
  ring,
  rowsOf,
  senderOf,
  serverFor,
  type Json,
} from "./senders.ts";

/** The page Files. */
prepare();

const PATH = "/console/files";

/** Two callers of a server, who have signed in at its pages. */
async function visitors(more: Json = {}) {
  const names = [newCaller(), newCaller()];
  const server = await serverFor(names, { LINKS: "on", ...more });
  const all = names.map(async (name) => {
    const page = browser(server);
    await page.send(`/sign-in?back=${PATH}`, { credential: name });
    return { ...senderOf(server, name), page };
  });
  return Promise.all(all);
}

/** The fields of the forms that delete a file, in the order of the page. */
const formsIn = (html: string) =>
  html
    .split("<form")
    .filter((one) => one.includes(">Delete"))
    .map((form) =>
      Object.fromEntries(
        [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
          name!,
          value!,
        ]),
      ),
    );

const linksIn = (html: string) =>
  [...html.matchAll(/href="(\/files\/out\/[^"]+)"/g)].map(([, path]) => path!);

test("a caller sees what it has sent and what servlets have made, the newest first, and fetches it", async () => {
  const [ada] = await visitors();
  const uri = await ada!.upload("täble <1>.csv", "a,b", "text/csv");
  clock.aheadMs += 1000;
  await ada!.call("make_file", { name: "made.bin", bytes: 2048 });
  clock.aheadMs += 1000;
  await ada!.call("say_words", { length: 6000 });
  const { text, html } = await ada!.page.fetch(PATH);
  expect(text).toMatch(
    /say_words\.txt .* text\/plain 9 KiB transferring in 24 h .*made\.bin .* application\/octet-stream 2 KiB transferring in 24 h .*täble <1>\.csv .* text\/csv 3 bytes you in 24 h/,
  );
  expect(text).toContain(uri);
  const links = linksIn(html);
  expect(links).toHaveLength(3);
  const fetched = await ada!.fetch(new URL(links[2]!, "https://files.example").href);
  expect(await fetched.text()).toBe("a,b");
});

test("a file whose bytes still arrive says how many there are, and has no link", async () => {
  const [ada] = await visitors();
  const { url } = await ada!.begin("half.bin", 3000);
  await put(ada!, url, bytesOf(1000), { range: "bytes 0-999/3000" });
  const { text, html } = await ada!.page.fetch(PATH);
  expect(text).toContain("1000 bytes so far");
  expect(linksIn(html)).toEqual([]);
});

test("files of all endpoints are shown, each with its own, and to their owner only", async () => {
  const profiles = { some: { servlets: ["transferring"] } } as never;
  const [ada, bob] = await visitors({ bundle: { profiles } });
  await ada!.upload("of-all.txt", "x");
  const params = { name: "make_file", arguments: { name: "of-some.txt", text: "x" } };
  const { body, headers } = modern("tools/call", params);
  const made = await ada!.fetch("http://localhost:8787/mcp/some", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${ada!.name}`,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  expect(await made.text()).toContain("of-some.txt");
  const { text } = await ada!.page.fetch(PATH);
  expect(text).toMatch(/of-some\.txt stored-file:\S+ at some /);
  expect(text).toMatch(/of-all\.txt stored-file:\S+ application/);
  expect((await bob!.page.fetch(PATH)).text).toContain("You have no files");
});

test.each([
  ["a bucket", true],
  ["objects", false],
])("a file that is deleted is gone, with its bytes in %s", async (_what, hasBucket) => {
  const [ada, bob] = await visitors({ hasBucket });
  const [kept, gone] = [await ada!.upload("kept", "kept"), await ada!.upload("gone", "gone")];
  const { html } = await ada!.page.fetch(PATH);
  const fields = formsIn(html).find(({ id }) => gone.endsWith(id!))!;
  // Neither somebody else nor another page's form deletes it.
  await bob!.page.send(PATH, fields);
  await ada!.page.send(PATH, { ...fields, token: "" });
  expect(await rowsOf(ada!)).toMatchObject({ stored_files: 2 });
  const { text } = await ada!.page.send(PATH, fields);
  expect(text).toContain("kept");
  expect(text).not.toContain("gone");
  expect(await rowsOf(ada!)).toMatchObject({ stored_files: 1 });
  expect(await keysOf(ada!)).toHaveLength(hasBucket ? 1 : 0);
  expect((await ada!.call("measure_file", { data: gone })).isError).toBe(true);
  expect((await ada!.call("measure_file", { data: kept })).isError).toBeUndefined();
  const link = linksIn(html).map((path) => new URL(path, "https://files.example").href);
  const answers = await Promise.all(link.map(async (url) => (await ada!.fetch(url)).status));
  expect(new Set(answers)).toEqual(new Set([200, 404]));
});

test.each([
  ["a bucket", true],
  ["objects", false],
])(
  "a file that is deleted while a part arrives stays gone, with bytes in %s",
  async (_what, hasBucket) => {
    limited({ uploadsAtOnce: 1 });
    const [ada] = await visitors({ hasBucket });
    const { uri, url } = await ada!.begin("half.bin", 200_000);
    const { writable, readable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const sent = ada!.fetch(url, {
      method: "PUT",
      body: readable,
      headers: { "content-length": "200000" },
      duplex: "half",
    } as RequestInit);
    await writer.write(bytesOf(100_000));
    const object = await objectOf(ada!);
    await object.delete(uri.slice("stored-file://".length));
    await writer.write(bytesOf(100_000));
    await writer.close();
    expect((await sent).status).toBe(409);
    expect(await keysOf(ada!)).toEqual([]);
    expect((await ada!.page.fetch(PATH)).text).toContain("You have no files");
    // It no longer counts as one that arrives.
    await ada!.upload("next", "next");
  },
);

test.each([
  ["a bucket", true],
  ["objects", false],
])(
  "a file can be deleted twice at the same time, with its bytes in %s",
  async (_what, hasBucket) => {
    const [ada] = await visitors({ hasBucket });
    const uri = await ada!.upload("gone", "gone");
    const id = uri.slice("stored-file://".length);
    const object = await objectOf(ada!);
    await Promise.all([object.delete(id), object.delete(id), ring(ada!), object.delete(id)]);
    expect(await rowsOf(ada!)).toEqual({});
  },
);

test("of many files the newest are shown, and how many more there are", async () => {
  const [ada] = await visitors();
  for (const name of ["first", "second", "third"]) {
    clock.aheadMs += 1000;
    await ada!.upload(name, "x");
  }
  limited({ shownFiles: 2 });
  const { text } = await ada!.page.fetch(PATH);
  expect(text).toContain("third");
  expect(text).not.toContain("first");
  expect(text).toContain("1 more are not shown.");
});

test("files of anonymous callers are shown on the server's own machine only", async () => {
  const open = { LINKS: "on", API_KEYS: undefined, PUBLIC_URL: undefined, AUTH: "none" };
  const server = await serverFor([], { ...open, EDGE_SERVLETS_RUNS: "on-loopback" });
  const pageFor = async (address: string) => {
    const init = { headers: { "cf-connecting-ip": address }, cf: {} };
    return (await server.fetch(new Request(`http://localhost:8787${PATH}`, init))).text();
  };
  expect(await pageFor("127.0.0.1")).toContain("You have no files");
  expect(await pageFor("198.51.100.7")).toContain("No files are shown");
});
