/** Prepares a project for its first servlet in Python. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { VERSION } from "../../server/kernel/core/version.ts";
import { isInstalled } from "../../tools/bundle/own.ts";
import { PACKAGE, pathOfPython } from "./engine.ts";

/**
 * Writes a `pyrightconfig.json` with the path of the kit for editors, unless the project has one or a `pyproject.toml`.
 * Returns the commands that the user has to run before the bundle step.
 */
export async function setUpPython(): Promise<string[]> {
  if (isInstalled && !existsSync("pyproject.toml") && !existsSync("pyrightconfig.json")) {
    const config = { extraPaths: [`node_modules/${PACKAGE}`], pythonVersion: "3.14" };
    await writeFile("pyrightconfig.json", `${JSON.stringify(config, null, 2)}\n`);
  }
  if (pathOfPython() !== undefined) return [];
  return [`npm install -D ${PACKAGE}@${VERSION}    (in the registry since that release)`];
}
