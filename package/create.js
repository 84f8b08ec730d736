#!/usr/bin/env node
// `npm create edge-servlets FOLDER`.
import { init } from "../dist/bundle/commands/init.js";
import { Refusal } from "../dist/bundle/refusal.js";

try {
  console.log(await init(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
