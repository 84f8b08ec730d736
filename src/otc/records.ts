import type { Call, CallToolResponse } from "./call.ts";

/**
 * The calls of one principal that have a `call_id`: each is run once, and its response is kept for
 * `limits.callRecordMs`.
 */
export interface Records {
  /**
   * Runs the call, or gives what it came to before, waiting for that where it still runs. Undefined where
   * the id belongs to a call that asked for something else. `asks` is the same text for requests that
   * ask for the same.
   */
  run(call: Call, asks: string): Promise<CallToolResponse | undefined>;
}
