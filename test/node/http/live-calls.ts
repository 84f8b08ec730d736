/** Calls that people follow on their lists: begins some, and opens a list. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { opened } from "./real-browser.ts";

const META = "io.modelcontextprotocol";
const VERSION = "2026-07-28";
const CAPABILITIES = {
  elicitation: { form: {} },
  extensions: { [`${META}/tasks`]: {} },
};

/** Begins a plan of the test guest as a task of this person; gives its id. */
export const planned = async (url: URL, name: string, ...steps: object[]): Promise<string> =>
  (await called(url, name, "plan_always", { steps })).taskId;

/** Calls a tool as this person, and gives its result. */
export async function called(url: URL, person: string, name: string, args: object): Promise<any> {
  const _meta = {
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientCapabilities`]: CAPABILITIES,
  };
  const params = { name, arguments: args, _meta };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${person}`,
      "mcp-protocol-version": VERSION,
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const { result, error } = (await response.json()) as any;
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result;
}

export const ELICIT = { do: "elicit", message: "Who is it for?" };
export const HOUR = { do: "sleep", ms: 3_600_000 };

/** The page's messages while it does not follow the calls. Its message that it does is replaced by the next change. */
const NOT_FOLLOWED = /Reload the page|Reconnecting|not kept up to date|no longer/;

/** Waits until the script of a list of calls follows them; until then its links lead to pages, as without script. */
export const followed = (page: Page): Promise<void> =>
  page.locator("#news").filter({ hasNotText: NOT_FOLLOWED }).waitFor();

/** The list, of a person who has signed in there. */
export async function listOf(
  browser: Browser,
  url: URL,
  name: string,
  options: BrowserContextOptions = {},
) {
  const page = await opened(browser, new URL("/console/live", url).href, options);
  await page.getByLabel("API key").fill(name);
  await page.getByRole("button", { name: "Continue" }).click();
  const follows = () => followed(page);
  if (options.javaScriptEnabled !== false) await follows();
  const group = (id: string) => page.locator(`[data-group=${id}] li`);
  return { page, group, follows };
}
