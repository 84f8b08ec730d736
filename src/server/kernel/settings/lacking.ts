/** Which bindings a server lacks, and what is off without them. */
import { known, type Lack } from "./known-features.ts";

/** The kernel's own bindings. RATE_LIMIT is not among them: without it a Durable Object counts. */
const KERNEL_LACKS: readonly Lack[] = [
  { bindings: ["KEY_RING"], off: "sealed storage, which sessions, tasks, state and pages need" },
  { bindings: ["ATTEMPTS"], off: "limit on what callers store, and on tries of the passphrase" },
  { bindings: ["QUOTAS"], off: "limit on what servlets keep for a caller" },
  { bindings: ["KEY_RECORDS"], off: "making and revoking API keys while the server runs" },
];

/** What is off in this environment, each with the missing bindings. */
export const lackingIn = (env: object): Lack[] =>
  [...KERNEL_LACKS, ...(known.off ?? [])].flatMap(({ bindings, off }) => {
    const lacking = bindings.filter((name) => Reflect.get(env, name) === undefined);
    return lacking.length === 0 ? [] : [{ bindings: lacking, off }];
  });
