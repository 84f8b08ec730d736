import { listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { callerKey } from "../../../src/server/kernel/core/callers.ts";
import { stateful } from "../../../src/server/features/state/servlet-states.ts";
import { hasTable } from "../../../src/server/kernel/storage/tables.ts";
import { deploymentOf, readSettings } from "../../../src/server/kernel/settings/env.ts";
import type { Json } from "../../../src/server/kernel/core/model.ts";
import { connected } from "../../../src/server/kernel/servlets/connect.ts";
import { nobodysCall } from "../../../src/server/kernel/servlets/servlet.ts";
import { bundle } from "../../bundle.gen.ts";

/** Callers of servlets that keep state, and what their quotas count. */

export const MiB = 1024 * 1024;
const deployment = { ...deploymentOf(readSettings(env), env), runners: [stateful(env)] };
export const states = env.SERVLET_STATES!;
const quotas = env.QUOTAS!;
export const idsOf = async () => new Set((await listDurableObjectIds(states)).map(String));

/** Calls of a principal, in sessions; answers with the text, or the error. */
export function newCaller(address?: string) {
  const principal = address ? { name: "anonymous", address } : { name: crypto.randomUUID() };
  const call = async (servlet: string, name: string, args: Json, session?: string) => {
    const found = bundle.servlets.find((one) => one.name === servlet)!;
    const said = connected(found, deployment).callTool(name, args, {
      ...nobodysCall,
      principal,
      ...(session !== undefined && { session: `${session} ${callerKey(principal)}` }),
    });
    return said.then(
      (result) => (result as { content: { text: string }[] }).content[0]!.text,
      (error: Error) => error.message,
    );
  };
  const held = () =>
    runInDurableObject(quotas.getByName(callerKey(principal)!), (_object, { storage }) => {
      // Without a table nothing is held.
      if (!hasTable(storage.sql, "held")) return [];
      const rows = storage.sql.exec<{ bytes: number }>(
        "SELECT bytes FROM held ORDER BY bytes DESC",
      );
      return rows.toArray().map(({ bytes }) => bytes / MiB);
    });
  const grow = (mebibytes: number, session?: string) =>
    call(
      session === undefined ? "growing" : "growing_session",
      "grow",
      { name: `${mebibytes}` },
      session,
    );
  return { call, grow, held };
}
