/** `npm run passphrase`: asks for the owner's passphrase, or makes one, and prints its hash for OWNER_PASSPHRASE. */
import { randomBytes } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { hashPassphrase } from "../../server/kernel/auth/passphrase.ts";
import { variablesFileIn } from "../bundle/variable-files.ts";
import { isToml, signInTables, wranglerToml } from "./wrangler-config.ts";

/** Minimum length. Shorter passphrases could be guessed at a hundred attempts an hour. */
const SHORTEST = 12;

const line = await ask(`Passphrase (${SHORTEST} characters or more; none to have one made): `);
if (line === undefined) {
  console.error("No passphrase was made: press Enter to have one made.");
  process.exit(1);
}
const typed = line.trim();
if (typed !== "" && typed.length < SHORTEST) {
  console.error(`It has ${typed.length} characters: take ${SHORTEST} or more.`);
  process.exit(1);
}
const made = typed === "" ? randomBytes(15).toString("base64url") : undefined;
const hash = await hashPassphrase(made ?? typed);
if (made !== undefined) console.error(`\nThe passphrase, which is not kept anywhere: ${made}`);
console.error("\nIts hash:");
console.log(hash);
const configuration = wranglerToml();
const tables = configuration === undefined ? "" : signInTables(configuration);
if (tables !== "") {
  const added = `\n# The owner's sign-in.${tables}`;
  if (isToml(configuration + added)) {
    await appendFile("wrangler.toml", added);
    console.error("\nwrangler.toml now binds what the sign-in needs.");
  } else {
    console.error(
      `\nAdd to wrangler.toml what the sign-in needs, in the way in which it is written:\n${tables}`,
    );
  }
}
console.error(`
npx wrangler secret put OWNER_PASSPHRASE      (paste the hash)
In development: the line OWNER_PASSPHRASE='${hash}' in ${variablesFileIn(".")}

Then npm run deploy, and give the server's URL to a client.`);

/** Reads a line without echoing it; undefined at the end of the input, or after Ctrl-C. */
function ask(question: string): Promise<string | undefined> {
  const { stdin, stderr } = process;
  const lines = createInterface({ input: stdin, terminal: stdin.isTTY, escapeCodeTimeout: 50 });
  stderr.write(question);
  return new Promise((resolve) => {
    lines.once("line", (text) => {
      resolve(text);
      lines.close();
    });
    lines.once("close", () => {
      stderr.write("\n");
      resolve(undefined);
    });
  });
}
