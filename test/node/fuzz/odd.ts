import type { Chance } from "./chance.ts";

/** Values that servers do not think of. */

export const METHODS = [
  "tools/list",
  "tools/call",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "completion/complete",
  "server/discover",
  "subscriptions/listen",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
  "tasks/result",
  "tasks/list",
  "skills/list",
  "skills/get",
  "events/list",
  "events/poll",
  "events/stream",
  "events/subscribe",
  "events/unsubscribe",
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
  "roots/list",
  "sampling/createMessage",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/roots/list_changed",
  "notifications/progress",
  "constructor",
  "__proto__",
  "toString",
  "tools",
  "tools/",
  "",
];

/** Stands in a string for JSON text that `JSON.stringify` would not write. */
const literal = (text: string) => `@@${text}@@`;
const LITERALS = [
  "1e999",
  "-1e999",
  "-0",
  "123456789012345678901234567890",
  "9007199254740993",
  "1.0",
  "1E2",
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\u0000"',
  '{"__proto__":{"isError":true}}',
  '{"a":1,"a":2}',
  '{"toString":1,"valueOf":1}',
  '{"toJSON":1,"then":1}',
  '{"length":-1}',
  '{"constructor":{"prototype":1}}',
  '[[[[["x"]]]]]',
];

export const TEXTS = [
  "",
  " ",
  "\0",
  "\ud800",
  "\ufeff",
  "\u2028",
  "é",
  "💥",
  "\r\n\r\ndata: {}\n\n",
  "%00",
  "-1",
  "null",
  "NaN",
  "1e999",
  "__proto__",
  "constructor",
  "toString",
  "=?base64?!!?=",
  "${STATE_KEY}",
  "${UNREAD_SECRET}",
  "{{x}}",
  "told:",
  "told:{}",
  "http://a.allowed.example:1/",
  "hello:greet",
  "x".repeat(5000),
  "a-b-c",
  "0",
  "mcp-session-id",
  "2026-07-28",
  "1999-01-01",
  "9999-99-99",
  btoa("tools:0:5"),
  btoa("tools:1:67"),
  btoa("tasks:3"),
  btoa("tools:99999999999999999999:5"),
];

const NUMBERS = [0, 1, -1, 1.5, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 63), 1e308, 5e-324];
const OTHERS = [null, true, false, [], {}, [[]], [null], { "": "" }, [{}]];

export function oddValue(chance: Chance): unknown {
  const kind = chance.below(20);
  if (kind < 6) return chance.pick(TEXTS);
  if (kind < 9) return chance.pick(NUMBERS);
  if (kind < 13) return chance.pick(OTHERS);
  if (kind < 18) return literal(chance.pick(LITERALS));
  if (kind < 19) return deep(chance, chance.pick([10, 63, 64, 65, 300]));
  if (chance.of(0.8)) return chance.pick(METHODS);
  return chance.of(0.5) ? deep(chance, chance.pick([3000, 20_000, 200_000])) : wide(chance);
}

function deep(chance: Chance, levels: number): string {
  const [open, close] = chance.pick([
    ["[", "]"],
    ['{"a":', "}"],
  ] as const);
  return literal(`${open.repeat(levels)}1${close.repeat(levels)}`);
}

function wide(chance: Chance): string {
  const count = chance.pick([1000, 50_000, 201_000]);
  return chance.of(0.5)
    ? literal(`[${"1,".repeat(count)}1]`)
    : literal(`{${Array.from({ length: count }, (_, at) => `"k${at}":1`).join(",")}}`);
}

/** As JSON text, literals included. */
export const written = (value: unknown): string =>
  (JSON.stringify(value) ?? "null").replace(/"@@((?:[^"\\]|\\.)*)@@"/g, (_whole, text: string) =>
    String(JSON.parse(`"${text}"`)),
  );
