/** Tells the time, and waits. */
import { defineServlet } from "edge-servlets/servlet";

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const HARMLESS = { readOnlyHint: true, openWorldHint: false };

export default defineServlet({
  tools: {
    now: {
      title: "Current time",
      description:
        "Tells the current date, time and day of the week, in UTC or at a given offset from it. Use it whenever an answer depends on today's date.",
      input: {
        type: "object",
        properties: {
          utcOffsetMinutes: {
            type: "integer",
            minimum: -840,
            maximum: 840,
            default: 0,
            description: "Minutes east of UTC: 120 for UTC+02:00, -300 for UTC-05:00",
          },
        },
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          iso: {
            type: "string",
            description: "Date and time as in ISO 8601, with milliseconds and the offset",
          },
          unixMs: { type: "integer", description: "Milliseconds since 1970-01-01T00:00:00Z" },
          weekday: { type: "string", description: "The day's English name, at that offset" },
        },
        required: ["iso", "unixMs", "weekday"],
        additionalProperties: false,
      },
      annotations: HARMLESS,
      handler({ utcOffsetMinutes = 0 }) {
        const unixMs = Date.now();
        const there = new Date(unixMs + utcOffsetMinutes * 60_000);
        return {
          iso: there.toISOString().replace("Z", isoOffset(utcOffsetMinutes)),
          unixMs,
          weekday: WEEKDAYS[there.getUTCDay()]!,
        };
      },
    },

    wait: {
      title: "Wait",
      description:
        "Waits for some seconds, then answers. Reports progress every second to a client that asks for it.",
      input: {
        type: "object",
        properties: {
          seconds: {
            type: "number",
            minimum: 0,
            maximum: 30,
            description: "How long, in seconds",
          },
        },
        required: ["seconds"],
        additionalProperties: false,
      },
      annotations: HARMLESS,
      async handler({ seconds }, { log, progress, sleep }) {
        const whole = Math.floor(seconds);
        for (let second = 1; second <= whole; second++) {
          await sleep(1000);
          progress(second, seconds, `${second} of ${seconds} s`);
        }
        await sleep((seconds - whole) * 1000);
        log("info", `Waited ${seconds} s`, "clock");
        return `Waited ${seconds} s.`;
      },
    },
  },
});

function isoOffset(minutes: number): string {
  if (minutes === 0) return "Z";
  const size = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${twoDigits(size / 60)}:${twoDigits(size % 60)}`;
}

const twoDigits = (value: number): string => String(Math.floor(value)).padStart(2, "0");
