import { sha256 } from "../digest.ts";
import { namespaceOf } from "../env.ts";
import type { CallToolResponse } from "../otc/call.ts";
import type { Records } from "../otc/records.ts";
import { callerKey, type Principal } from "../model.ts";
import type { CallRecordObject } from "./call-record.ts";

/** The recorded calls of a Worker with these bindings, by caller key; undefined where it has not got them. */
export function recordsOf(env: object): ((principal: Principal) => Records) | undefined {
  const objects = namespaceOf<CallRecordObject>(env, "CALL_RECORDS");
  if (objects === undefined || namespaceOf(env, "KEY_RING") === undefined) return undefined;
  return (principal) => ({
    async run(call, asks) {
      const owner = callerKey(principal) ?? principal.name;
      const record = objects.getByName(await hexDigest(JSON.stringify([owner, call.call_id])));
      const response = await record.run(call, await hexDigest(asks));
      return response === undefined ? undefined : (JSON.parse(response) as CallToolResponse);
    },
  });
}

const hexDigest = async (text: string) => (await sha256(text)).toHex();
