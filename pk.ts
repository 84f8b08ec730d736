import { readdirSync } from "node:fs";
import { loadServlet } from "./src/testing/index.ts";
for (const name of process.argv.length > 2 ? process.argv.slice(2) : readdirSync("/tmp/pk/s")) {
  try {
    const s = await loadServlet("/tmp/pk/s/" + name);
    const { result } = (await s.callTool(name, {})) as any;
    console.log(name, result.isError ? "ERR" : "ok", result.content[0].text.slice(0, 300));
  } catch (e: any) {
    console.log(name, "THROWN", String(e.message).replaceAll("\n", " / ").slice(0, 700));
  }
}
process.exit();
