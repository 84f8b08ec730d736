/** How often this process looks whether the shell by which npm has started it is still there, in ms. */
const LOOK_MS = 250;

let looking: NodeJS.Timeout | undefined;

/**
 * Sends SIGTERM to this process once the shell has ended in which npm runs it as a script. npm passes the signal on to that
 * shell alone, which ends without passing it on: the process would be left behind with its port and its storage.
 */
export function endWithShellOfNpm(): void {
  if (process.env["npm_lifecycle_event"] === undefined || process.platform === "win32") return;
  const shell = process.ppid;
  looking = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(looking);
    process.kill(process.pid, "SIGTERM");
  }, LOOK_MS);
  looking.unref();
}

/** For a process that ends already: at Ctrl+C the shell is gone first, and a second signal would cut off open calls. */
export const outliveShellOfNpm = (): void => clearInterval(looking);
