/** A client of the revisions that have sessions, on one connection. It takes answers as JSON and as streams of events. */
import { partsOf, wire, type Connection } from "./load.ts";

type Json = Record<string, any>;

export class LegacyClient {
  readonly #connection: Connection;
  readonly #version: string;
  #headers: Record<string, string> = {};
  #id = 0;

  constructor(connection: Connection, version: string) {
    this.#connection = connection;
    this.#version = version;
  }

  /** Initializes. The session is there afterwards, if the server has any. */
  async begin(): Promise<void> {
    this.#headers = {};
    const clientInfo = { name: "bench", version: "1.0.0" };
    const params = { protocolVersion: this.#version, capabilities: {}, clientInfo };
    const { head, body } = await this.#post({ id: ++this.#id, method: "initialize", params });
    const { protocolVersion } = resultIn(body);
    const session = /^mcp-session-id: *(.+)$/im.exec(head)?.[1];
    if (session !== undefined) this.#headers["mcp-session-id"] = session;
    // Clients send this header since that revision.
    if (this.#version >= "2025-06-18") this.#headers["mcp-protocol-version"] = protocolVersion;
    await this.#post({ method: "notifications/initialized" });
  }

  /** Sends a request; gives its result. Throws what the server answers instead. */
  async request(method: string, params: Json): Promise<Json> {
    const { body } = await this.#post({ id: ++this.#id, method, params });
    return resultIn(body);
  }

  /** Ends the session, if there is one. Servers may refuse that. */
  async end(): Promise<void> {
    if (this.#headers["mcp-session-id"] === undefined) return;
    const answer = await this.#connection.send(
      wire({ method: "DELETE", headers: this.#headers, body: "" }),
    );
    const { status, body } = partsOf(answer);
    if (status >= 300 && status !== 405) throw new Error(`DELETE: ${status} ${body}`);
  }

  async #post(message: Json) {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    const answer = partsOf(await this.#connection.send(wire({ headers: this.#headers, body })));
    if (answer.status < 300) return answer;
    throw new Error(`${message["method"]}: ${answer.status} ${answer.body.slice(0, 300)}`);
  }
}

/** The result in an answer: JSON, or the last message of a stream of events. */
function resultIn(body: string): Json {
  const text = body.startsWith("{") ? body : [...body.matchAll(/^data: ?(\{.*)$/gm)].at(-1)?.[1];
  const { result } = JSON.parse(text ?? "{}") as { result?: Json };
  if (result !== undefined) return result;
  throw new Error(`no result: ${body.slice(0, 300)}`);
}
