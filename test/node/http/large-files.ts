/** What the files of a servlet take of the memory of workerd itself. */
import { expect } from "vitest";
import { modern } from "../bench/kinds.ts";
import { residentMB } from "../workerd.ts";
import { serving } from "./serving.ts";

/** How much the process may grow: the memory of a call, the database's cache, and uncollected garbage. */
const MOST_MB = 150;

/** Serves the Worker of the tests, with folders of so many entries at most; gives what to do with its files. */
export async function servingFiles(folderEntries: number) {
  const TEST_LIMITS = JSON.stringify({ folderEntries });
  const { url, served, restart } = await serving({ variables: { TEST_LIMITS } });

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
    /** Fills a folder in calls of so many entries; gives what one more is told, and how many there are, also later. */
    async fillFolder(atOnce: number) {
      expect(await filing("mkdir", "/data/many")).toBe("done");
      const count = () => filing("count", "/data/many");
      let refused = "";
      await within(async () => {
        for (let made = 0; made < folderEntries; made += atOnce)
          expect(await filing("many", "/data/many", String(atOnce))).toBe("done");
        refused = await filing("many", "/data/many", "1");
      });
      const counted = await count();
      await restart();
      return { refused, counted, later: await count() };
    },
  };
}
