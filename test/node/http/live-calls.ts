/** Calls that people follow on their lists: begins some, and opens a list. */
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { called } from "./called.ts";
import { opened } from "./real-browser.ts";

/** Capabilities of a client that takes forms and tasks. */
export const CAPABILITIES = {
  elicitation: { form: {} },
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

/** Begins a plan of the test guest as a task of this person; gives its id. */
export const planned = async (url: URL, name: string, ...steps: object[]): Promise<string> =>
  (await called(url, name, { name: "plan_always", args: { steps }, capabilities: CAPABILITIES }))
    .taskId;

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
