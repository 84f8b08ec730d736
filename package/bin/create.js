#!/usr/bin/env node
// `npm create edge-servlets FOLDER`.
import { demandNode } from "./demand-node.js";

demandNode();
const { init } = await import("../dist/tools/commands/init.js");
const { runCommand } = await import("../dist/tools/bundle/refusal.js");
await runCommand(async () => console.log(await init(process.argv.slice(2))));
