import {
  askedIn,
  ABLE,
  answerOf,
  answerTo,
  brief,
  eventsIn,
  newAttempt,
  type Attempt,
  type Heard,
  type Json,
  type ClientWorld,
} from "./attempt.ts";
import { limits } from "../../../src/server/kernel/core/limits.ts";
import type { Step } from "./programs.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const HOUR = 3_600_000;
const META = "io.modelcontextprotocol";
const VERSION = "2026-07-28";

/** A client of the modern era: it sends requests until they are answered, and carries what it is given. */
export class ModernClient {
  readonly #world: ClientWorld;
  readonly #hasTasks: boolean;
  readonly attempts: Attempt[] = [];
  /** With the time until which their state is good. */
  readonly #forks: { attempt: Attempt; params: Json; until: number }[] = [];
  #requests = 0;

  constructor(world: ClientWorld, hasTasks: boolean) {
    this.#world = world;
    this.#hasTasks = hasTasks;
  }

  get #chance() {
    return this.#world.chance;
  }

  #wait(ms: number): Promise<void> {
    return this.#world.sleep(ms);
  }

  /** Sends a request; undefined where it or its response was lost. */
  async #send(attempt: Attempt, method: string, params: Json): Promise<Json | undefined> {
    const capabilities = { ...ABLE, ...(this.#hasTasks && TASKS) };
    const meta = {
      [`${META}/protocolVersion`]: VERSION,
      [`${META}/clientCapabilities`]: capabilities,
      progressToken: "p",
    };
    const id = ++this.#requests;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } });
    const request = {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": VERSION,
        "mcp-method": method,
        "mcp-name": params["name"] ?? params["taskId"],
      },
      body,
    };
    this.#note(
      `${method} ${params["name"] ?? ""}${params["requestState"] === undefined ? "" : " goes on"}`,
    );
    try {
      // Now and then it does not wait for the response.
      const leavesMs = this.#chance.of(0.03) ? this.#chance.below(3000) : undefined;
      const response = await this.#world.request(request, leavesMs);
      const text = await response.text();
      const isStream = response.headers.get("content-type") === "text/event-stream";
      const messages = isStream ? eventsIn(text) : [JSON.parse(text) as Json];
      let answer: Json | undefined;
      const heard: Heard = { messages: [], isWhole: false };
      for (const message of messages) {
        if (message["method"] === "notifications/progress")
          heard.messages.push(message["params"].message);
        else answer = message;
      }
      heard.isWhole = answer?.["result"] !== undefined;
      attempt.heard.push(heard);
      if (answer !== undefined) {
        // In a stream there is no other way to say it.
        const isInternal = answer["error"]?.message === "Internal error";
        answer["status"] = isInternal ? 500 : response.status;
      }
      this.#note(answer === undefined ? "the stream broke off" : brief(answer));
      return answer;
    } catch (error) {
      this.#note(`got no response: ${String(error)}`);
      return undefined;
    }
  }

  #note(what: string): void {
    this.#world.note(what);
  }

  /** Calls a tool until something has come of it. */
  async call(label: string, tool: string, program: Step[]): Promise<void> {
    for (let times = 1; ; times++) {
      const attempt = newAttempt(
        `${label}${times === 1 ? "" : `'${times}`}`,
        tool,
        program,
        this.#world,
      );
      this.attempts.push(attempt);
      const params = { name: tool, arguments: { steps: attempt.steps } };
      let answer = await this.#send(attempt, "tools/call", params);
      const isRefused = answer?.["error"]?.data?.retryAfter !== undefined;
      if (answer === undefined || answer["status"] >= 500 || isRefused) {
        // It was refused, or nobody can tell whether it has begun: it is called anew.
        attempt.isOrphan = true;
        if (answer !== undefined) attempt.refusal = answer["error"].message;
        await this.#wait(500 * times);
        continue;
      }
      await this.#finish(attempt, params, answer);
      for (let fork = this.#forks.shift(); fork !== undefined; fork = this.#forks.shift()) {
        if (this.#world.now() > fork.until) continue;
        this.attempts.push(fork.attempt);
        await this.#finish(fork.attempt, params, await this.#bring(fork.attempt, fork.params));
      }
      return;
    }
  }

  /** Goes on with what a request was answered until it is over. */
  async #finish(attempt: Attempt, params: Json, first: Json): Promise<void> {
    let answer = first;
    while (answer["result"]?.["resultType"] === "input_required") {
      attempt.isCarried = true;
      answer = await this.#goOn(attempt, params, answer["result"]);
    }
    if (answer["result"]?.["resultType"] === "task")
      await this.#follow(attempt, answer["result"]["taskId"]);
    else attempt.end = answer;
  }

  /** Answers what is asked, and sends that again and again until there is a response. */
  async #goOn(
    attempt: Attempt,
    params: Json,
    { inputRequests = {}, requestState }: Json,
  ): Promise<Json> {
    await this.#wait(this.#thinkingMs());
    const inputResponses = Object.fromEntries(
      Object.entries(inputRequests as Json).map(([key, request]) => [
        key,
        answerTo(attempt, key, request, this.#chance),
      ]),
    );
    const brought = { ...params, requestState, inputResponses };
    const [key, request] = Object.entries(inputRequests as Json)[0] ?? [];
    if (
      attempt.fork === undefined &&
      request?.method === "elicitation/create" &&
      this.#chance.of(0.1)
    ) {
      const at = askedIn(request.params.message as string);
      const other = answerOf(request.method, at, "accept", "typed otherwise");
      this.#forks.push({
        attempt: {
          ...newAttempt(attempt.label, attempt.tool, attempt.program, this.#world),
          answers: new Map(attempt.answers).set(at, other),
          fork: { of: attempt, at },
        },
        params: { ...brought, inputResponses: { ...inputResponses, [key!]: other } },
        // Time to bring it, and to bring it again, is left.
        until: this.#world.now() + limits.stateMs / 2,
      });
    }
    return this.#bring(attempt, brought);
  }

  /** Sends the same until there is a response, and does not say that an earlier one is still on its way. */
  async #bring(attempt: Attempt, params: Json): Promise<Json> {
    for (let times = 1; ; times++) {
      const answer = await this.#send(attempt, "tools/call", params);
      const retryAfter = answer?.["error"]?.data?.retryAfter as number | undefined;
      if (answer !== undefined && answer["status"] < 500 && retryAfter === undefined) return answer;
      await this.#wait(retryAfter === undefined ? 500 * times : retryAfter * 1000);
    }
  }

  /** How long the user takes. */
  #thinkingMs(): number {
    const chance = this.#chance;
    return chance.of(0.2) ? chance.below(100_000) : chance.below(3000);
  }

  /** Looks at a task until it is over, and then some more. */
  async #follow(attempt: Attempt, taskId: string): Promise<void> {
    attempt.taskId = taskId;
    const chance = this.#chance;
    let willCancel = chance.of(0.12) ? chance.below(6) : Infinity;
    let leftToLook = 2;
    let pauseMs = 500;
    for (;;) {
      // The longer nothing happens, the less often it looks.
      pauseMs = Math.min(pauseMs * 1.3, HOUR / 2);
      await this.#wait(100 + chance.below(pauseMs));
      if (willCancel-- <= 0 && attempt.cancelled !== "confirmed") {
        attempt.cancelled = "asked";
        const done = await this.#send(attempt, "tasks/cancel", { taskId });
        if (done?.["result"] === undefined) continue;
        attempt.cancelled = "confirmed";
        attempt.cancelledAt = this.#world.now();
        continue;
      }
      const answer = await this.#send(attempt, "tasks/get", { taskId });
      const task = answer?.["result"];
      if (task === undefined) {
        if (answer !== undefined && answer["status"] < 500) {
          attempt.problems.push(`tasks/get: ${JSON.stringify(answer["error"])}`);
          return;
        }
        continue;
      }
      const { status, result, error, inputRequests } = task;
      if (attempt.end !== undefined) {
        const end = JSON.stringify(attempt.end);
        if (JSON.stringify({ status, result, error }) !== end) {
          attempt.problems.push(`the end has changed from ${end.slice(0, 80)} to ${status}`);
        }
        if (--leftToLook === 0) return;
      } else if (status === "input_required") {
        pauseMs = 500;
        if (chance.of(0.5)) await this.#wait(this.#thinkingMs());
        await this.#answer(attempt, taskId, inputRequests);
      } else if (status !== "working") {
        attempt.end = JSON.parse(JSON.stringify({ status, result, error })) as Json;
      }
    }
  }

  async #answer(attempt: Attempt, taskId: string, inputRequests: Json): Promise<void> {
    const chance = this.#chance;
    const answers = Object.entries(inputRequests).map(
      ([key, request]) => [key, answerTo(attempt, key, request, chance)] as const,
    );
    // Some of them first, now and then; and the same more than once.
    const parts = answers.length > 1 && chance.of(0.4) ? [answers.slice(0, 1), answers] : [answers];
    if (chance.of(0.2)) parts.push(answers);
    for (const part of parts) {
      const inputResponses = Object.fromEntries(part);
      const taken = await this.#send(attempt, "tasks/update", { taskId, inputResponses });
      if (taken?.["error"] !== undefined && taken["status"] < 500) {
        attempt.problems.push(`tasks/update: ${JSON.stringify(taken["error"])}`);
      }
    }
  }
}
