import { loadServlet, type ServletUnderTest } from "edge-servlets/testing";
import { beforeEach, expect, test } from "vitest";

let watch: ServletUnderTest;
beforeEach(async () => {
  watch = await loadServlet(import.meta.dirname);
});

const URL_OF_FEED = "https://news.example/feed";

const feed = (...titles: string[]) =>
  `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>${titles
    .map((one) => `<item><title>${one}</title><link>https://news.example/${one}</link></item>`)
    .join("")}</channel></rss>`;

/** A server with this page, and what was asked of it. */
function world() {
  const seen = { emitted: [] as any[], scheduled: [] as any[], asked: [] as (string | null)[] };
  const page = {
    text: feed("one") as string | ArrayBuffer,
    etag: '"1"',
    status: 200,
    isFull: false,
  };
  const fetch = (request: Request) => {
    const known = request.headers.get("if-none-match");
    seen.asked.push(known);
    if (known === page.etag) return new Response(null, { status: 304 });
    return new Response(page.text, { status: page.status, headers: { etag: page.etag } });
  };
  const hostFunctions = {
    "schedules.add": (payload: unknown) => {
      if (page.isFull) throw new Error("There are 100 schedules.");
      seen.scheduled.push(payload);
      return { arguments: {}, ...(payload as object), next: 0, last: null };
    },
    "schedules.cancel": () => true,
    "events.emit": (payload: unknown) => seen.emitted.push(payload),
  };
  const call = async (name: string, args = {}, caller = "ada") => {
    const { result } = await watch.callTool(name, args, { fetch, hostFunctions, caller });
    const [block] = result.content;
    return block?.type === "text" ? block.text : "";
  };
  return { ...seen, page, call };
}

test("tells what is new in a feed, once, and asks only for what has changed", async () => {
  const { call, page, emitted, scheduled, asked } = world();
  expect(await call("watch_page", { url: URL_OF_FEED, minutes: 30 })).toContain("1 entries");
  expect(scheduled).toMatchObject([{ tool: "look", every: 1_800_000 }]);
  expect(await call("look", { url: URL_OF_FEED })).toBe("Nothing is new.");
  Object.assign(page, { text: feed("two", "one"), etag: '"2"' });
  expect(await call("look", { url: URL_OF_FEED })).toBe("1 entries are new.");
  expect(await call("look", { url: URL_OF_FEED })).toBe("Nothing is new.");
  expect(emitted).toMatchObject([
    {
      name: "watch.changed",
      data: { url: URL_OF_FEED, entries: [{ title: "two", link: "https://news.example/two" }] },
    },
  ]);
  expect(asked).toEqual([null, '"1"', '"1"', '"2"']);
});

test("tells that a page has changed", async () => {
  const { call, page, emitted } = world();
  page.text = "<h1>Open</h1>";
  expect(await call("watch_page", { url: URL_OF_FEED })).toContain("a page");
  Object.assign(page, { text: "<h1>Closed</h1>", etag: '"2"' });
  expect(await call("look", { url: URL_OF_FEED })).toBe("It has changed.");
  expect(emitted).toMatchObject([{ data: { entries: [] } }]);
});

test("watches for each caller, lists, and leaves", async () => {
  const { call } = world();
  await call("watch_page", { url: URL_OF_FEED });
  expect(await call("watched_pages", {}, "bob")).toBe("Nothing is watched.");
  expect(await call("watched_pages")).toContain("every 60 minutes");
  expect(await call("leave_page", { url: URL_OF_FEED })).toContain("not watched any more");
  expect(await call("look", { url: URL_OF_FEED })).toBe("It is not watched any more.");
  expect(await call("leave_page", { url: URL_OF_FEED })).toContain("is not watched");
});

test("says what cannot be watched, and goes on where a server is down for a while", async () => {
  const { call, page, emitted } = world();
  page.status = 404;
  expect(await call("watch_page", { url: URL_OF_FEED })).toContain("its server answers 404");
  expect(await call("watched_pages")).toBe("Nothing is watched.");
  expect(await call("watch_page", { url: URL_OF_FEED, minutes: 1 })).toContain("from 5 to");
  page.status = 200;
  await call("watch_page", { url: URL_OF_FEED });
  Object.assign(page, { status: 503, etag: '"2"' });
  expect(await call("look", { url: URL_OF_FEED })).toBe("its server answers 503");
  expect(await call("watched_pages")).toContain("answers 503");
  Object.assign(page, { status: 200, text: feed("two", "one") });
  expect(await call("look", { url: URL_OF_FEED })).toBe("1 entries are new.");
  expect(emitted).toHaveLength(1);
});

test("keeps a watch whose server is down when it is asked for again, and none without a schedule", async () => {
  const { call, page } = world();
  await call("watch_page", { url: URL_OF_FEED, minutes: 30 });
  page.status = 503;
  expect(await call("watch_page", { url: URL_OF_FEED })).toContain("cannot be watched");
  expect(await call("watched_pages")).toContain("every 30 minutes");
  Object.assign(page, { status: 200, isFull: true });
  await expect(call("watch_page", { url: `${URL_OF_FEED}/2` })).rejects.toThrow("100 schedules");
  expect(await call("watched_pages")).not.toContain("/2");
});

const ENTITY = `<!DOCTYPE a [<!ENTITY a "aaaa">]><rss><item><title>&a;</title></item></rss>`;
const inUtf16 = (text: string) =>
  new Uint16Array([0xfeff, ...[...text].map((one) => one.codePointAt(0)!)]).buffer;

test.each([ENTITY, inUtf16(ENTITY)])(
  "takes no feed that declares entities for one",
  async (text) => {
    const { call, page } = world();
    page.text = text;
    expect(await call("watch_page", { url: URL_OF_FEED })).toContain(", a page");
  },
);

test("tells of very long entries in an event that is not too large", async () => {
  const { call, page, emitted } = world();
  await call("watch_page", { url: URL_OF_FEED });
  const item = (nth: number) =>
    `<item><guid>${nth}${"i".repeat(5000)}</guid><title>${"ä".repeat(500)}</title><link>${"💤".repeat(3000)}</link></item>`;
  const items = Array.from({ length: 100 }, (_, nth) => item(nth));
  Object.assign(page, { text: `<rss>${items.join("")}</rss>`, etag: '"2"' });
  expect(await call("look", { url: URL_OF_FEED })).toBe("100 entries are new.");
  const [{ data }] = emitted;
  expect(data.entries.length).toBeGreaterThan(1);
  expect(new TextEncoder().encode(JSON.stringify(data)).length).toBeLessThan(64 * 1024);
});

test("takes a feed of very many levels", async () => {
  const { call, page } = world();
  page.text = `<rss>${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}</rss>`;
  expect(await call("watch_page", { url: URL_OF_FEED })).toContain(", a page");
});
