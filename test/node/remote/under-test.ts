import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { remoteServlet } from "../../../src/languages/remote/servlet.ts";
import { loadServlet } from "../../../src/tools/testing/index.ts";

const scratch: string[] = [];
/** Removes the folders of all servlets: to be called at the end of each file. */
export const removeRemotes = (): Promise<unknown> =>
  Promise.all(scratch.splice(0).map((one) => rm(one, { recursive: true, force: true })));

type Choice = Partial<Parameters<typeof remoteServlet>[2]>;

/** Makes a servlet of the server at this URL, in a folder of its own. */
export async function madeRemote(url: string, choice: Choice = {}) {
  const variables = async () => ({ NOTES_KEY: "secret-key" });
  const { files, notes } = await remoteServlet("notes", url, { variables, ...choice });
  await mkdir(".bundle", { recursive: true });
  const above = await mkdtemp(join(".bundle", "remote-"));
  scratch.push(above);
  const folder = join(above, "notes");
  await mkdir(folder);
  for (const [name, text] of files) await writeFile(join(folder, name), text);
  return { files, notes, folder };
}

/** Loads a servlet of the server at this URL; it reaches the network. */
export async function loadedRemote(url: string, choice: Choice = {}) {
  const { folder, files } = await madeRemote(url, choice);
  return { servlet: await loadServlet(folder), files };
}

/** A script with the real network. */
export const online = { fetch: (request: Request) => fetch(request) };
