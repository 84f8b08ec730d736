import { answerTo, newAttempt, type Attempt, type Json, type ClientWorld } from "./attempt.ts";
import { toolsIn } from "./programs.ts";
import type { Call } from "./scene.ts";

const VERSION = "2025-11-25";

/** The error of a response; none where that is lost. */
const refusalIn = (response: Response): Promise<string | undefined> =>
  response.text().catch(() => undefined);

/** A client with a session: it reads streams, comes back when they break, and answers what it is asked. */
export class SessionClient {
  readonly #world: ClientWorld;
  readonly #capabilities: object;
  readonly attempts: Attempt[] = [];
  #session = "";
  #requests = 0;

  constructor(world: ClientWorld, capabilities: object) {
    this.#world = world;
    this.#capabilities = capabilities;
  }

  get #chance() {
    return this.#world.chance;
  }

  #wait(ms: number): Promise<void> {
    return this.#world.sleep(ms);
  }

  #note(what: string): void {
    this.#world.note(what);
  }

  /** Begins a session, makes these calls at the same time, and ends it. */
  async run(calls: (Call & { label: string })[]): Promise<void> {
    const params = {
      protocolVersion: VERSION,
      capabilities: this.#capabilities,
      clientInfo: { name: "raw", version: "1" },
    };
    const begun = await this.#insist({ id: 0, method: "initialize", params });
    this.#session = begun.headers.get("mcp-session-id")!;
    await begun.text();
    await this.#insist({ method: "notifications/initialized" });
    await Promise.all(calls.map((call) => this.#call(call)));
    // State of a session can be seen in that session alone.
    const keeps = calls.find((call) =>
      [call.tool, ...toolsIn(call.program)].some((tool) => tool.startsWith("ks-")),
    );
    if (keeps !== undefined) {
      const look = { label: `${keeps.label}-look`, tool: "ks-plan", program: [{ do: "keep" }] };
      await this.#call({ ...keeps, ...look, client: "session" });
    }
    for (;;) {
      const response = await this.#send("DELETE");
      if (response === undefined || response.status >= 500) continue;
      this.#note(`has ended its session: ${response.status}`);
      return;
    }
  }

  /** Undefined where the request or its response was lost. */
  async #send(
    method: string,
    message?: object,
    lastEventId?: string,
  ): Promise<Response | undefined> {
    const headers = {
      accept: "application/json, text/event-stream",
      ...(message && { "content-type": "application/json" }),
      ...(this.#session !== "" && {
        "mcp-session-id": this.#session,
        "mcp-protocol-version": VERSION,
      }),
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    };
    const init = {
      method,
      headers,
      ...(message && { body: JSON.stringify({ jsonrpc: "2.0", ...message }) }),
    };
    try {
      return await this.#world.request(init);
    } catch (error) {
      this.#note(`got no response: ${String(error)}`);
      return undefined;
    }
  }

  /** Sends a message until it is taken. */
  async #insist(message: object): Promise<Response> {
    for (let times = 1; ; times++) {
      const response = await this.#send("POST", message);
      if (response !== undefined && response.status < 500) return response;
      await this.#wait(300 * times);
    }
  }

  async #call({ client, label, tool, program }: Call & { label: string }): Promise<void> {
    for (let times = 1; ; times++) {
      const attempt = newAttempt(
        `${label}${times === 1 ? "" : `'${times}`}`,
        tool,
        program,
        this.#world,
      );
      this.attempts.push(attempt);
      const id = ++this.#requests;
      const params = {
        name: tool,
        arguments: { steps: attempt.steps },
        _meta: { progressToken: id },
        ...(client === "session-tasks" && { task: {} }),
      };
      this.#note(`calls ${tool} as ${id}`);
      const response = await this.#send("POST", { id, method: "tools/call", params });
      const isRefused = response !== undefined && response.status >= 500;
      if (isRefused) attempt.refusal = await refusalIn(response);
      const isLost =
        response === undefined ||
        isRefused ||
        (client === "session-tasks"
          ? await this.#followTask(attempt, response)
          : await this.#follow(attempt, id, response));
      if (isLost) {
        // Nobody can tell whether it has begun: it is called anew.
        attempt.isOrphan = true;
        await this.#wait(500 * times);
        continue;
      }
      return;
    }
  }

  /** Waits for the result of the task that a call has become. True where nobody knows which one that is. */
  async #followTask(attempt: Attempt, made: Response): Promise<boolean> {
    const { result, error } = (await made.json().catch(() => ({}))) as Json;
    if (error !== undefined) attempt.end = { status: "error", error };
    if (result === undefined) return error === undefined;
    const { taskId } = result.task;
    attempt.taskId = taskId;
    if (this.#chance.of(0.12)) void this.#cancelTask(attempt, taskId);
    for (let times = 1; ; times++) {
      const id = ++this.#requests;
      const request = { id, method: "tasks/result", params: { taskId } };
      const response = await this.#send("POST", request);
      const isThere = response !== undefined && response.status < 500;
      if (isThere && !(await this.#follow(attempt, id, response))) return false;
      await this.#wait(300 * times);
      // The task's questions would come on the stream that was lost.
      await this.#insist({ method: "notifications/cancelled", params: { requestId: id } });
    }
  }

  async #cancelTask(attempt: Attempt, taskId: string): Promise<void> {
    await this.#wait(this.#chance.below(5000));
    if (attempt.end !== undefined) return;
    attempt.cancelled = "asked";
    this.#note(`cancels the task`);
    const request = { id: ++this.#requests, method: "tasks/cancel", params: { taskId } };
    await (await this.#insist(request)).text().catch(() => "");
    attempt.cancelled = "confirmed";
    attempt.cancelledAt = this.#world.now();
  }

  /** Reads the call's stream to its end, over many connections. True where it was lost before its first event. */
  async #follow(attempt: Attempt, id: number, first: Response): Promise<boolean> {
    const chance = this.#chance;
    if (attempt.taskId === undefined && chance.of(0.12)) void this.#cancelLater(attempt, id);
    let response: Response | undefined = first;
    let last: string | undefined;
    for (let pauseMs = 200; ; pauseMs = Math.min(pauseMs * 1.5, 600_000)) {
      if (response !== undefined && response.status === 200) {
        if (response.headers.get("content-type") !== "text/event-stream") {
          attempt.end = (await response.json().catch(() => undefined)) as Json | undefined;
          return attempt.end === undefined;
        }
        const messages = chance.of(0.2) ? chance.below(4) : Infinity;
        last = await this.#read(attempt, id, response, last, messages);
        if (attempt.end !== undefined) return false;
      } else if (response !== undefined && response.status < 500) {
        const text = await response.text();
        if (attempt.cancelled === "no")
          attempt.problems.push(`the stream is not there: ${response.status} ${text}`);
        attempt.end = { status: "cancelled" };
        return false;
      }
      if (last === undefined) return true;
      await this.#wait(chance.below(pauseMs));
      response = await this.#send("GET", undefined, last);
    }
  }

  /** Reads a stream until it ends, or so many messages of it; gives the id of the newest event. */
  async #read(
    attempt: Attempt,
    id: number,
    { body }: Response,
    before: string | undefined,
    messages: number,
  ): Promise<string | undefined> {
    const reader = body!.getReader();
    let [text, last, left] = ["", before, messages];
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return last;
        text += new TextDecoder().decode(value);
        for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
          const lines = text.slice(0, end).split("\n");
          text = text.slice(end + 2);
          const field = (name: string) =>
            lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
          last = field("id") ?? last;
          const data = field("data");
          if (data === undefined || data === "") continue;
          this.#take(attempt, id, JSON.parse(data) as Json);
          if (attempt.end === undefined && --left > 0) continue;
          this.#note(attempt.end === undefined ? "drops the connection" : "has its answer");
          await reader.cancel();
          return last;
        }
      }
    } catch (error) {
      this.#note(`the stream breaks: ${String(error)}`);
      return last;
    }
  }

  #take(attempt: Attempt, id: number, message: Json): void {
    const heard = (attempt.heard[0] ??= { messages: [], isWhole: false });
    if (message["method"] === "notifications/progress")
      heard.messages.push(message["params"].message);
    else if ("method" in message && "id" in message) void this.#answer(attempt, message);
    else if (message["id"] === id) {
      const { result, error } = message;
      heard.isWhole = result !== undefined;
      attempt.end = {
        status: error === undefined ? "result" : `error ${error.message}`,
        result,
        error,
      };
    }
  }

  readonly #answering = new Set<unknown>();

  /** Answers a request of the server, once. */
  async #answer(attempt: Attempt, { id, method, params }: Json): Promise<void> {
    this.#note(`is asked ${id}: ${method} ${params["message"] ?? ""}`);
    const result = answerTo(attempt, String(id), { method, params }, this.#chance);
    if (this.#answering.has(id)) return;
    this.#answering.add(id);
    await this.#wait(this.#chance.of(0.2) ? this.#chance.below(100_000) : this.#chance.below(2000));
    await this.#insist({ id, result });
  }

  async #cancelLater(attempt: Attempt, id: number): Promise<void> {
    await this.#wait(this.#chance.below(5000));
    if (attempt.end !== undefined) return;
    attempt.cancelled = "asked";
    this.#note(`cancels ${id}`);
    await this.#insist({ method: "notifications/cancelled", params: { requestId: id } });
    attempt.cancelled = "confirmed";
    attempt.cancelledAt = this.#world.now();
    attempt.end ??= { status: "cancelled" };
  }
}
