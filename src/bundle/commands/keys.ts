/** The command `npm run keys -- create | list | revoke | push`. */
import { runCommand } from "../refusal.ts";
import { keyCommand } from "./key-commands.ts";

await runCommand(async () => {
  const said = keyCommand(process.argv.slice(2));
  if (said !== "") console.log(said);
});
