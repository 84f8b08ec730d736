import { newAttempt, type Attempt, type ClientWorld, type Json } from "./attempt.ts";
import type { Step } from "./programs.ts";

/** Adds lines to the file of a servlet that keeps files, one in each call. */
export class FilesClient {
  readonly #world: ClientWorld;
  readonly attempts: Attempt[] = [];

  constructor(world: ClientWorld) {
    this.#world = world;
  }

  /** Makes one call for each step, one after the other, and again those of which nothing was heard. */
  async run(label: string, program: Step[]): Promise<void> {
    for (const [at, step] of program.entries()) {
      for (let times = 1; !(await this.#call(`${label}-${at}'${times}`, step)); times++) {
        await this.#world.sleep(500 * times);
      }
    }
  }

  async #call(label: string, step: Step): Promise<boolean> {
    const attempt = newAttempt(label, "filing-do", [step], this.#world);
    this.attempts.push(attempt);
    attempt.end = await this.#send(attempt);
    attempt.isOrphan = attempt.end === undefined;
    return !attempt.isOrphan;
  }

  /** The end of the call; undefined where the response was lost. */
  async #send({ label, steps: [step], problems }: Attempt): Promise<Json | undefined> {
    const what = step!.do === "crash" ? "log_then_trap" : "log";
    const args = { what, path: "/data/log", text: step!.message };
    const params = { name: "filing-do", arguments: args };
    const init = {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-11-25",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: label, method: "tools/call", params }),
    };
    this.#world.note(`${what} ${label}`);
    try {
      const response = await this.#world.request(init);
      const text = await response.text();
      this.#world.note(`${response.status} ${text.slice(0, 200)}`);
      if (response.status === 429 || response.status >= 500) return undefined;
      const { result, error } = JSON.parse(text) as Json;
      if (error !== undefined || result.isError === true) return { result, error };
      const [count, ...lines] = result.content[0].text.trim().split(" ");
      // One is in its memory, and the other in its file.
      if (Number(count) !== lines.length)
        problems.push(`${count} lines, and ${lines.length} in the file`);
      return { result: { structuredContent: { said: [lines], ids: [], times: [0] } } };
    } catch (error) {
      this.#world.note(`got no response: ${String(error)}`);
      return undefined;
    }
  }
}
