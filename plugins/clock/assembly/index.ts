// clock: tells the time, and waits.
import { output } from "../../lib/assembly/extism";
import { Call, log, result, rpcError, structured, text, toolError } from "../../lib/assembly/hyper";
import { decimal, quote } from "../../lib/assembly/json";
import { now, sleep } from "../../lib/assembly/wasi";

const MAX_OFFSET_MINUTES = 14 * 60;
const MAX_WAIT_SECONDS = 30;

export function list_tools(): i32 {
  return output(`{
  "tools": [{
    "name": "now",
    "title": "Current time",
    "description": "Tells the current date, time and day of the week, in UTC or at a given offset from it. Use it whenever an answer depends on today's date.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "utcOffsetMinutes": {
          "type": "integer",
          "minimum": -840,
          "maximum": 840,
          "default": 0,
          "description": "Minutes east of UTC: 120 for UTC+02:00, -300 for UTC-05:00"
        }
      },
      "additionalProperties": false
    },
    "outputSchema": {
      "type": "object",
      "properties": {
        "iso": { "type": "string", "description": "Date and time as in ISO 8601, with milliseconds and the offset" },
        "unixMs": { "type": "integer", "description": "Milliseconds since 1970-01-01T00:00:00Z" },
        "weekday": { "type": "string", "description": "The day's English name, at that offset" }
      },
      "required": ["iso", "unixMs", "weekday"],
      "additionalProperties": false
    },
    "annotations": { "readOnlyHint": true, "openWorldHint": false }
  }, {
    "name": "wait",
    "title": "Wait",
    "description": "Waits for some seconds, then answers. Reports progress every second to a client that asks for it.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "seconds": { "type": "number", "minimum": 0, "maximum": 30, "description": "How long, in seconds" }
      },
      "required": ["seconds"],
      "additionalProperties": false
    },
    "annotations": { "readOnlyHint": true, "openWorldHint": false }
  }]
}`);
}

export function call_tool(): i32 {
  const call = new Call();
  if (call.name == "now") return tellTime(call);
  if (call.name == "wait") return wait(call);
  return rpcError(`Unknown tool: ${call.name}`);
}

function tellTime(call: Call): i32 {
  const given = call.argument("utcOffsetMinutes");
  const offset = given.exists ? given.number : 0;
  if (!(Math.abs(offset) <= MAX_OFFSET_MINUTES) || offset != Math.floor(offset)) {
    return toolError("utcOffsetMinutes must be a whole number from -840 to 840.");
  }
  const time = now();
  const local = time + <i64>offset * 60_000;
  const iso = isoDate(local) + "T" + isoTime(local) + isoOffset(<i64>offset);
  return structured(
    `{"iso":${quote(iso)},"unixMs":${decimal(time)},"weekday":${quote(weekday(local))}}`,
  );
}

function wait(call: Call): i32 {
  const given = call.argument("seconds");
  const seconds = given.number;
  if (!(seconds >= 0 && seconds <= MAX_WAIT_SECONDS)) {
    return toolError("seconds must be a number from 0 to 30.");
  }
  const whole = <i64>seconds;
  for (let second: i64 = 1; second <= whole; second++) {
    sleep(1000);
    call.progress(decimal(second), given.raw, `${decimal(second)} of ${given.raw} s`);
  }
  const rest = <i64>((seconds - <f64>whole) * 1000);
  if (rest > 0) sleep(rest);
  log("info", "clock", `Waited ${given.raw} s`);
  return result(text(`Waited ${given.raw} s.`));
}

// Dates. Days are counted from 1970-01-01; years are taken to begin in March, so that a leap day
// is the last of its year (Hinnant, "chrono-compatible low-level date algorithms").

const DAY_MS: i64 = 86_400_000;

function isoDate(ms: i64): string {
  const day = days(ms) + 719_468; // since 0000-03-01
  const era = day / 146_097;
  const dayOfEra = day % 146_097;
  const yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365;
  const dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const fromMarch = (5 * dayOfYear + 2) / 153;
  const dayOfMonth = dayOfYear - (153 * fromMarch + 2) / 5 + 1;
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  const year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0);
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(dayOfMonth, 2)}`;
}

function isoTime(ms: i64): string {
  const time = ms - days(ms) * DAY_MS;
  const seconds = `${pad((time / 60_000) % 60, 2)}:${pad((time / 1000) % 60, 2)}`;
  return `${pad(time / 3_600_000, 2)}:${seconds}.${pad(time % 1000, 3)}`;
}

function isoOffset(minutes: i64): string {
  if (minutes == 0) return "Z";
  const size = minutes < 0 ? -minutes : minutes;
  return `${minutes < 0 ? "-" : "+"}${pad(size / 60, 2)}:${pad(size % 60, 2)}`;
}

function weekday(ms: i64): string {
  const names = "Thursday Friday Saturday Sunday Monday Tuesday Wednesday".split(" ");
  return names[<i32>(days(ms) % 7)];
}

/** Whole days since 1970-01-01. */
function days(ms: i64): i64 {
  return ms < 0 ? 0 : ms / DAY_MS;
}

function pad(value: i64, width: i32): string {
  return decimal(value).padStart(width, "0");
}
