// Says in one line which Node is needed: an older one would fail later, at syntax or functions that it does not know.
const OLDEST = [22, 12];

/** Ends the process if this Node is too old. */
export function demandNode() {
  const line = lineFor(process.versions.node);
  if (line === undefined) return;
  console.error(line);
  process.exit(1);
}

/** What to say of a version of Node; undefined if it is new enough. */
export function lineFor(version) {
  const [major, minor] = version.split(".").map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `edge-servlets needs Node ${OLDEST.join(".")} or newer, and this is ${version}. Install one from https://nodejs.org.`;
}

// `npm install` in the repository: there all commands run by the Node that comes with it.
if (process.argv[1]?.endsWith("demand-node.js")) {
  const line = lineFor(process.versions.node);
  if (line !== undefined) console.error(line);
}
