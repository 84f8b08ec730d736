import { Fault } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import type { Json, Notification } from "../../core/model.ts";

/** https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging#log-levels */
export const LOGGING_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;
type LoggingLevel = (typeof LOGGING_LEVELS)[number];

export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return (LOGGING_LEVELS as readonly unknown[]).includes(value);
}

/** The level that `logging/setLevel` sets. Throws `invalid_params`. */
export function logLevelIn({ level }: Json): LoggingLevel {
  if (isLoggingLevel(level)) return level;
  const message = `params.level must be one of ${LOGGING_LEVELS.join(", ")}.`;
  throw new Fault("invalid_params", message);
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress */
type ProgressToken = string | number;

interface Wanted {
  /** As the client sent it; undefined if it wants no progress. */
  progressToken: ProgressToken | undefined;
  /** The lowest level that the client wants; undefined if it wants no logs. */
  logLevel: LoggingLevel | undefined;
  /** The last progress value that was sent to the client. */
  progress?: number | undefined;
  /** True, once, for a page that the client was asked to open; absent for a client that is not notified about pages. */
  takePage?(elicitationId: string): boolean;
}

/**
 * Returns a function that passes on the notifications that a call's client wants, in order: rising progress under
 * the request's token, and logs from the requested level. No others belong on a request's stream.
 */
export function notices(
  wanted: Wanted,
  send: (message: Json) => void,
): (notice: Notification) => void {
  let { progress = -Infinity } = wanted;
  return ({ method, params = {} }) => {
    switch (method) {
      case "notifications/progress": {
        const { progressToken, progress: value, total, message } = params;
        if (wanted.progressToken === undefined) return;
        // Guests get the token as a string.
        if (typeof progressToken !== "string" && typeof progressToken !== "number") return;
        if (String(progressToken) !== String(wanted.progressToken)) return;
        if (typeof value !== "number" || !(value > progress)) return;
        progress = value;
        send({
          jsonrpc: "2.0",
          method,
          params: {
            progressToken: wanted.progressToken,
            progress,
            ...(typeof total === "number" ? { total } : {}),
            ...(typeof message === "string" ? { message } : {}),
          },
        });
        return;
      }
      case "notifications/message": {
        const { level, logger, data } = params;
        if (wanted.logLevel === undefined || !isLoggingLevel(level)) return;
        if (LOGGING_LEVELS.indexOf(level) < LOGGING_LEVELS.indexOf(wanted.logLevel)) return;
        const named = typeof logger === "string" ? { logger } : {};
        send({ jsonrpc: "2.0", method, params: { level, ...named, data: data ?? null } });
        return;
      }
      case "notifications/elicitation/complete": {
        const { elicitationId } = params;
        if (typeof elicitationId !== "string" || !wanted.takePage?.(elicitationId)) return;
        send({ jsonrpc: "2.0", method, params: { elicitationId } });
      }
    }
  };
}

/** A request's progress token, if it has a valid one of at most `limits.idCharacters`. */
export function progressTokenOf({ progressToken }: Json): ProgressToken | undefined {
  if (typeof progressToken === "string") {
    // It is stored with the call, and repeated in each notification.
    return progressToken.length <= limits.idCharacters ? progressToken : undefined;
  }
  return typeof progressToken === "number" && Number.isInteger(progressToken)
    ? progressToken
    : undefined;
}
