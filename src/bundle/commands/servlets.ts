/** The command `npm run servlets`. */
import { runCommand } from "../refusal.ts";
import { servletCommand } from "./servlet-commands.ts";

await runCommand(() => servletCommand(process.argv.slice(2)));
