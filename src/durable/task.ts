import { DurableObject } from "cloudflare:workers";
import { deploymentOf, namespaceOf } from "../env.ts";
import { Fault } from "../errors.ts";
import { limits } from "../limits.ts";
import { fittingAnswers, inputRequests, isComplete, unanswered } from "../mcp/answers.ts";
import { roundAsker } from "../mcp/rounds.ts";
import { endOf, type DetailedTask, type TaskCall, type TaskEnd } from "../mcp/tasks.ts";
import {
  answered,
  Suspended,
  Wait,
  type Answers,
  type CallContext,
  type Json,
  type Notification,
  type WaitReason,
} from "../model.ts";
import type { Bundle } from "../servlets/bundle.ts";
import { Registry } from "../servlets/registry.ts";
import type { Hub } from "./hub.ts";
import type { KeyRing } from "./key-ring.ts";
import { TaskStore } from "./task-store.ts";
import { Sealer } from "./vault.ts";

/** What others may ask of a task. `principal` is whoever asks; to all but its own there is no such task. */
export interface TaskObject extends Rpc.DurableObjectBranded {
  create(call: TaskCall, end?: TaskEnd): Promise<DetailedTask>;
  get(principal: string): Promise<DetailedTask | undefined>;
  update(principal: string, answers: Answers): Promise<{ wrong?: string } | undefined>;
  cancel(principal: string): Promise<boolean>;
}

/**
 * A call that outlives its request. It is run by alarms: the first at once, others when a sleep is over,
 * an answer has come, or a run has died. What its servlet asks is kept, so that each run goes on where
 * the one before it was.
 */
export function taskObject(bundle: Bundle) {
  return class Task extends DurableObject implements TaskObject {
    readonly #store: TaskStore;
    readonly #registry: Registry;
    #running: AbortController | undefined;

    constructor(state: DurableObjectState, env: Cloudflare.Env) {
      super(state, env);
      const ring = namespaceOf<KeyRing>(env, "KEY_RING");
      if (ring === undefined) throw new Error("the binding KEY_RING is missing");
      this.#store = new TaskStore(state.storage, new Sealer(ring), state.id.toString());
      this.#registry = new Registry(bundle, deploymentOf(env));
    }

    async create(call: TaskCall, end?: TaskEnd): Promise<DetailedTask> {
      await this.#store.create(call);
      if (end !== undefined) await this.#end(end);
      else await this.ctx.storage.setAlarm(Date.now());
      return this.#view();
    }

    async get(principal: string): Promise<DetailedTask | undefined> {
      return this.#store.isOf(principal) ? this.#view() : undefined;
    }

    async update(principal: string, answers: Answers): Promise<{ wrong?: string } | undefined> {
      if (!this.#store.isOf(principal)) return undefined;
      const waits = await this.#store.waits();
      if (waits?.kind !== "input") return {};
      try {
        const given = fittingAnswers(unanswered(waits.asks, waits.given), answers, Date.now());
        await this.#give({ ...waits, given: { ...waits.given, ...given } });
        return {};
      } catch (error) {
        return { wrong: Fault.from(error).message };
      }
    }

    async cancel(principal: string): Promise<boolean> {
      if (!this.#store.isOf(principal)) return false;
      if (!this.#store.isOver) {
        this.#store.setStatus("cancelled", "The task was cancelled.");
        this.#running?.abort(new DOMException("the task was cancelled", "AbortError"));
        await this.#settle();
      }
      return true;
    }

    override async alarm(): Promise<void> {
      const now = Date.now();
      if (!this.#store.exists) return;
      if (now >= this.#store.expires) return this.ctx.storage.deleteAll();
      const waits = await this.#store.waits();
      if (this.#store.isOver) return this.#rearm();
      if (waits?.kind === "input") return this.#cancelLate(waits, now);
      if (waits?.kind === "sleep") {
        if (now < waits.until) return this.#rearm();
        await this.#store.resume((recorded) => answered(recorded, "", waits.until));
      }
      await this.#run();
    }

    /** Takes answers; the call goes on where all are there. */
    async #give(waits: WaitReason & { kind: "input" }): Promise<void> {
      // Another update may have been faster.
      const before = await this.#store.waits();
      if (before?.kind !== "input" || this.#store.isOver) return;
      const given = { ...waits.given, ...before.given };
      if (!isComplete(waits.asks, given)) {
        await this.#store.wait({ ...waits, given });
        return;
      }
      await this.#store.answer(waits.asks, given);
      this.#store.setStatus("working");
      await this.ctx.storage.setAlarm(Date.now());
      await this.#publish();
    }

    async #cancelLate(waits: WaitReason & { kind: "input" }, now: number): Promise<void> {
      const late = Object.entries(unanswered(waits.asks, waits.given)).filter(
        ([, { deadline }]) => deadline !== undefined && deadline <= now,
      );
      const given = Object.fromEntries(late.map(([key]) => [key, { action: "cancel" }]));
      if (late.length > 0) await this.#give({ ...waits, given: { ...waits.given, ...given } });
      if ((await this.#store.waits()) !== undefined) await this.#rearm();
    }

    async #run(): Promise<void> {
      const runs = this.#store.countRun();
      if (runs > limits.maxRuns) {
        const message = `The task was begun ${limits.maxRuns} times, and each time its server stopped before it was done.`;
        return this.#end(endOf(new Fault("servlet_failed", message)));
      }
      // Should this run die, the next one begins then.
      await this.ctx.storage.setAlarm(Date.now() + limits.rerunMs * 2 ** (runs - 1));
      this.#running = new AbortController();
      const end = await this.#call(this.#running.signal);
      this.#running = undefined;
      if (this.#store.isOver) return;
      this.#store.forgetRuns();
      if (end instanceof Suspended) await this.#suspend(end);
      else await this.#end(end);
    }

    async #call(signal: AbortSignal): Promise<TaskEnd | Suspended> {
      const call = await this.#store.call();
      const recorded = await this.#store.recorded();
      const context: CallContext = {
        ...call,
        ...(recorded && { recorded }),
        signal: () => signal,
        notify: (notice) => this.#notice(notice),
        ask: roundAsker(call.client, call.input?.responses),
        keeper: this.#store,
        gate: (ms) => {
          if (signal.aborted) throw new Fault("cancelled", "The task was cancelled.");
          if (ms > limits.sleepInPlaceMs) throw new Wait({ kind: "sleep", until: Date.now() + ms });
        },
      };
      try {
        const outcome = await this.#registry.callTool(call.name, call.args, context);
        return outcome instanceof Suspended ? outcome : { result: outcome };
      } catch (error) {
        const fault = Fault.from(error);
        if (fault.code === "internal") console.error(fault.cause);
        return endOf(fault);
      }
    }

    /** Keeps what the call waits for. */
    async #suspend({ reason, recorded, state }: Suspended): Promise<void> {
      await this.#store.suspend(recorded, state);
      await this.#store.wait(reason);
      this.#store.setStatus(reason.kind === "input" ? "input_required" : "working");
      await this.#settle();
    }

    async #end(end: TaskEnd): Promise<void> {
      await this.#store.end(end);
      this.#store.setStatus("result" in end ? "completed" : "failed", "");
      await this.#settle();
    }

    #notice({ method, params = {} }: Notification): void {
      if (method !== "notifications/progress") return;
      const { message, progress, total } = params;
      const text =
        typeof message === "string"
          ? message
          : `${String(progress)}${total === undefined ? "" : ` of ${String(total)}`}`;
      this.#store.setStatus("working", text);
      this.ctx.waitUntil(this.#publish());
    }

    async #settle(): Promise<void> {
      await this.#rearm();
      await this.#publish();
    }

    /** Sets the alarm for what comes next: a sleep's end, an answer's deadline, the task's own end. */
    async #rearm(): Promise<void> {
      const waits = this.#store.isOver ? undefined : await this.#store.waits();
      const times = [this.#store.expires];
      if (waits?.kind === "sleep") times.push(waits.until);
      if (waits?.kind === "input") {
        const open = Object.values(unanswered(waits.asks, waits.given));
        times.push(...open.flatMap(({ deadline }) => deadline ?? []));
      }
      await this.ctx.storage.setAlarm(Math.min(...times));
    }

    async #publish(): Promise<void> {
      const hubs = namespaceOf<Hub>(this.env, "HUBS");
      const params = await this.#view();
      try {
        const hub = hubs?.getByName(this.#store.principal);
        await hub?.publish([{ method: "notifications/tasks", params }]);
      } catch (error) {
        console.error(error); // Clients that listen ask for the task now and then.
      }
    }

    async #view(): Promise<DetailedTask> {
      const waits = await this.#store.waits();
      const asks: Json =
        this.#store.status === "input_required" && waits?.kind === "input"
          ? { inputRequests: inputRequests(unanswered(waits.asks, waits.given)) }
          : {};
      return { ...this.#store.view(), ...asks, ...(await this.#store.outcome()) };
    }
  };
}
