import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { runNodeScript } from "../../../../src/tools/commands/wrangler.ts";
import { run } from "./running.ts";

/** Runs of wrangler, and of other scripts. */

const MODULE = pathToFileURL(resolve("src/tools/commands/wrangler.ts")).href;

test("its output says which stream it was written to", async () => {
  const written = { stdout: "", stderr: "" };
  const code = await runNodeScript(
    ["-e", "console.log('[]'); console.error('a warning'); process.exitCode = 3;"],
    (chunk, stream) => void (written[stream] += chunk),
  );
  expect({ code, ...written }).toEqual({ code: 3, stdout: "[]\n", stderr: "a warning\n" });
});

test("its input can be given", async () => {
  let text = "";
  const script = "process.stdin.on('data', (chunk) => process.stdout.write(chunk))";
  await runNodeScript(["-e", script], (chunk) => void (text += chunk), { input: "keys" });
  expect(text).toBe("keys");
});

test.each(["SIGINT", "SIGTERM"])(
  "%s stops what would go on after a run, even where the run ends well",
  async (signal) => {
    // The script stands for one that has its result when the terminal sends the signal to both.
    const script = `process.on("SIGTERM", () => {}); process.kill(process.ppid, "${signal}"); setTimeout(() => {}, 500);`;
    const ended = await run(process.execPath, [
      "--input-type=module",
      "-e",
      `import { runNodeScript } from ${JSON.stringify(MODULE)};
await runNodeScript(["-e", ${JSON.stringify(script)}], () => {}).catch(({ message }) => {
  console.log(message);
  process.exit(1);
});
console.log("it goes on");`,
    ]);
    expect(ended).toMatchObject({ code: 1, stdout: "Interrupted.\n" });
  },
);
