/** Times in words, the same on all pages. Shared by the server and the pages' script. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `just now`, `3 min ago`, `in 2 h`, `5 days ago`; a date if more than a month away. In Unix ms. */
export function timeAgo(at: number, now = Date.now()): string {
  const away = Math.abs(now - at);
  if (away >= 30 * DAY) return dateOf(at);
  const words = awayOf(away);
  return words === "" ? "just now" : at < now ? `${words} ago` : `in ${words}`;
}

function awayOf(ms: number): string {
  const minutes = Math.round(ms / MINUTE);
  if (minutes === 0) return "";
  if (minutes < 60) return `${minutes} min`;
  if (ms < DAY) return `${Math.max(1, Math.round(ms / HOUR))} h`;
  const days = Math.round(ms / DAY);
  return days === 1 ? "1 day" : `${days} days`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `3 Nov 2026`, in UTC, so that the script and the server write the same. */
function dateOf(at: number): string {
  const date = new Date(at);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]!} ${date.getUTCFullYear()}`;
}

/** A length of time: `1.4 ms`, `340 ms`, `2.5 s`, `4 min 10 s`, `2 h 4 min`, `3 days 2 h`. */
export function durationOf(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1000) return `${ms > 0 && ms < 10 ? Number(ms.toPrecision(2)) : whole} ms`;
  if (whole < MINUTE) return `${Math.min(59.9, Math.round(whole / 100) / 10)} s`;
  const [unit, name, lesser, short] =
    whole < HOUR
      ? ([MINUTE, "min", 1000, "s"] as const)
      : whole < DAY
        ? ([HOUR, "h", MINUTE, "min"] as const)
        : ([DAY, whole < 2 * DAY ? "day" : "days", HOUR, "h"] as const);
  const rest = Math.floor((whole % unit) / lesser);
  return `${Math.floor(whole / unit)} ${name}${rest === 0 ? "" : ` ${rest} ${short}`}`;
}
