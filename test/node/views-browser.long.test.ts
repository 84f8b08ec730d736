import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import type { Browser, Frame, Page } from "playwright-core";
import axe from "axe-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { CallToolResult, Json } from "../../src/server/kernel/core/model.ts";
import { loadServlet, type ServletUnderTest } from "../../src/tools/testing/index.ts";
import { startChromium } from "./http/chromium.ts";

/**
 * The views of this project's servlets in a real browser, in a frame of the official host side of MCP Apps
 * (`AppBridge`), and under the policy that the specification gives a view by default.
 */
const POLICY =
  "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; media-src data:";
const CLIENT = "https://client.invalid";

/** The page of the client: a bridge, whose events a test reads from `events`, and which it commands. */
const HOST = `
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
const frame = document.querySelector("iframe");
const bridge = new AppBridge(null, { name: "official", version: "1.0.0" }, {
  openLinks: {}, serverTools: {}, serverResources: {}, logging: {}, downloadFile: {},
  message: { text: {} }, updateModelContext: { text: {}, structuredContent: {} },
}, { hostContext: { theme: "dark", displayMode: "inline", availableDisplayModes: ["inline", "fullscreen"],
  styles: { variables: { "--color-text-primary": "rgb(250, 250, 250)", "--color-background-primary": "rgb(20, 20, 20)" } } } });
const events = (globalThis.events = []);
const noted = (name, answer) => async (params) => (events.push({ name, params }), answer?.(params) ?? {});
bridge.oninitialized = noted("initialized");
bridge.onsizechange = ({ width, height }) => { events.push({ name: "size", params: { width, height } }); frame.style.height = height + "px"; };
bridge.onopenlink = noted("link");
bridge.onmessage = noted("message");
bridge.ondownloadfile = noted("file");
bridge.onupdatemodelcontext = noted("context");
bridge.onrequestdisplaymode = noted("display", ({ mode }) => ({ mode }));
bridge.onloggingmessage = noted("log");
bridge.oncalltool = (params) => (events.push({ name: "call", params }), callTool(params));
globalThis.bridge = bridge;
await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
frame.src = "/view";
`;

let browser: Browser;
let script: string;
beforeAll(async () => {
  browser = await startChromium();
  const { outputFiles } = await build({
    stdin: { contents: HOST, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
  });
  script = outputFiles[0]!.text;
});
afterAll(() => browser.close());

interface Shown {
  page: Page;
  view: Frame;
  /** What the bridge was told under this name. */
  told(name: string): Promise<Json[]>;
  /** Calls a method of the bridge. */
  tell(method: string, params: object): Promise<void>;
}

let pages: Page[];
beforeEach(() => void (pages = []));
afterEach(() => Promise.all(pages.map((page) => page.close())));

async function show(servlet: ServletUnderTest, name: string, width = 800): Promise<Shown> {
  const { html } = await servlet.view(name);
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  pages.push(page);
  const elsewhere: string[] = [];
  await page.route("**/*", async (route) => {
    const url = route.request().url();
    const isPage = url === `${CLIENT}/`;
    if (isPage || url === `${CLIENT}/view`) {
      const headers = {
        "content-type": "text/html",
        ...(!isPage && { "content-security-policy": POLICY }),
      };
      const client = `<!doctype html><iframe sandbox="allow-scripts" style="width:100%;border:0"></iframe><script type="module">${script.replaceAll("</script", "<\\/script")}</script>`;
      return route.fulfill({ headers, body: isPage ? client : html });
    }
    if (!url.endsWith("/favicon.ico")) elsewhere.push(url);
    return route.abort();
  });
  await page.exposeFunction("callTool", async ({ name: tool, arguments: args }: Json) => {
    const { result } = await servlet.callTool(String(tool), args as Json, { caller: "ada" });
    return result;
  });
  await page.goto(`${CLIENT}/`);
  const told = (event: string) =>
    page.evaluate(
      (wanted) =>
        (globalThis as unknown as { events: { name: string; params: Json }[] }).events
          .filter(({ name: one }) => one === wanted)
          .map(({ params }) => params),
      event,
    );
  await expect.poll(() => told("initialized")).toHaveLength(1);
  expect(elsewhere).toEqual([]);
  return {
    page,
    view: page.frame({ url: `${CLIENT}/view` })!,
    told,
    tell: (method, params) =>
      page.evaluate(
        ([own, given]) =>
          (globalThis as unknown as { bridge: Record<string, (all: object) => Promise<void>> })
            .bridge[own]!(given),
        [method, params] as const,
      ),
  };
}

const textOf = (view: Frame) => view.evaluate(() => document.body.innerText);

/** What axe finds wrong in the view, in light and dark. */
async function faultsOf({ view, tell }: Shown): Promise<string[]> {
  const found: string[] = [];
  for (const theme of ["dark", "light"]) {
    const [text, background] = theme === "dark" ? ["#fafafa", "#141414"] : ["#141414", "#fafafa"];
    await tell("sendHostContextChange", {
      theme,
      styles: {
        variables: { "--color-text-primary": text, "--color-background-primary": background },
      },
    });
    await expect
      .poll(() => view.evaluate(() => document.documentElement.dataset["theme"]))
      .toBe(theme);
    await view.evaluate(axe.source);
    const { violations } = await view.evaluate(() =>
      (
        globalThis as unknown as {
          axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        }
      ).axe.run(),
    );
    found.push(...violations.map(({ id, nodes }) => `${theme} ${id}: ${nodes[0]?.html}`));
  }
  return found;
}

/** How much wider than its frame the view is, in CSS pixels. */
const overflowOf = (view: Frame) =>
  view.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

describe("chart", async () => {
  const servlet = await loadServlet("plugins/chart");
  const ARGUMENTS = {
    values: [3, 1.5, 4, 1],
    name: "Rain",
    series: [{ name: "Snow", values: [1, 2, 0, 3] }],
    labels: ["May", "June", "July", "August"],
    title: "Weather",
  };

  test("draws what the model has written so far, then the values, and obeys the theme", async () => {
    const shown = await show(servlet, "chart");
    const { view, tell } = shown;
    expect(await textOf(view)).toContain("Drawing …");
    await tell("sendToolInputPartial", { arguments: { values: [3, 1.5], title: "Wea" } });
    await expect.poll(() => textOf(view)).toContain("Wea");
    await tell("sendToolInput", { arguments: ARGUMENTS });
    await expect.poll(() => textOf(view)).toContain("Weather");
    const { result } = await servlet.callTool("draw_chart", ARGUMENTS);
    await tell("sendToolResult", result);
    expect(await view.locator("polyline").count()).toBe(2);
    expect(await view.evaluate(() => getComputedStyle(document.body).color)).toBe(
      "rgb(250, 250, 250)",
    );
    expect(await faultsOf(shown)).toEqual([]);
    await expect.poll(() => shown.told("size")).not.toEqual([]);
  });

  test("shows values under the pointer and by keys, hides a series, enlarges a part", async () => {
    const { view, tell } = await show(servlet, "chart");
    await tell("sendToolInput", { arguments: ARGUMENTS });
    const drawing = view.locator("svg");
    await drawing.waitFor();
    await drawing.focus();
    await drawing.press("ArrowRight");
    const values = () => view.locator("[role=status]").innerText();
    await expect.poll(values).toBe("May: Rain 3, Snow 1");
    const box = (await drawing.boundingBox())!;
    await drawing.hover({ position: { x: box.width - 14, y: box.height / 2 } });
    await expect.poll(values).toBe("August: Rain 1, Snow 3");
    await view.getByRole("button", { name: "Snow" }).click();
    await expect.poll(() => view.locator("polyline").count()).toBe(1);
    await view.getByRole("button", { name: "Zoom in" }).click();
    const labels = () => view.locator("svg text").allTextContents();
    await expect.poll(labels).not.toContain("May");
    await view.getByRole("button", { name: "Show all" }).click();
    await expect.poll(labels).toContain("May");
    await view.getByText("Table of values").click();
    expect(await view.locator("tbody tr").count()).toBe(4);
  });

  test("gives its picture to the client", async () => {
    const { view, tell, told } = await show(servlet, "chart");
    await tell("sendToolInput", { arguments: { ...ARGUMENTS, kind: "bar" } });
    await view.getByRole("button", { name: "Save as picture" }).click();
    await expect.poll(() => told("file")).toHaveLength(1);
    const [{ contents }] = (await told("file")) as [
      { contents: { resource: { blob: string; mimeType: string } }[] },
    ];
    expect(contents[0]!.resource.mimeType).toBe("image/png");
    expect(Buffer.from(contents[0]!.resource.blob, "base64").subarray(1, 4).toString()).toBe("PNG");
    await expect.poll(() => textOf(view)).toContain("The picture is saved.");
  });

  test("says that a call was cancelled, or has failed", async () => {
    const cancelled = await show(servlet, "chart");
    await cancelled.tell("sendToolCancelled", { reason: "enough" });
    await expect.poll(() => textOf(cancelled.view)).toContain("It was cancelled.");
    const failed = await show(servlet, "chart");
    const content = [{ type: "text", text: "It did not work" }];
    await failed.tell("sendToolResult", { content, isError: true });
    await expect.poll(() => textOf(failed.view)).toContain("It did not work");
  });

  test("fits a phone", async () => {
    const { view, tell } = await show(servlet, "chart", 390);
    await tell("sendToolInput", { arguments: ARGUMENTS });
    await view.locator("svg").waitFor();
    expect(await overflowOf(view)).toBe(0);
  });
});

describe("tasks", async () => {
  let servlet: ServletUnderTest;
  beforeEach(async () => {
    servlet = await loadServlet("plugins/tasks");
    for (const text of ["Water the plants", "Call <b>Bob</b>"])
      await servlet.callTool("add_task", { text }, { caller: "ada" });
  });
  const listed = async () =>
    (await servlet.callTool("list_tasks", {}, { caller: "ada" })).result as CallToolResult;
  const columnsOf = (view: Frame) =>
    view
      .locator("section")
      .evaluateAll((all) =>
        all.map((one) => [...one.querySelectorAll("li p")].map(({ textContent }) => textContent)),
      );

  test("moves tasks by dragging and by buttons, and tells the model", async () => {
    const shown = await show(servlet, "board");
    const { view, tell, told } = shown;
    await tell("sendToolInput", { arguments: {} });
    await tell("sendToolResult", await listed());
    await expect
      .poll(() => columnsOf(view))
      .toEqual([["Water the plants", "Call <b>Bob</b>"], [], []]);
    await view.locator("li").first().dragTo(view.locator("section").nth(2));
    await expect
      .poll(() => columnsOf(view))
      .toEqual([["Call <b>Bob</b>"], [], ["Water the plants"]]);
    expect(await told("call")).toEqual([
      { name: "move_task", arguments: { id: 1, column: "done" } },
    ]);
    await view.getByRole("button", { name: 'Move "Call <b>Bob</b>" to doing' }).click();
    await expect
      .poll(() => columnsOf(view))
      .toEqual([[], ["Call <b>Bob</b>"], ["Water the plants"]]);
    // The model sees the same board.
    expect((await listed()).content[0]).toMatchObject({
      text: "to do:\ndoing:\n  2. Call <b>Bob</b>\ndone:\n  1. Water the plants",
    });
    expect((await told("context")).at(-1)).toMatchObject({
      structuredContent: {
        tasks: [
          { id: 1, column: "done" },
          { id: 2, column: "doing" },
        ],
      },
    });
    expect(await faultsOf(shown)).toEqual([]);
  });

  test("adds and removes tasks, and says what is wrong", async () => {
    const { view, tell } = await show(servlet, "board", 390);
    await tell("sendToolResult", await listed());
    await view.getByLabel("New task").fill("Read");
    await view.getByRole("button", { name: "Add" }).click();
    await expect
      .poll(() => columnsOf(view))
      .toEqual([["Water the plants", "Call <b>Bob</b>", "Read"], [], []]);
    await view.getByRole("button", { name: 'Remove "Read"' }).click();
    await expect
      .poll(() => columnsOf(view))
      .toEqual([["Water the plants", "Call <b>Bob</b>"], [], []]);
    await servlet.callTool("remove_task", { id: 1 }, { caller: "ada" });
    await view.getByRole("button", { name: 'Move "Water the plants" to doing' }).click();
    await expect
      .poll(() => view.getByRole("alert").innerText())
      .toBe("There is no task 1. See list_tasks.");
    expect(await overflowOf(view)).toBe(0);
  });
});

/** Asks by the bridge; its answer is a promise of the page. */
const ask = (page: Page, params: Json) =>
  page.evaluate((given) => {
    const { bridge, answered } = globalThis as unknown as {
      bridge: { request(request: object, schema: object): Promise<object> };
      answered: object[];
    };
    const any = {
      "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
    };
    const answer = bridge.request({ method: "elicitation/create", params: given }, any);
    void answer.then((one) => answered.push(one));
  }, params);

describe("approval", async () => {
  const servlet = await loadServlet("plugins/approval");
  const answersOf = (page: Page) =>
    page.evaluate(() => (globalThis as unknown as { answered: object[] }).answered);
  /** The question of a call, as its client gets it. */
  const asked = async () => {
    const { asked: all, result } = await servlet.callTool(
      "request_approval",
      { what: "Paint the bridge", amount: "120 EUR" },
      { answers: { "elicitation/create": [{ action: "accept", content: { approve: true } }] } },
    );
    return { params: all[0]!.params, result };
  };

  test("shows what is to be approved until when, and takes a decision with a note", async () => {
    const { params, result } = await asked();
    expect(params).toMatchObject({ _meta: { ui: { resourceUri: "ui://approval/approval" } } });
    const shown = await show(servlet, "approval", 390);
    const { page, view, tell } = shown;
    await page.evaluate(() => void Object.assign(globalThis, { answered: [] }));
    await tell("sendToolInput", { arguments: { what: "Paint the bridge" } });
    await expect.poll(() => textOf(view)).toContain("Waits for an answer.");
    await ask(page, params);
    await expect.poll(() => textOf(view)).toContain("Please approve: Paint the bridge (120 EUR)");
    expect(await textOf(view)).toContain("It waits for your answer.");
    expect(await faultsOf(shown)).toEqual([]);
    expect(await overflowOf(view)).toBe(0);
    await view.getByLabel("Note, such as a condition").fill("In red.");
    await view.getByRole("button", { name: "Reject" }).click();
    await expect
      .poll(() => answersOf(page))
      .toEqual([{ action: "accept", content: { approve: false, note: "In red." } }]);
    await expect.poll(() => textOf(view)).toBe("Rejected");
    // Once more, and then in place of that.
    for (const _ of ["one", "other"]) await ask(page, params);
    await expect.poll(async () => (await answersOf(page)).at(-1)).toEqual({ action: "cancel" });
    await view.getByRole("button", { name: "Approve" }).click();
    await expect
      .poll(async () => (await answersOf(page)).at(-1))
      .toMatchObject({ action: "accept", content: { approve: true } });
    await expect.poll(() => textOf(view)).toBe("Approved");
    await tell("sendToolResult", result);
    await expect.poll(() => textOf(view)).toContain("Approved: Paint the bridge (120 EUR)");
  });
});

/** Where pictures of views are written: `PICTURES=docs/pictures` has those of docs/views.md and docs/gallery.md made anew. */
const PICTURES = process.env["PICTURES"] ?? ".bundle/pictures";

test("pictures of views are made", async () => {
  await mkdir(PICTURES, { recursive: true });
  const [approval, chart, tasks] = await Promise.all(
    ["plugins/approval", "plugins/chart", "plugins/tasks"].map(loadServlet),
  );
  const args = {
    title: "Rain in Zurich",
    y_title: "mm in a month",
    name: "2025",
    labels: ["Jan", "Feb", "Mar", "Apr", "May", "Jun"],
    values: [63, 60, 75, 82, 115, 123],
    series: [{ name: "2026", values: [71, 44, 90, 78, 131, 104] }],
  };
  const drawn = await show(chart!, "chart", 560);
  await drawn.tell("sendHostContextChange", LIGHT);
  await drawn.tell("sendToolInput", { arguments: args });
  await drawn.view.locator("svg").focus();
  for (const _ of args.values.slice(1)) await drawn.view.locator("svg").press("ArrowRight");
  await expect.poll(() => textOf(drawn.view)).toContain("May: 2025 115, 2026 131");
  const cards = [
    { text: "Book the room" },
    { text: "Print the programme" },
    { text: "Invite the speakers", column: "doing" },
    { text: "Find a date", column: "done" },
  ];
  let last: CallToolResult | undefined;
  for (const card of cards)
    last = (await tasks!.callTool("add_task", card, { caller: "ada" })).result;
  const board = await show(tasks!, "board", 640);
  await board.tell("sendHostContextChange", LIGHT);
  await board.tell("sendToolResult", last!);
  await expect.poll(() => textOf(board.view)).toContain("Find a date");
  const { asked } = await approval!.callTool(
    "request_approval",
    { what: "Rent a hall for the summer party", amount: "1,200 EUR" },
    { answers: { "elicitation/create": [{ action: "accept", content: { approve: true } }] } },
  );
  const request = await show(approval!, "approval", 390);
  await request.page.evaluate(() => void Object.assign(globalThis, { answered: [] }));
  await request.tell("sendHostContextChange", LIGHT);
  await ask(request.page, asked[0]!.params);
  await expect.poll(() => textOf(request.view)).toContain("Rent a hall");
  const shown = { approval: request, chart: drawn, tasks: board };
  for (const [name, { page }] of Object.entries(shown)) {
    const picture = await page.locator("iframe").screenshot({ path: `${PICTURES}/${name}.png` });
    expect(picture.length).toBeGreaterThan(5000);
  }
});

const LIGHT = {
  theme: "light",
  styles: {
    variables: { "--color-text-primary": "#141414", "--color-background-primary": "#fafafa" },
  },
};

test("a view asks for more room, opens, says and logs by its client", async () => {
  const folder = await mkdtemp(".bundle/asking-");
  await writeFile(
    `${folder}/servlet.js`,
    `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({ views: { v: { file: "v.js" } }, tools: { one: { view: "v", handler: () => "" } } });`,
  );
  await writeFile(
    `${folder}/v.js`,
    `import { connect } from "edge-servlets/view";
const view = await connect();
const failed = async (work) => work.then(() => "done", ({ message }) => message);
const all = [await view.display("fullscreen"), view.state.frame.displayMode,
  await failed(view.open("https://example.com/")), await failed(view.say("Hello")),
  await failed(view.save("a.txt", "text/plain", "ä")), await failed(view.call("none")), Object.keys(view.capabilities).length > 3];
view.log("info", { all });
document.body.textContent = JSON.stringify(all);`,
  );
  const servlet = await loadServlet(folder);
  await rm(folder, { recursive: true });
  const { view, told } = await show(servlet, "v");
  await expect
    .poll(() => textOf(view))
    .toMatch(/^\["fullscreen","fullscreen","done","done","done",".*none.*",true\]$/);
  expect(await told("link")).toEqual([{ url: "https://example.com/" }]);
  expect(await told("message")).toEqual([
    { role: "user", content: [{ type: "text", text: "Hello" }] },
  ]);
  expect(await told("log")).toHaveLength(1);
  expect(await told("file")).toMatchObject([
    { contents: [{ resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "ä" } }] },
  ]);
});

test("a test shows a view by edge-servlets/testing", async () => {
  const servlet = await loadServlet("plugins/tasks");
  const board = await servlet.view("board");
  const page = await browser.newPage();
  pages.push(page);
  const { frame, requests } = await board.open(
    page,
    { tool: "add_task", arguments: { text: "Water the plants" }, frame: { theme: "dark" } },
    { caller: "ada" },
  );
  await frame.getByRole("button", { name: "to doing" }).click();
  await expect
    .poll(() => frame.locator("section").nth(1).innerText())
    .toContain("Water the plants");
  expect(requests.map(({ method }) => method)).toEqual(["tools/call", "ui/update-model-context"]);
  expect(requests[0]!.result).toMatchObject({
    structuredContent: { tasks: [{ column: "doing" }] },
  });
  const { frame: again } = await board.open(page, { tool: "list_tasks" }, { caller: "ada" });
  await expect
    .poll(() => again.locator("section").nth(1).innerText())
    .toContain("Water the plants");
  await expect(servlet.view("other")).rejects.toThrow("There is no view other: board.");
});
