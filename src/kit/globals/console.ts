import type { HostLogLevel } from "../host.ts";
import { inspect } from "./inspect.ts";

/** The arguments of a call as text; format specifiers such as `%s` in the first are replaced by the following arguments. */
function line(args: unknown[]): string {
  const [first, ...rest] = args;
  if (typeof first !== "string") return args.map(plain).join(" ");
  const filled = first.replace(/%([sdifjoOc%])/g, (whole, kind: string) => {
    if (kind === "%") return rest.length > 0 ? "%" : whole;
    if (rest.length === 0) return whole;
    const value = rest.shift();
    switch (kind) {
      case "s":
        return plain(value);
      case "d":
      case "f":
        return String(Number(value));
      case "i":
        return String(Math.trunc(Number(value)));
      case "c":
        return "";
      default:
        return inspect(value);
    }
  });
  return [filled, ...rest.map(plain)].join(" ");
}

const plain = (value: unknown): string => (typeof value === "string" ? value : inspect(value));

const at =
  (level: HostLogLevel) =>
  (...args: unknown[]): void =>
    __host.log(level, line(args));

/** Writes to the server's log. */
export const console = {
  trace: /* @__PURE__ */ at(0),
  debug: /* @__PURE__ */ at(1),
  log: /* @__PURE__ */ at(2),
  info: /* @__PURE__ */ at(2),
  table: /* @__PURE__ */ at(2),
  dir: (value: unknown): void => __host.log(2, inspect(value)),
  warn: /* @__PURE__ */ at(3),
  error: /* @__PURE__ */ at(4),
  assert(condition?: unknown, ...args: unknown[]): void {
    if (!condition) __host.log(4, line(["Assertion failed:", ...args]));
  },
};
