import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

/** True if processes can be inspected through /proc; otherwise `ps` is used, which containers may lack. */
const HAS_PROC = existsSync("/proc/self/stat");

const ps = (pid: number, column: string): Promise<string> =>
  promisify(execFile)("ps", ["-o", `${column}=`, "-p", String(pid)]).then(
    ({ stdout }) => stdout.trim(),
    () => "",
  );

/** The command line of a process; empty if there is no such process. */
export async function commandOf(pid: number): Promise<string> {
  if (!HAS_PROC) return ps(pid, "command");
  const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return command.replaceAll("\0", " ").trim();
}

/** Suspends a process; resolves when it is suspended. `SIGCONT` resumes it. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  while (!/^[TZ]/.test(await stateOf(pid))) await pause(1);
}

/** The state of a process, which begins with the letter that `ps` shows; Z if the process does not exist. */
async function stateOf(pid: number): Promise<string> {
  if (!HAS_PROC) return (await ps(pid, "stat")) || "Z";
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ") Z");
  // The name in parentheses may have spaces. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
  return stat.slice(stat.lastIndexOf(")") + 2);
}
