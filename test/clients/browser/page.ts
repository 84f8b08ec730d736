/** The page of the Inspector, used as a person does; the switch "Edit as JSON" takes any arguments and answers. */
import type { Locator, Page } from "playwright-core";
import { pause, revision, within } from "../typescript/cells.ts";
import type { Answer, CallOptions, Peer } from "../typescript/steps.ts";

/** A template and a prompt as they are listed: by title. */
const STATUS = "HTTP status code";
const EXPLAIN = /^Explain an HTTP status code/;

/** Connects to a server that the page lists. */
export async function connect(page: Page, server: string): Promise<void> {
  await page.getByRole("switch", { name: `"${server}"` }).press("Space");
  await revisionOf(page).waitFor();
}

/** The revision, which the page shows while it is connected. */
const revisionOf = (page: Page) => page.getByText(`MCP ${revision}`, { exact: true });

/** The Inspector as a client: each method does by the page, once it is connected, what an SDK does by a call. */
export function peerOf(page: Page): Peer {
  let hasShownView = false;
  let answer: Answer = async () => ({ action: "decline" });
  const tools = page.getByTestId("tools-screen");
  const questions = page.getByRole("dialog", { name: "Elicitation Request" });
  /** A question that is shown by a view of the server. */
  const views = page.getByTestId("app-elicitation");
  const refresh = tools.getByRole("button", { name: "Refresh" });
  const open = (screen: string) =>
    page.getByRole("banner").getByText(screen, { exact: true }).click();

  const listed = async (screen: string, title: string): Promise<unknown[]> => {
    await open(screen);
    const heading = page.getByText(new RegExp(`^${title} \\([1-9]\\d*\\)$`));
    return Array.from({ length: Number(/\d+/.exec(await heading.innerText())![0]) });
  };

  const openPrompt = async (): Promise<void> => {
    await open("Prompts");
    const close = page.getByRole("button", { name: "Close messages" });
    if (await close.isVisible()) await close.click();
    await page.getByRole("button", { name: EXPLAIN }).click();
  };

  const begin = async (name: string, args: object, asTask: boolean): Promise<void> => {
    await open("Tools");
    const close = tools.getByRole("button", { name: /^Close (results|error)$/ });
    if (await close.isVisible()) await close.click();
    await tools.getByRole("button", { name: new RegExp(`(^| )${name}$`) }).click();
    const execute = tools.getByRole("button", { name: "Execute Tool" });
    await execute.waitFor();
    if (Object.keys(args).length > 0) await writeJson(page, tools, args);
    // It stays as it was for the tool before, and is there only where the tool leaves the choice.
    const task = tools.getByRole("switch", { name: "Run as task" });
    if ((await task.isVisible()) && (await task.isChecked()) !== asTask) await task.press("Space");
    await execute.click();
  };

  const respond = async (): Promise<void> => {
    const { action, content } = await answer();
    if (content) await writeJson(page, questions, content);
    const button = action === "accept" ? "Submit" : "Decline";
    await questions.getByRole("button", { name: button }).click();
    await questions.waitFor({ state: "hidden" });
  };

  /** Approves in the view of `request_approval`. Closes it to give any other answer: then the Inspector shows its own form. */
  const respondInView = async (): Promise<void> => {
    const { action, content } = await answer();
    const view = views.frameLocator("iframe").frameLocator("iframe");
    const button =
      action === "accept" && content.approve === true
        ? view.getByRole("button", { name: "Approve" })
        : views.getByRole("button", { name: "Close and use the built-in elicitation form" });
    await button.click();
    await views.waitFor({ state: "hidden" });
    hasShownView = true;
  };

  /** Connects anew: after it has shown a view, the Inspector hears of no changes, since the view has replaced its handler. */
  const reconnect = async (): Promise<void> => {
    await open("Servers");
    await page.getByRole("switch", { name: '"open"' }).press("Space");
    await revisionOf(page).waitFor({ state: "hidden" });
    await connect(page, "open");
    hasShownView = false;
  };

  const call = async (name: string, args: object, options: CallOptions, asTask: boolean) => {
    const progress = page.getByRole("alert").filter({ hasText: "Tool progress" }).first();
    // Those of earlier calls stay for some seconds.
    if (options.onprogress) await progress.waitFor({ state: "hidden" });
    await begin(name, args, asTask);
    const status = () => tools.getAttribute("data-call-status");
    for (; !/^(ok|error)$/.test((await status()) ?? ""); await pause(100)) {
      if (await questions.isVisible()) await respond();
      if (await views.isVisible()) await respondInView();
      if (await progress.isVisible()) options.onprogress?.();
      if (options.signal?.aborted) {
        await tools.getByRole("button", { name: "Cancel" }).click();
        await tools.getByRole("button", { name: "Execute Tool" }).waitFor();
        throw new Error("cancelled");
      }
    }
    const result = await resultOf(tools);
    if (hasShownView) await reconnect();
    return result;
  };

  /** Fills in a field that completes what is typed, by what is offered. */
  const complete = async (name: string, value: string): Promise<Locator> => {
    await page.getByRole("textbox", { name }).fill(value);
    const offered = page.getByRole("option");
    const fit = async () => {
      const values = await offered.allInnerTexts();
      return values.length > 0 && values.every((one) => one.startsWith(value));
    };
    if (!(await within(10_000, fit))) throw new Error(`nothing completes ${value}`);
    return offered;
  };

  return {
    client: {
      listTools: async () => ({ tools: await listed("Tools", "Tools") }),
      listResources: async () => ({ resources: await listed("Resources", "URIs") }),
      listResourceTemplates: async () => ({
        resourceTemplates: await listed("Resources", "Templates"),
      }),
      listPrompts: async () => ({ prompts: await listed("Prompts", "Prompts") }),
      async readResource({ uri }) {
        await open("Resources");
        await page.getByRole("button", { name: STATUS, exact: true }).click();
        await (await complete("code", new URL(uri).host)).click();
        await page.getByRole("button", { name: "Read Resource" }).click();
        return page.getByTestId("resource-preview").innerText();
      },
      async getPrompt({ arguments: args }) {
        await openPrompt();
        for (const [name, value] of Object.entries(args))
          await (await complete(name, value)).click();
        await page.getByRole("button", { name: "Get Prompt" }).click();
        return page.getByTestId("prompt-messages").innerText();
      },
      async complete({ argument: { name, value } }) {
        await openPrompt();
        const offered = await complete(name, value);
        return { completion: { values: await offered.allInnerTexts() } };
      },
      close: async () => {},
    },
    changed: async () => Number(await refresh.isVisible()),
    answers: (given) => void (answer = given),
    call: (name, args = {}, options = {}) => call(name, args, options, false),
    async task(name, args) {
      const result = await call(name, args, {}, true);
      await page
        .getByRole("radiogroup", { name: "Monitoring screen" })
        .getByText("Tasks", { exact: true })
        .click();
      await page.getByRole("heading", { name: /^Completed \([1-9]/ }).waitFor();
      return result;
    },
    /** Takes the changes that it has heard of. */
    async listen() {
      await open("Tools");
      if (!(await refresh.isVisible())) return;
      await refresh.click();
      await refresh.waitFor({ state: "hidden" });
    },
  };
}

/** Writes into the form's editor, in place of all that is there. */
async function writeJson(page: Page, form: Locator, value: object): Promise<void> {
  const mode = form.getByRole("switch", { name: "Edit as JSON" });
  if (!(await mode.isChecked())) await mode.press("Space");
  await form.getByRole("textbox", { name: "Arguments JSON" }).focus();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.insertText(JSON.stringify(value));
}

/** Reads the result of a call from the page. Throws if the page says that the call failed. */
async function resultOf(tools: Locator): Promise<unknown> {
  const alert = tools.getByRole("alert");
  if (await tools.getByRole("heading", { name: "Tool Call Failed" }).isVisible())
    throw new Error(await alert.innerText());
  const texts = await tools.locator("pre").allInnerTexts();
  const images = await tools.getByRole("img", { name: "Content preview" }).all();
  const sources = await Promise.all(images.map((one) => one.getAttribute("src")));
  const structured = tools
    .getByTestId("structured-output")
    .getByRole("group", { name: /^Editor content/ });
  const shown = await structured.allInnerTexts();
  return {
    content: [
      ...texts.map((text) => ({ text })),
      ...sources.map((source) => ({ data: source!.split(",")[1] })),
    ],
    structuredContent: shown.length > 0 ? JSON.parse(shown[0]!) : undefined,
    isError: await alert.isVisible(),
  };
}
