import type { TasksOf } from "../../kernel/calls/task-object.ts";
import type { Sealer } from "../../kernel/storage/vault.ts";
import { DurableObject } from "cloudflare:workers";
import { Alarm } from "../../kernel/storage/alarm.ts";
import { report } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import { runTool, type Call, type CallToolResponse } from "./call.ts";
import { SealedRows } from "../../kernel/storage/sealed-rows.ts";
import { StoredBytes } from "../../kernel/storage/stored-bytes.ts";
import { callerKey } from "../../kernel/core/callers.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { hasTable } from "../../kernel/storage/tables.ts";
import { Unreadable } from "../../kernel/storage/vault.ts";
import { hexDigest } from "../../kernel/core/digest.ts";
import { retry } from "../../kernel/core/retry.ts";
import { settled, type Settled, unsettled } from "../../kernel/core/settled.ts";
import { afterSending } from "../../kernel/core/unknown-outcome.ts";

/** The stored record. */
interface StoredRecord {
  asks: string;
  /** Absent until the call has ended. */
  response?: string;
}

/** A call that has begun. */
interface RunningCall {
  asks: string;
  /** Never rejects. */
  response: Promise<string>;
}

/** The parts of the server that a record uses. */
interface RecordServer {
  readonly sealer: Sealer;
  registry(): Promise<Registry>;
  readonly tasks?: TasksOf;
  countStored(caller: string | undefined, bytes?: number): Promise<void>;
}

/**
 * One `call_id` of one principal. The call runs here, so that it ends even if its client leaves, and once: its start
 * is stored before it runs, and its response before anybody receives it.
 */
export class CallRecord extends DurableObject<object> {
  readonly #rows: SealedRows;
  readonly #server: RecordServer;
  readonly #alarm = new Alarm(this.ctx.storage);
  #begun: Promise<Settled<RunningCall>> | undefined;

  constructor(state: DurableObjectState, env: object, server: RecordServer) {
    super(state, env);
    this.#rows = new SealedRows(state.storage.sql, server.sealer);
    this.#server = server;
  }

  /** The response as JSON; undefined if the id was used with another content. `asks` is a digest of the content. */
  async run(call: Call, asks: string): Promise<Settled<string | undefined>> {
    this.#begun ??= this.#begin(call, asks).catch((error: unknown) => {
      this.#begun = undefined;
      throw error;
    });
    const begun = await this.#begun;
    if (!("value" in begun)) return begun;
    return { value: begun.value.asks === asks ? await begun.value.response : undefined };
  }

  override async alarm(): Promise<void> {
    this.#begun = undefined;
    await this.ctx.storage.deleteAll();
  }

  /** Begins the call, unless an earlier instance of this object has, or its caller has stored too much. */
  async #begin(call: Call, asks: string): Promise<Settled<RunningCall>> {
    const { sql } = this.ctx.storage;
    if (hasTable(sql, "texts")) {
      const { asks: before, response = failed(call, STOPPED) } = await this.#stored(call, asks);
      return { value: { asks: before, response: Promise.resolve(response) } };
    }
    // Before anything is stored: if the registry is not known yet, the next request begins the call.
    const registry = await this.#server.registry();
    const counted = await settled(() => this.#countStored(call));
    if (!("value" in counted)) {
      this.#begun = undefined;
      return counted;
    }
    await this.#store({ asks }, () => sql.exec(SealedRows.texts));
    const response = this.#end(call, asks, registry);
    this.ctx.waitUntil(response);
    return { value: { asks, response } };
  }

  #countStored({ principal }: Call, bytes?: number): Promise<void> {
    return this.#server.countStored(callerKey(principal), bytes);
  }

  async #stored(call: Call, asks: string): Promise<StoredRecord> {
    try {
      return (await this.#rows.text("call")) as StoredRecord;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      report(error);
      return { asks, response: failed(call, UNREADABLE) };
    }
  }

  async #end(call: Call, asks: string, registry: Registry): Promise<string> {
    const stays = new AbortController();
    const count = (bytes?: number) => this.#countStored(call, bytes);
    const tasks = this.#server.tasks?.(call.principal, count);
    const response = JSON.stringify(
      await runTool({ registry: registry.for(call), tasks }, call, () => stays.signal),
    );
    const counting = new StoredBytes(count, "").add(response);
    const kept = await counting.then(
      () => response,
      (error: unknown) => (report(error).code === "too_many" ? failed(call, UNCOUNTED) : response),
    );
    try {
      await this.#store({ asks, response: kept });
    } catch (error) {
      report(error); // The response stays in memory as long as this object lives.
    }
    return response;
  }

  async #store(call: StoredRecord, first?: () => void): Promise<void> {
    const { storage } = this.ctx;
    const write = await this.#rows.prepare({ texts: { call } });
    storage.transactionSync(() => {
      first?.();
      write();
      void this.#alarm.set(Date.now() + limits.callRecordMs);
    });
  }
}

const STOPPED =
  "The server stopped while this call ran, so its outcome is unknown. Check it before you call again with another call_id.";
const UNCOUNTED =
  "This call has ended, but its response was not kept, as too much is stored for its caller. Check what it has done before you call again with another call_id.";
const UNREADABLE =
  "The stored response of this call can no longer be read: the key that sealed it is gone. To call again, use another call_id.";

const failed = ({ call_id }: Call, message: string): string => {
  const response: CallToolResponse = { call_id, duration: 0, success: false, error: { message } };
  return JSON.stringify(response);
};

/** The calls that have a `call_id`: each runs once, and its response is kept for `limits.callRecordMs`. */
export class CallRecords {
  readonly #objects: DurableObjectNamespace<CallRecord>;

  constructor(objects: DurableObjectNamespace<CallRecord>) {
    this.#objects = objects;
  }

  /**
   * Runs a principal's call, or returns the response of an earlier request once that has ended. Undefined
   * if the id belongs to a call with another `content`, which is equal for equal requests.
   */
  async run(call: Call, content: string): Promise<CallToolResponse | undefined> {
    const { principal, call_id } = call;
    const owner = callerKey(principal) ?? principal.name;
    const name = await hexDigest(JSON.stringify([owner, call_id]));
    const digest = await hexDigest(content);
    const run = async (): Promise<Settled<string | undefined>> =>
      this.#objects.getByName(name).run(call, digest);
    const ended = await retry(run).catch((error: unknown) => {
      throw afterSending({ hasSent: true }, error);
    });
    const response = unsettled(ended);
    return response === undefined ? undefined : (JSON.parse(response) as CallToolResponse);
  }
}
