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

// At the end of `npm install` in the repository, which has brought a newer Node: npm itself runs by the one that is told.
if (process.argv[1]?.endsWith("demand-node.js")) {
  const [, version = process.versions.node] =
    /node\/v([\d.]+)/.exec(process.env["npm_config_user_agent"] ?? "") ?? [];
  const line = lineFor(version);
  if (line !== undefined)
    console.error(
      `${line} Here npm scripts run all the same, by the Node that this has installed.`,
    );
}
