import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serveLoading } from "./installing.ts";

/** A client that leaves while it sends is no fault of the server, and the log says nothing of it. */

let log = "";
let server: Awaited<ReturnType<typeof serveLoading>>;
beforeAll(async () => {
  const { promise: isWarned, resolve } = Promise.withResolvers<void>();
  const note = (text: string) => {
    log += text;
    if (/Settings are missing.*\n/.test(log)) resolve();
  };
  server = await serveLoading({ log: note });
  // With its first request, which may be one of these, the server says what it lacks.
  await fetch(new URL("/health", server.url));
  await isWarned;
});
afterAll(() => server.close());

const JSON_TYPE = "content-type: application/json\r\naccept: application/json";
const CASES: [string, string, string][] = [
  ["a message of MCP", "POST /mcp", JSON_TYPE],
  ["a call of Open Tool Calling", "POST /tools/call", JSON_TYPE],
  ["a form for a token", "POST /token", "content-type: application/x-www-form-urlencoded"],
  ["a part of a build", `PUT /operator/part/${"0".repeat(64)}`, ""],
  ["a build", "PUT /operator/servlet/other", JSON_TYPE],
  ["a build to be published", "PUT /operator/build/other", JSON_TYPE],
  ["a build to be replayed", "POST /operator/replay/other", JSON_TYPE],
  ["a file of state", "PUT /operator/state/keeping", ""],
  ["files of state", "PUT /operator/state/keeping?files", ""],
  ["a form of a page", "POST /ask/abc", "content-type: application/x-www-form-urlencoded"],
  ["a form for a sign-in", "POST /authorize", "content-type: application/x-www-form-urlencoded"],
  ["a body that nobody reads", "POST /nothing/here", JSON_TYPE],
];

async function cutOff(line: string, headers: string, isChunked: boolean): Promise<void> {
  const socket = connect(Number(server.url.port), server.url.hostname);
  await once(socket, "connect");
  const length = isChunked ? "transfer-encoding: chunked" : "content-length: 100000";
  const all = [`${line} HTTP/1.1`, "host: localhost", "authorization: Bearer esk_operator", length];
  socket.write(`${[...all, ...(headers === "" ? [] : [headers])].join("\r\n")}\r\n\r\n`);
  const body = `{"jsonrpc": "2.0", "text": "${"x".repeat(30_000)}`;
  const text = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n` : body;
  // What was written arrives before the end.
  await new Promise((written) => socket.write(text, written));
  socket.destroy();
  await once(socket, "close");
}

test.each(CASES)("%s", async (_, line, headers) => {
  log = "";
  for (const isChunked of [false, true]) await cutOff(line, headers, isChunked);
  // What the cut ones would log is written before the answers to these.
  for (let at = 0; at < 50; at++) await (await fetch(new URL("/health", server.url))).text();
  expect(log).toBe("");
});
