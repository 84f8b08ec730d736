/** The options of `npm start`, and the variables that it reads. */
import { argumentsIn } from "../bundle/arguments.ts";
import { Refusal } from "../bundle/refusal.ts";
import { variableFilesIn } from "../bundle/variable-files.ts";
import { traceSettings } from "../../server/kernel/observe/otel-settings.ts";
import { allSettings } from "../../server/all-settings.ts";
import { demandAudience, readSettings } from "../../server/kernel/settings/env.ts";
import { readConfiguration, type Configuration } from "./configuration.ts";
import { readVariables } from "./variables.ts";

export const USAGE = `npm start -- [OPTION…]

--port PORT         where it listens; 8787, or PORT of the environment
--host HOST         the address that it listens at; 127.0.0.1
--storage DIR       the folder for all stored data; .edge-servlets
--config FILE       the configuration; wrangler.toml
--secrets FILE      variables and secrets, a line NAME=value for each; .dev.vars, else .env.local and .env
--from-env NAME     also takes this variable from the environment; may be repeated
--trust-proxy       trusts a reverse proxy's X-Forwarded-For, -Proto and -Host, or Forwarded
--private-network   servlets may reach hosts in private networks that their manifests allow, and people sign in there
--grace SECONDS     how long open calls may go on after it is told to stop; 8
--worker DIR        serves the Worker that --build has written
--build DIR         builds the Worker into a folder, and exits`;

const string = { type: "string" } as const;
const boolean = { type: "boolean", default: false } as const;
const OPTIONS = {
  port: { ...string, default: process.env["PORT"] ?? "8787" },
  host: { ...string, default: "127.0.0.1" },
  storage: { ...string, default: ".edge-servlets" },
  config: { ...string, default: "wrangler.toml" },
  secrets: string,
  "from-env": { ...string, multiple: true },
  "trust-proxy": boolean,
  "private-network": boolean,
  grace: { ...string, default: "8" },
  worker: string,
  build: string,
  help: { ...boolean, short: "h" },
} as const;

/** The options of `npm start`. Throws a `Refusal` with the usage for an unknown option. */
export const startOptions = (args: string[] = process.argv.slice(2)) =>
  argumentsIn({ args, options: OPTIONS }, USAGE).values;

/** The Worker's variables. Throws a `Refusal` for settings that are invalid, or do not name the server's audience. */
export async function checkedVariables(
  { secrets, "from-env": names = [] }: ReturnType<typeof startOptions>,
  configuration: Configuration,
): Promise<Record<string, string>> {
  const files = secrets === undefined ? variableFilesIn(".") : [secrets];
  const variables = await readVariables(configuration, { files, names, environment: process.env });
  try {
    demandAudience(readSettings(variables, allSettings), allSettings);
    traceSettings(variables);
  } catch (error) {
    throw new Refusal((error as Error).message);
  }
  return variables;
}

/** The variables of `npm start` with these arguments. Throws a `Refusal` if the server cannot start with them. */
export async function variablesForStart(args: string[]): Promise<Record<string, string>> {
  const values = startOptions(args);
  return checkedVariables(values, await readConfiguration(values.config));
}
