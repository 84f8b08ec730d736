/** Relative times on the page, updated while it is open. */
import { timeAgo } from "../server/kernel/core/times.ts";

/** Shows a relative time, with the exact time in the user's locale. */
export function showTime(time: HTMLTimeElement): void {
  const at = Date.parse(time.dateTime);
  if (Number.isNaN(at)) return;
  const words = timeAgo(at);
  if (time.textContent !== words) time.textContent = words;
  time.title = new Date(at).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" });
}

const EVERY_MS = 30_000;

/** Keeps all times on the page up to date. */
export function followTimes(): void {
  const all = () => document.querySelectorAll<HTMLTimeElement>("time[datetime]").forEach(showTime);
  all();
  setInterval(() => document.visibilityState === "visible" && all(), EVERY_MS);
  document.addEventListener("visibilitychange", all);
}
