#!/usr/bin/env node
// Runs the command by the Node that comes with the package: servlets are prepared with features of Node 26.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { demandNode } from "./demand-node.js";

demandNode();

const command = new URL("../dist/tools/commands/cli.js", import.meta.url);
const OLDEST = 26;

if (Number.parseInt(process.versions.node, 10) >= OLDEST) await import(command.href);
else {
  const node = join(
    dirname(createRequire(import.meta.url).resolve("node/package.json")),
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
  const child = spawn(node, [fileURLToPath(command), ...process.argv.slice(2)], {
    stdio: "inherit",
  });
  const { endWithShellOfNpm } = await import("../dist/tools/bundle/npm-shell.js");
  endWithShellOfNpm();
  // A terminal sends its signal to both.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.once("error", () => {
    console.error(
      `This needs Node ${OLDEST}, which npm installs with the package "node" unless its install script is blocked. Allow it ("allowScripts": { "node": true } in package.json), then npm install; or use Node ${OLDEST} yourself.`,
    );
    process.exit(1);
  });
  child.once("close", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners();
    process.kill(process.pid, signal);
  });
}
