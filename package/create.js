#!/usr/bin/env node
// `npm create edge-servlets FOLDER`.
import { init } from "../dist/bundle/commands/init.js";
import { runCommand } from "../dist/bundle/refusal.js";

await runCommand(async () => console.log(await init(process.argv.slice(2))));
