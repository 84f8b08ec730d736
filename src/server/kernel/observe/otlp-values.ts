/**
 * Values that traces and metrics share in OTLP's JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
 */
import { VERSION } from "../core/version.ts";

export interface OtlpAttribute {
  key: string;
  value:
    | { stringValue: string }
    | { boolValue: boolean }
    | { intValue: string }
    | { doubleValue: number };
}

export function attribute(key: string, value: TailStream.Attribute["value"]): OtlpAttribute {
  if (typeof value === "boolean") return { key, value: { boolValue: value } };
  const isWhole =
    typeof value === "bigint" || (typeof value === "number" && Number.isSafeInteger(value));
  if (isWhole) return { key, value: { intValue: String(value) } };
  if (typeof value === "number") return { key, value: { doubleValue: value } };
  return { key, value: { stringValue: String(value) } };
}

/** Converts a Unix time in ms to nanoseconds, as OTLP's JSON has them. */
export const nanoseconds = (ms: number) => `${BigInt(Math.round(ms)) * 1_000_000n}`;

export const SCOPE = { name: "edge-servlets", version: VERSION };

/** Default attributes of a server. */
const DEFAULT_RESOURCE: [string, string][] = [
  ["service.name", SCOPE.name],
  ["service.version", VERSION],
];

/** The attributes of a server; later ones of the same name replace earlier ones. */
export const resourceAttributes = (given: readonly [string, string][]): OtlpAttribute[] =>
  [...new Map([...DEFAULT_RESOURCE, ...given])].map(([key, value]) => attribute(key, value));
