import { createHash } from "node:crypto";
import { keyOf } from "./draft.ts";
import { SECRETS } from "./judge.ts";

/** Numbers that let a run see the end of what else takes minutes or days. */
const TEST_LIMITS = {
  waitMs: 400,
  httpMs: 300,
  keepAliveMs: 300,
  listenKeepAliveMs: 300,
  promoteAfterMs: 150,
  sleepInPlaceMs: 100,
  listenMs: 5000,
  sessionStreamMs: 3000,
  callStreamMs: 3000,
  sessionIdleMs: 10_000,
  sessionPingMs: 1000,
  taskMs: 20_000,
  hubSessions: 20,
  concurrentCalls: 1000,
  journalEntries: 500,
  notifications: 200,
  sessionEvents: 50,
  // Some guests leave 16 MB to be read at once.
  unreadBytes: 4_000_000_000,
};

const hashOf = (key: string) => createHash("sha256").update(key).digest("hex");

/** The bindings of the Worker that is sent to. */
export const variables = {
  ...SECRETS,
  SEASON: "plums",
  GREETING: "hi",
  VAULT_PROBE: "opened",
  HOOK_SECRET: "sent",
  HOOK_STANDARD: "whsec_AAAA",
  LOG_LEVEL: "error",
  SCOPES: JSON.stringify({ narrow: ["hello:*", "told:*", "durable:*"] }),
  API_KEYS: JSON.stringify({
    alice: hashOf(keyOf("alice")),
    bob: hashOf(keyOf("bob")),
    carol: { hash: hashOf(keyOf("carol")), scopes: ["narrow"] },
  }),
  TEST_LIMITS: JSON.stringify(TEST_LIMITS),
};
