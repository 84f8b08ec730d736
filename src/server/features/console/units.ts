/** Quantities as pages show them, with their units. */
import { durationOf } from "../../kernel/core/times.ts";

export const count = (value: number): string => Math.round(value).toLocaleString("en");

/** `1 call`, `1,200 calls`. */
export const several = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

const BYTES = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** `0 bytes`, `1.5 KiB`, `64 MiB`. */
export function bytesText(bytes: number): string {
  const power = Math.min(BYTES.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return power === 0
    ? several(bytes, "byte")
    : `${rounded(bytes / 1024 ** power)} ${BYTES[power]!}`;
}

const rounded = (value: number): string =>
  value >= 10 ? count(value) : String(Number(value.toPrecision(2)));

/** Ordinary servlets use 1.8 to 7.8 units of fuel in a nanosecond (docs/architecture.md): between half and twice this. */
const FUEL_PER_MS = 4_000_000;

/** How long a processor computes for so much fuel, about, in ms. */
export const computeMs = (fuel: number): number => fuel / FUEL_PER_MS;

/** That time in words: `0 ms`, `below 1 ms`, `about 97 ms`. */
export function computeText(fuel: number): string {
  const ms = computeMs(fuel);
  return fuel === 0 ? "0 ms" : ms < 1 ? "below 1 ms" : `about ${durationOf(ms)}`;
}
