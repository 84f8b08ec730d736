/** Runs the commands of `npm run servlets` for tests. */
import { execFile } from "node:child_process";
import { vi } from "vitest";
import { servletCommand } from "../../../../src/tools/commands/servlets.ts";
import { runCommand } from "../../../../src/tools/bundle/refusal.ts";

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

type Variables = Readonly<Record<string, string>>;

/** The environment of a command: without SERVLETS and vitest's own variables, but with these. */
const environment = (variables: Variables) => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SERVLETS|VITEST)/.test(name)),
  ),
  NO_COLOR: "1",
  ...variables,
});

/** Runs a program, whose standard input is closed at once. */
export function run(program: string, args: string[], variables: Variables = {}): Promise<Ended> {
  return new Promise((end) => {
    execFile(program, args, { env: environment(variables) }, (error, stdout, stderr) =>
      end({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    ).stdin!.end();
  });
}

/** Runs a command of `npm run servlets` as a person would, in a process of its own. */
export const servletsProcess = (args: string[], variables: Variables = {}): Promise<Ended> =>
  run(process.execPath, ["src/tools/commands/cli.ts", "servlets", ...args], variables);

const exitCode = () => Number(process.exitCode ?? 0);

/** Does in this process what a command does: one at a time, as it has the console. */
export async function captured(
  work: () => Promise<void>,
  variables: Variables = {},
): Promise<Ended> {
  const before = { env: process.env, exitCode: process.exitCode };
  const written = { log: "", error: "" };
  const spies = (["log", "error"] as const).map((kind) =>
    vi.spyOn(console, kind).mockImplementation((text: unknown) => {
      written[kind] += `${String(text)}\n`;
    }),
  );
  process.env = environment(variables);
  process.exitCode = undefined;
  try {
    await runCommand(work);
    return { code: exitCode(), stdout: written.log, stderr: written.error };
  } finally {
    Object.assign(process, before);
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs a command of `npm run servlets` in this process. */
export const servlets = (args: string[], variables: Variables = {}): Promise<Ended> =>
  captured(() => servletCommand(args), variables);
