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
