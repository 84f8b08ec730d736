/** What the files of a servlet take of the memory of workerd itself. */
import { expect } from "vitest";
import { modern } from "../bench/kinds.ts";
import { residentMB } from "../workerd.ts";
import { serving } from "./serving.ts";

/** How much the process may grow: the memory of a call, the database's cache, and uncollected garbage. */
const MOST_MB = 150;

/** Serves the Worker of the tests, with folders of so many entries at most; gives what to do with its files. */
export async function servingFiles(folderEntries: number) {
  const LIMITS = JSON.stringify({ folderEntries });
  const { url, served, restart } = await serving({ variables: { LIMITS } });

  async function filing(what: string, path: string, text = ""): Promise<string> {
    const params = { name: "filing-do", arguments: { what, path, text } };
    const { headers, body } = modern("tools/call", params, "filing-do");
    const accept = "application/json, text/event-stream";
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", accept, connection: "close" },
      body,
    });
    const { result, error } = (await response.json()) as {
      result?: { content: { text: string }[] };
      error?: { message: string };
    };
    return result?.content[0]?.text ?? error!.message;
  }

  /** Does this, and looks how far the memory of the process grows. */
  async function within(work: () => Promise<void>): Promise<void> {
    const before = await residentMB(served());
    await work();
    expect((await residentMB(served())) - before).toBeLessThan(MOST_MB);
  }

  return {
    filing,
    within,
    restart,
    /** Fills a folder with as many entries as it may have, in calls of so many; another finds no place. */
    async fillsFolder(atOnce: number): Promise<void> {
      expect(await filing("mkdir", "/data/many")).toBe("done");
      await within(async () => {
        for (let made = 0; made < folderEntries; made += atOnce)
          expect(await filing("many", "/data/many", String(atOnce))).toBe("done");
        expect(await filing("many", "/data/many", "1")).toBe("No space left on device");
        expect(await filing("count", "/data/many")).toBe(String(folderEntries));
      });
      await restart();
      expect(await filing("count", "/data/many")).toBe(String(folderEntries));
    },
  };
}
