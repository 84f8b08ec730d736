/** Times on the page, kept right while it is open. */
import { timeAgo } from "../server/kernel/core/times.ts";

/** Writes a time in words, and its exact time as this browser's user writes it. */
export function showTime(time: HTMLTimeElement): void {
  const at = Date.parse(time.dateTime);
  if (Number.isNaN(at)) return;
  const words = timeAgo(at);
  if (time.textContent !== words) time.textContent = words;
  time.title = new Date(at).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
}

const EVERY_MS = 30_000;

/** Keeps all times of the page right. */
export function followTimes(): void {
  const all = () => document.querySelectorAll<HTMLTimeElement>("time[datetime]").forEach(showTime);
  all();
  setInterval(() => document.visibilityState === "visible" && all(), EVERY_MS);
  document.addEventListener("visibilitychange", all);
}
