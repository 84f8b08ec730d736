/** `npm run servlets -- doctor URL`: says what clients meet at a server. */
import { printable } from "../../server/kernel/core/text.ts";
import { argumentsIn, misused } from "../bundle/arguments.ts";
import { Refusal } from "../bundle/refusal.ts";
import { addressIn, shownUrl } from "../doctor/address.ts";
import { examineServer } from "../doctor/doctor.ts";
import type { Finding, FindingGroup } from "../doctor/finding.ts";
import type { Patience } from "../doctor/stream.ts";

export const DOCTOR_USAGE = `npm run servlets -- doctor URL        says what clients meet at a server, and what to do where it is wrong
    --key KEY                         a key or token to call with; better in the variable EDGE_SERVLETS_KEY`;

/** Characters of the shortest text that may be a secret: shorter ones are parts of words. */
const SECRET = 4;

/** Runs the command. Sets `process.exitCode` to 1 if something is wrong. Throws a `Refusal`. */
export async function doctor(args: string[], patience?: Patience): Promise<void> {
  const options = { key: { type: "string" } } as const;
  const config = { args, options, allowPositionals: true };
  const { positionals, values } = argumentsIn(config, DOCTOR_USAGE);
  const [given, ...more] = positionals;
  if (given === undefined) throw misused("Give the server's URL.", DOCTOR_USAGE);
  if (more.length > 0) throw misused(`Unexpected argument: ${more.join(" ")}.`, DOCTOR_USAGE);
  const { endpoint, assumed } = addressIn(given);
  const key = (values.key ?? process.env["EDGE_SERVLETS_KEY"] ?? "").trim();
  // Node would quote it in its error.
  if (/[^!-~]/.test(key))
    throw new Refusal(
      "The key has spaces or other characters that no header carries. Check EDGE_SERVLETS_KEY, or --key.",
    );
  const how = [
    ...(assumed.length === 0 ? [] : [`${assumed.join(" and ")} assumed`]),
    key === "" ? "without a key" : "with a key",
  ];
  console.log(printable(`${shownUrl(endpoint)} (${how.join("; ")})`));

  const secrets = [key, endpoint.search, ...endpoint.searchParams.values()];
  /** The text without the key and the query of the URL, which the server may repeat. */
  const withoutSecrets = (text: string) =>
    secrets
      .filter(({ length }) => length >= SECRET)
      .reduce((shown, secret) => shown.replaceAll(secret, "…"), text);
  const findings: Finding[] = [];
  const progress = showProgress();
  try {
    const examination = { endpoint, key: key || undefined, ...(patience && { patience }) };
    for await (const group of examineServer(examination)) {
      progress.clear();
      console.log(withoutSecrets(groupText(group)));
      findings.push(...group.findings);
    }
  } finally {
    progress.end();
  }
  const wrong = findings.filter(({ state }) => state === "wrong").length;
  console.log(
    wrong === 0
      ? "\nNothing is wrong."
      : `\n${wrong} of ${findings.length} lines say what is wrong.`,
  );
  if (wrong > 0) process.exitCode = 1;
}

/** Shows on a terminal that the command works; elsewhere it says once that it takes a while. */
function showProgress(): { clear(): void; end(): void } {
  const { stderr } = process;
  if (!stderr.isTTY) {
    console.error("  checking, which takes up to half a minute …");
    return { clear() {}, end() {} };
  }
  const began = Date.now();
  const clear = () => stderr.write("\r\x1b[K");
  const show = () =>
    stderr.write(`\r  checking, ${Math.round((Date.now() - began) / 1000)} s of up to 30 …`);
  show();
  const timer = setInterval(show, 1000);
  return {
    clear,
    end() {
      clearInterval(timer);
      clear();
    },
  };
}

const groupText = ({ title, findings }: FindingGroup): string =>
  [
    `\n${title}`,
    ...findings.map(({ state, name, text }) => `  ${state.padEnd(9)}  ${name}: ${text}`),
  ].join("\n");
