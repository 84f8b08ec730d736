/** Whether the server, or a firewall in front of it, treats known clients as it treats a browser. */
import { shortened } from "../../server/kernel/core/text.ts";
import { PING } from "./connection.ts";
import { findingsOf, notTried, right, wrong, type Finding } from "./finding.ts";
import { post, wordsIn, type HttpReply } from "./requests.ts";

const BROWSER =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";

/** The `User-Agent` headers of clients, by name. */
const AGENTS: Readonly<Record<string, string>> = {
  Claude: "Claude-User",
  "Claude Code": "claude-code/2.0.0 (cli)",
  ChatGPT:
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ChatGPT-User/1.0; +https://openai.com/bot)",
  "OpenAI's API": "openai-mcp/1.0.0",
  Cursor: "Cursor/2.0.0 (linux x64)",
  "VS Code": "Visual Studio Code/1.105.0",
  "Python (httpx)": "python-httpx/0.28.1",
  Node: "node",
  Go: "Go-http-client/2.0",
  Java: "Java-http-client/21",
  curl: "curl/8.14.1",
};

/** Which rule of Cloudflare refuses a request, and what to change; undefined for any other answer. */
export function blockedBy({ status, headers, text }: HttpReply): string | undefined {
  if (headers.get("cf-mitigated") === "challenge")
    return "Cloudflare challenges it, which no program can pass: switch off Bot Fight Mode (Security, Bots), or skip the WAF rule or the security level that challenges for this path.";
  if (!/cloudflare/i.test(headers.get("server") ?? "")) return undefined;
  const [, code] =
    /error(?: code)?:?\s*(10\d\d)|\b(?:code|Ray ID)[^\d]{0,20}(10(?:10|20))\b/i.exec(text) ?? [];
  if (code === "1010")
    return "Cloudflare refuses it by its Browser Integrity Check (error 1010): switch that off for this path by a configuration rule, or for the site (Security, Settings).";
  if (code === "1020")
    return "Cloudflare refuses it by a rule of yours (error 1020): look for it under Security, Events, and let this path pass in the WAF custom rules.";
  if (status !== 403) return undefined;
  return "Cloudflare may refuse it: look under Security, Events, which rule did. It can be Block AI bots or Bot Fight Mode (Security, Bots), a WAF custom rule, or the Browser Integrity Check.";
}

export async function checkAgents(endpoint: URL): Promise<readonly Finding[]> {
  const ask = (agent: string) => post(endpoint, PING, { headers: { "user-agent": agent } });
  const browser = await ask(BROWSER);
  const same: string[] = [];
  const others: Finding[] = [];
  // One after the other: many at once could be taken for an attack.
  for (const [client, agent] of Object.entries(AGENTS)) {
    const name = `User agent of ${client}`;
    const found = await findingsOf(name, async () => {
      const reply = await ask(agent);
      return reply.status === browser.status ? [] : [refusedAgent(name, agent, { reply, browser })];
    });
    if (found.length === 0) same.push(client);
    others.push(...found);
  }
  if (same.length === 0) return others;
  return [
    right(
      "User agents",
      `A browser's and those of ${same.join(", ")} get the same answer (status ${browser.status}).`,
    ),
    ...others,
  ];
}

function refusedAgent(
  name: string,
  agent: string,
  { reply, browser }: { reply: HttpReply; browser: HttpReply },
): Finding {
  const { status } = reply;
  if (status === 429)
    return notTried(name, "Too many requests came from this address. Try again in a minute.");
  const advice =
    blockedBy(reply) ??
    `Look for a rule of the server, its proxy or firewall that goes by the User-Agent header, and let this path pass.${wordsIn(reply)}`;
  return wrong(
    name,
    `"${shortened(agent, 40)}" gets status ${status}, and a browser ${browser.status}. ${advice}`,
  );
}
