/**
 * Stands between a client and the server: passes everything on as it is, looks at each message of the
 * server's, and does what a client cannot do to itself.
 */
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "../../src/server/kernel/core/model.ts";
import { Revision } from "./strict.ts";

export interface Witness {
  url: string;
  /** Messages of the server that its revision does not allow. */
  faults: Set<string>;
  /** How many messages were looked at. */
  count(): number;
  close(): void;
}

interface Options {
  /** Where the server is. */
  port: number;
  /** Follows a person's way through the pages behind this URL; gives the URL that it ends at. */
  browse(url: string): Promise<string>;
  log?: (line: string) => void;
}

const revisions = new Map<string, Revision>();

function revisionOf(version: string): Revision {
  let found = revisions.get(version);
  if (!found) revisions.set(version, (found = new Revision(version)));
  return found;
}

export async function witness({ port, browse, log }: Options): Promise<Witness> {
  const faults = new Set<string>();
  /** Open event streams, and those of calls among them. */
  const streams = new Set<ServerResponse>();
  const calls = new Set<ServerResponse>();
  const methods = new Map<unknown, string>();
  let session = "";
  // Not all clients repeat it in the header.
  let agreedOn = "2025-03-26";
  let declaresExtensions = false;
  let seen = 0;

  const look = (text: string, version: string) => {
    const message = JSON.parse(text) as Json;
    log?.(`< ${text.slice(0, 2000)}`);
    const method = "method" in message ? undefined : methods.get(message["id"]);
    const result = message["result"] as Json | undefined;
    const agreed = method === "initialize" ? textOr(result?.["protocolVersion"], version) : version;
    if (method === "initialize") agreedOn = agreed;
    // Schemas of older revisions have no extensions; the server offers them only to clients that name their own.
    const offered = result?.["capabilities"] as Json | undefined;
    if (method === "initialize" && declaresExtensions) delete offered?.["extensions"];
    seen++;
    for (const fault of revisionOf(agreed).faults(message, method)) faults.add(fault);
  };

  const tryLook = (text: string, version: string) => {
    try {
      look(text, version);
    } catch (error) {
      faults.add(String(error));
    }
  };

  const pass = async (from: IncomingMessage, to: ServerResponse) => {
    const body = await read(from);
    log?.(`> ${from.method} ${textOr(from.headers["last-event-id"], "")} ${body}`);
    let version = textOr(from.headers["mcp-protocol-version"], agreedOn);
    for (const sent of messagesOf(body)) {
      if ("method" in sent && "id" in sent) methods.set(sent["id"], String(sent["method"]));
      if (sent["method"] === "initialize") {
        const { capabilities } = sent["params"] as { capabilities?: Json };
        declaresExtensions = capabilities?.["extensions"] !== undefined;
      }
      const meta = (sent["params"] as Json | undefined)?.["_meta"] as Json | undefined;
      version = textOr(meta?.["io.modelcontextprotocol/protocolVersion"], version);
    }
    const { method, url: path, headers } = from;
    const on = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      const type = answer.headers["content-type"] ?? "";
      log?.(`  ${from.method} ${answer.statusCode} ${type}`);
      session = textOr(answer.headers["mcp-session-id"], session);
      to.writeHead(answer.statusCode!, answer.headers);
      to.flushHeaders();
      const isStream = type.startsWith("text/event-stream");
      if (isStream) streams.add(to);
      if (isStream && body.includes('"tools/call"')) calls.add(to);
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        to.write(chunk);
        text += chunk;
        if (!isStream) return;
        const events = text.split("\n\n");
        text = events.pop()!;
        for (const data of events.map(dataOf)) if (data !== "") tryLook(data, version);
      });
      answer.on("end", () => {
        if (type.startsWith("application/json") && path?.startsWith("/mcp") && text !== "") {
          if (text.includes('"jsonrpc"')) tryLook(text, version);
        }
        to.end();
      });
      answer.on("close", () => {
        streams.delete(to);
        calls.delete(to);
        if (!answer.complete) to.destroy();
      });
    });
    on.on("error", () => to.destroy());
    to.on("close", () => on.destroy());
    on.end(body);
  };

  const act = async (what: string, body: string): Promise<string> => {
    switch (what) {
      case "drop":
        for (const stream of body === "calls" ? calls : streams) stream.destroy();
        return "";
      case "end": {
        const headers = { "mcp-session-id": session };
        const { status } = await fetch(`http://127.0.0.1:${port}/mcp`, {
          method: "DELETE",
          headers,
        });
        if (status >= 300) throw new Error(`DELETE is answered with ${status}`);
        return "";
      }
      case "browse":
        return browse(body);
      default:
        throw new Error(`The driver has no ${what}: drop, end, browse.`);
    }
  };

  const server = createServer((from, to) => {
    const [, what] = /^\/control\/(\w+)$/.exec(from.url ?? "") ?? [];
    if (what === undefined) {
      void pass(from, to).catch((error: unknown) => {
        faults.add(String(error));
        to.destroy();
      });
      return;
    }
    void read(from)
      .then((body) => act(what, body))
      .then(
        (text) => to.end(text),
        (error: unknown) => to.writeHead(500).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    faults,
    count: () => seen,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const textOr = (value: unknown, other: string): string =>
  typeof value === "string" ? value : other;

async function read(from: IncomingMessage): Promise<string> {
  let text = "";
  from.setEncoding("utf8");
  for await (const chunk of from) text += chunk as string;
  return text;
}

function messagesOf(body: string): Json[] {
  if (body === "") return [];
  try {
    const parsed = JSON.parse(body) as Json | Json[];
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch {
    return [];
  }
}

const dataOf = (event: string): string =>
  event
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => line.slice("data: ".length))
    .join("\n")
    .trim();
