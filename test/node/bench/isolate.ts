/**
 * `npm run bench -- isolate`: what the isolate has taken after a thousand calls of the servlets that come with this project:
 * V8's heap with its garbage, and backing stores. Cloudflare allows 128 MB.
 */
import { freePort, serve, stop } from "../workerd.ts";
import { modern } from "./kinds.ts";
import { committedOf } from "./large-argument.ts";
import { LegacyClient } from "./legacy-client.ts";
import { Connection, drive } from "./load.ts";
import { CONNECTIONS, judged } from "./turns.ts";

const CALLS = 1000;
const MOST_MB = 55;

/** The tools that need no other, and no internet, and what they are given. */
const TOOLS: Record<string, object> = {
  add_note: { text: "Buy milk" },
  add_task: { text: "Buy milk" },
  draw_chart: { values: [1, 2, 3] },
  factor: { number: 999_983 },
  greet: { name: "Ada" },
  list_notes: {},
  list_statuses: {},
  list_tasks: {},
  lookup_status: { code: 404 },
  now: {},
  read_journal: { from: 1 },
  run_code: { code: "6 * 7" },
  search_journal: { query: "rain" },
  search_notes: { query: "milk" },
  tables_describe: {},
  tables_load: { table: "cities", text: "name,people\nBonn,330000\n" },
  tables_query: { sql: "SELECT count(*) FROM cities" },
  write_journal: { text: "It rained." },
};

/** Calls each tool once. Throws where one fails. */
async function callEach(port: number): Promise<void> {
  const connection = await Connection.open(port);
  const client = new LegacyClient(connection, "2025-11-25");
  for (const [name, given] of Object.entries(TOOLS)) {
    const { isError, content } = await client.request("tools/call", { name, arguments: given });
    if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
  }
  connection.close();
}

/** The megabytes that the isolate has taken after so many calls. */
async function measure(folder: string): Promise<number> {
  const inspector = await freePort();
  const served = await serve(folder, { durable: true, inspector });
  try {
    const committed = await committedOf(inspector);
    await callEach(served.port);
    const turns = Object.entries(TOOLS).map(([name, given]) =>
      modern("tools/call", { name, arguments: given }, name),
    );
    await drive(
      { ...turns[0]!, turns, connections: CONNECTIONS, port: served.port },
      (count) => count >= CALLS,
      (answer) => answer.includes('"result"'),
    );
    return (await committed()) / 1e6;
  } finally {
    await stop(served);
  }
}

/** Measures a Worker of the project's servlets. */
export async function benchIsolate(folder: string): Promise<Record<string, number>> {
  const megabytes = await measure(folder);
  console.log(`isolate: ${judged(megabytes, MOST_MB, 1)} MB after ${CALLS} calls`);
  return { isolateMB: megabytes };
}
