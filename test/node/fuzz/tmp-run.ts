import { fuzzHostile } from "./hostile.ts";
const [seed, steps, port] = process.argv.slice(2).map(Number);
const { failures, ...outcome } = await fuzzHostile({
  seed: seed!,
  steps: steps!,
  port: port!,
  isMeasured: true,
  log: (l) => console.log(l.slice(0, 900)),
});
console.log(JSON.stringify(outcome), failures.length);
process.exit(0);
