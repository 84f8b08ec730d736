import { sha256 } from "../core/digest.ts";
import { namespaceOf } from "../settings/env.ts";
import type { Call, CallToolResponse } from "./call.ts";
import { callerKey } from "../core/callers.ts";
import { retry } from "../core/retry.ts";
import { afterSending } from "../core/unknown-outcome.ts";
import type { CallRecord } from "./call-record.ts";

/** The calls that have a `call_id`: each runs once, and its response is kept for `limits.callRecordMs`. */
export class CallRecords {
  readonly #objects: DurableObjectNamespace<CallRecord>;

  constructor(objects: DurableObjectNamespace<CallRecord>) {
    this.#objects = objects;
  }

  /**
   * Runs the call of a principal, or returns the response of an earlier request, once that has ended. Undefined
   * where the id belongs to a call with another content: `content` is equal for equal requests.
   */
  async run(call: Call, content: string): Promise<CallToolResponse | undefined> {
    const { principal, call_id } = call;
    const owner = callerKey(principal) ?? principal.name;
    const name = await hexDigest(JSON.stringify([owner, call_id]));
    const digest = await hexDigest(content);
    const response = await retry(() => this.#objects.getByName(name).run(call, digest)).catch(
      (error: unknown) => {
        throw afterSending({ hasSent: true }, error);
      },
    );
    return response === undefined ? undefined : (JSON.parse(response) as CallToolResponse);
  }
}

/** The recorded calls of a Worker with these bindings; undefined without them. */
export function recordsOf(env: object): CallRecords | undefined {
  const objects = namespaceOf<CallRecord>(env, "CALL_RECORDS");
  if (objects === undefined || namespaceOf(env, "KEY_RING") === undefined) return undefined;
  return new CallRecords(objects);
}

const hexDigest = async (text: string) => (await sha256(text)).toHex();
