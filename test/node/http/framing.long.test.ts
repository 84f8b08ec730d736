import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { serving } from "./serving.ts";

/** Requests whose length can be read in two ways, through a raw socket: a proxy may see other requests in them than workerd. */
const { port } = await serving();
const slow = await serving({ variables: { TEST_LIMITS: JSON.stringify({ bodyMs: 1000 }) } });

const BODY = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
/** A second request, hidden behind the body of the first. */
const HIDDEN = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";

/** Everything that the server answers before it closes the connection. */
async function answersTo(...lines: string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (more: string) => (text += more));
  const head = ["POST /mcp HTTP/1.1", "host: localhost", "content-type: application/json"];
  socket.write([...head, ...lines].join("\r\n"));
  await once(socket, "close");
  return text;
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);

test.each([
  ["a short length first", ["content-length: 5", "transfer-encoding: chunked"]],
  ["chunks first", ["transfer-encoding: chunked", `content-length: ${CHUNKED.length}`]],
  [
    "a length that holds what follows",
    [`content-length: ${CHUNKED.length + HIDDEN.length}`, "transfer-encoding: chunked"],
  ],
  ["a length of nothing", ["content-length: 0", "Transfer-Encoding: Chunked"]],
])("a length and chunks are chunks, and nothing after them: %s", async (_what, lines) => {
  const text = await answersTo(...lines, "", CHUNKED + HIDDEN);
  expect(statuses(text)).toEqual(["200"]);
  expect(text).toContain('{"jsonrpc":"2.0","id":1,"result":{}}');
  expect(text).not.toContain("edge-servlets");
});

test.each([
  ["two lengths", [`content-length: ${BODY.length}`, "content-length: 5"]],
  ["a list of lengths", [`content-length: ${BODY.length}, ${BODY.length}`]],
  ["a length with a sign", [`content-length: +${BODY.length}`]],
  ["a space before the colon", [`content-length : ${BODY.length}`]],
  ["a line that goes on", ["x: a", " b", `content-length: ${BODY.length}`]],
  ["an unknown coding", ["transfer-encoding: xchunked", `content-length: ${BODY.length}`]],
  ["chunks that are not last", ["transfer-encoding: chunked", "transfer-encoding: identity"]],
])("%s: refused, and the connection closed", async (_what, lines) => {
  expect(statuses(await answersTo(...lines, "", BODY + HIDDEN))).toEqual(["400"]);
});

const named = await serving({ variables: { PUBLIC_URL: "http://localhost:8787" } });

test.each(["GET", "HEAD"])("a %s with a body is answered as without", async (method) => {
  for (const at of [port, named.port]) {
    const lines = [
      `${method} /health HTTP/1.1`,
      "host: localhost",
      `content-length: ${BODY.length}`,
    ];
    const socket = connect(at, "127.0.0.1");
    socket.write([...lines, "", BODY].join("\r\n"));
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(statuses(answer.toString("latin1"))).toEqual(["200"]);
    socket.destroy();
  }
});

test("bodies that do not come in time are refused, also those that share a timer", async () => {
  const head = ["POST /mcp HTTP/1.1", "host: localhost", "content-type: application/json"];
  const half = [...head, "content-length: 100", "", '{"jsonrpc"'].join("\r\n");
  let ended = false;
  const answer = async () => {
    const socket = connect(slow.port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1").on("data", (more: string) => (text += more));
    socket.write(half);
    await once(socket, "close");
    ended = true;
    return text;
  };
  const answers = Array.from({ length: 5 }, answer);
  for (const text of await Promise.all(answers)) expect(statuses(text)).toEqual(["408"]);
  // One without a timer, as another has just begun: the next request refuses it.
  await fetch(slow.url, {
    method: "POST",
    body: BODY,
    headers: { "content-type": "application/json" },
  });
  ended = false;
  const late = answer();
  await expect.poll(async () => (await fetch(new URL("/health", slow.url))) && ended).toBe(true);
  expect(statuses(await late)).toEqual(["408"]);
});

/** A request as text, with its body in one of several framings. */
function framed(id: number, how: "length" | "chunks" | "large", echo = "x"): string {
  const filler = how === "large" ? "y".repeat(200_000) : "";
  const body = JSON.stringify({ jsonrpc: "2.0", id, method: `no/${echo}`, params: { filler } });
  const head = ["POST /mcp HTTP/1.1", "host: localhost", "content-type: application/json"];
  if (how !== "chunks") return [...head, `content-length: ${body.length}`, "", body].join("\r\n");
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  return [...head, "transfer-encoding: chunked", "", chunks].join("\r\n");
}

test("requests that follow each other on a connection are answered each for itself, in their order", async () => {
  const ways = ["length", "chunks", "large", "length", "large", "chunks", "chunks"] as const;
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (more: string) => (text += more));
  socket.write(Array.from({ length: 42 }, (_, id) => framed(id, ways[id % ways.length]!)).join(""));
  const ids = () =>
    [...text.matchAll(/"id":(\d+),"error":\{"code":-32601/g)].map(([, id]) => Number(id));
  await expect.poll(ids).toEqual(Array.from({ length: 42 }, (_, id) => id));
  socket.destroy();
});

test.each([
  ["shorter than said: what is missing never comes", 10, "400"],
  ["longer than said: the rest is no request", -10, "400,400"],
])("a body %s", async (_what, more, expected) => {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  socket.setEncoding("latin1").on("data", (some: string) => (text += some));
  const length = `content-length: ${BODY.length + more}`;
  const head = ["POST /mcp HTTP/1.1", "host: localhost", "content-type: application/json", length];
  socket.end([...head, "", BODY].join("\r\n"));
  await once(socket, "close");
  expect(statuses(text).join()).toBe(expected);
});
