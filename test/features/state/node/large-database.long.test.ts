import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { modern } from "../../../node/bench/kinds.ts";
import { givenWorker } from "../../../node/given-plugins.ts";
import { residentMB, serve, stop } from "../../../node/workerd.ts";

/** SQLite in a plugin (PLUGIN_CASES names the folder that has it), on a file of 50 MB. */
const { PLUGIN_CASES } = process.env;

const MB = 1_000_000;
const ROWS = 500;
const CALLS = 26;

/** The answer of one of the plugin's tools to a statement. */
async function sql(port: number, tool: "execute" | "query", text: string): Promise<unknown> {
  const name = `ledger-${tool}`;
  const { body, headers } = modern("tools/call", { name, arguments: { sql: text } }, name);
  const accept = "application/json, text/event-stream";
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json", accept },
    body,
  });
  const answer = await response.text();
  const { result } = JSON.parse(/^data: (.*)$/m.exec(answer)?.[1] ?? answer) as {
    result?: { isError?: boolean; content: { text: string }[] };
  };
  if (result === undefined || result.isError === true) throw new Error(answer);
  return JSON.parse(result.content[0]!.text) as unknown;
}

test.skipIf(PLUGIN_CASES === undefined)(
  "SQLite works on a file of 50 MB, which is not loaded",
  { timeout: 900_000 },
  async () => {
    const built = await givenWorker();
    const storage = join(built, "large-database");
    let server = await serve(built, { durable: storage });
    onTestFinished(() => stop(server));
    const execute = (text: string) => sql(server.port, "execute", text);
    const query = (text: string) => sql(server.port, "query", text);
    const numbers = `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${ROWS})`;
    await execute("CREATE TABLE big (id INTEGER PRIMARY KEY, b BLOB)");
    for (let call = 0; call < CALLS; call++) {
      await execute(`INSERT INTO big (b) ${numbers} SELECT randomblob(4000) FROM c`);
    }
    const { rows } = (await query(
      "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    )) as { rows: number[][] };
    expect(rows[0]![0]).toBeGreaterThan(50 * MB);

    await stop(server);
    server = await serve(built, { durable: storage });
    await query("SELECT 1");
    const before = await residentMB(server);
    const grown = async () => (await residentMB(server)) - before;
    for (let at = 1; at <= 40; at++) {
      const id = (at * 7919) % (ROWS * CALLS);
      expect(await query(`SELECT length(b) FROM big WHERE id = ${id}`)).toEqual({ rows: [[4000]] });
    }
    const read = await grown();
    expect(read).toBeLessThan(40);
    const change = "UPDATE big SET b = zeroblob(4000) WHERE id % 100 = 0";
    expect(await execute(change)).toEqual({ changes: (ROWS * CALLS) / 100 });
    expect(await query("SELECT max(id) FROM big")).toEqual({ rows: [[ROWS * CALLS]] });
    // Beside what V8 has not yet collected.
    expect(await grown()).toBeLessThan(100);
  },
);
