/** Interval at which this process checks that its parent, the shell that npm started, still runs. */
const CHECK_MS = 250;

let timer: NodeJS.Timeout | undefined;

/**
 * Sends SIGTERM to this process when the shell in which npm runs the script ends. npm forwards a signal only to that
 * shell, which ends without forwarding it; without this, the process would survive and keep its port and storage.
 */
export function endWithShellOfNpm(): void {
  if (process.env["npm_lifecycle_event"] === undefined || process.platform === "win32") return;
  const shell = process.ppid;
  timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, CHECK_MS);
  timer.unref();
}

/**
 * Call this when this process begins to end: at Ctrl+C the shell ends first, and a second signal would cut off open
 * calls.
 */
export const outliveShellOfNpm = (): void => clearInterval(timer);
