/** `npm run backup -- DIR` and `npm run restore -- DIR`: copy a server's data, even while it runs, and restore it. */
import { argumentsIn, misused } from "../bundle/arguments.ts";
import { runCommand } from "../bundle/refusal.ts";
import { backUp, restoreBackup, type Copied } from "./backups.ts";

const USAGE = `npm run backup -- DIR [--storage DIR]     copies the data of a server into a new folder
npm run restore -- DIR [--storage DIR]    puts a backup into an empty storage folder`;

const figures = ({ files, bytes }: Copied) => `${files} files, ${(bytes / 1e6).toFixed(1)} MB`;

async function main(): Promise<void> {
  const options = { storage: { type: "string", default: ".edge-servlets" } } as const;
  const { values, positionals } = argumentsIn({ options, allowPositionals: true }, USAGE);
  const [command, folder, ...more] = positionals;
  if (folder === undefined) throw misused("Give a folder.", USAGE);
  if (more.length > 0) throw misused(`Unexpected argument: ${more.join(" ")}.`, USAGE);
  if (command === "backup") {
    const copied = await backUp(values.storage, folder);
    const held = `the server stood still for ${Math.round(copied.heldMs)} ms`;
    console.log(`${folder} has a backup of ${values.storage}: ${figures(copied)}; ${held}`);
  } else if (command === "restore") {
    console.log(
      `${values.storage} has the backup ${folder}: ${figures(await restoreBackup(folder, values.storage))}`,
    );
  } else throw misused(`There is no command ${command}.`, USAGE);
}

await runCommand(main);
