/** Tests views: the calls that a view may make, and its page in a real browser. */
import type {
  CallToolResult,
  Json,
  Lists,
  ReadResourceResult,
} from "../../server/kernel/core/model.ts";
import { isObject } from "../../server/kernel/core/model.ts";
import { viewHeaders } from "../../server/kernel/servlets/view-headers.ts";
import type { PreparedServlet } from "../../server/kernel/servlets/bundle.ts";
import { isForViews } from "../../server/kernel/core/views.ts";
import { viewResources } from "../../server/features/views/views.ts";
import type { Script, Tested } from "./script.ts";

/**
 * The part of playwright's `Page` that a test of a view needs.
 *
 * @example
 * import { chromium } from "playwright-core";
 *
 * const browser = await chromium.launch();
 * const page: BrowserPage = await browser.newPage();
 */
export interface BrowserPage {
  route(url: string, handler: (route: BrowserRoute) => unknown): Promise<unknown>;
  exposeFunction(name: string, callback: (message: Json) => unknown): Promise<unknown>;
  goto(url: string): Promise<unknown>;
  frame(which: { url: string }): unknown;
}

interface BrowserRoute {
  fulfill(response: { headers: Record<string, string>; body: string }): Promise<unknown>;
}

/** A request of a view to its client: a tool, a link, a message. */
export interface ViewRequest {
  method: string;
  params: Json;
  /** The result, if the request is a tool call. */
  result?: CallToolResult;
}

/**
 * A view under test.
 *
 * @example
 * const tasks = await loadServlet("plugins/tasks");
 * const board: ViewUnderTest = await tasks.view("board");
 * const { result } = await board.call("add_task", { text: "Water the plants" });
 * result.isError ?? false; // → false
 */
export interface ViewUnderTest {
  /** The HTML document. */
  html: string;
  /** Calls a tool as the view does; rejects if views may not call the tool. */
  call(tool: string, args?: Json, script?: Script): Promise<Tested<CallToolResult>>;
  /**
   * Shows the view in a browser's page as clients do: in a frame with an opaque origin, under the policy of its `csp`.
   * Calls the tool, and sends its arguments and result to the view. Resolves when the view has connected.
   */
  open<P extends BrowserPage>(
    page: P,
    call: { tool: string; arguments?: Json; frame?: Json },
    script?: Script,
  ): Promise<{
    /** The frame with the view. */
    frame: NonNullable<ReturnType<P["frame"]>>;
    requests: ViewRequest[];
  }>;
}

/** The servlet of a view, with the methods that call it. */
export interface ViewsServlet {
  servlet: PreparedServlet;
  lists: Lists;
  callTool(tool: string, args: Json, script?: Script): Promise<Tested<CallToolResult>>;
  readResource(uri: string, script?: Script): Promise<Tested<ReadResourceResult>>;
}

/** The servlet's view with this name. */
export function viewUnderTest(name: string, of: ViewsServlet): ViewUnderTest {
  const { servlet, lists } = of;
  const all = viewResources(servlet);
  const view = all.find((one) => one.name === name);
  const document = view && servlet.views?.[name];
  if (document === undefined) {
    const known = all.map((one) => one.name);
    throw new Error(`There is no view ${name}: ${known.join(", ") || "the servlet has none"}.`);
  }
  const html = new TextDecoder().decode(document);
  const ui = view?._meta?.["ui"];
  const declared = isObject(ui) ? ui : {};
  const call: ViewUnderTest["call"] = async (tool, args = {}, script = {}) => {
    const listed = lists.tools.find((one) => one.name === tool);
    if (listed !== undefined && !isForViews(listed))
      throw new Error(`The tool ${tool} is not for views: its visibility lacks "app".`);
    return of.callTool(tool, args, script);
  };
  return {
    html,
    call,
    async open(page, { tool, arguments: args = {}, frame = {} }, script = {}) {
      const { result } = await of.callTool(tool, args, script);
      const requests: ViewRequest[] = [];
      const connected = Promise.withResolvers<void>();
      const tell = (method: string, params: object) => ({ jsonrpc: "2.0", method, params });
      /** The responses to a message of the view. */
      const heard = async ({ id, method, params }: Json): Promise<object[]> => {
        const given = isObject(params) ? params : {};
        const answer = (own: object) => [{ jsonrpc: "2.0", id, ...own }];
        switch (method) {
          case "ui/initialize":
            return answer({
              result: {
                protocolVersion: given["protocolVersion"],
                hostInfo: { name: "edge-servlets/testing", version: "1" },
                hostCapabilities: { serverTools: {}, serverResources: {}, ...OFFERED },
                hostContext: { theme: "light", displayMode: "inline", ...frame },
              },
            });
          case "ui/notifications/initialized":
            connected.resolve();
            return [
              tell("ui/notifications/tool-input", { arguments: args }),
              tell("ui/notifications/tool-result", result),
            ];
          case "tools/call":
          case "resources/read":
            try {
              const made =
                method === "tools/call"
                  ? await call(String(given["name"]), given["arguments"] as Json, script)
                  : await of.readResource(String(given["uri"]), script);
              const isTool = method === "tools/call";
              requests.push({
                method,
                params: given,
                ...(isTool && { result: made.result as CallToolResult }),
              });
              return answer({ result: made.result });
            } catch (error) {
              requests.push({ method, params: given });
              return answer({ error: { code: -32603, message: (error as Error).message } });
            }
          default:
            if (id === undefined) return [];
            requests.push({ method: String(method), params: given });
            return answer({ result: method === "ui/request-display-mode" ? given : {} });
        }
      };
      const hearing = `edgeServletsHeard${opened++}`;
      await page.exposeFunction(hearing, heard);
      await page.route(`${ORIGIN}/**`, (route) =>
        route.fulfill({ headers: HTML, body: clientPage(hearing) }),
      );
      await page.route(VIEW_URL, (route) =>
        route.fulfill({ headers: viewHeaders("text/html", declared), body: html }),
      );
      await page.goto(ORIGIN);
      await connected.promise;
      return { frame: page.frame({ url: VIEW_URL })! as never, requests };
    },
  };
}

const ORIGIN = "https://client.invalid";
const VIEW_URL = `${ORIGIN}/view`;
const HTML = { "content-type": "text/html; charset=utf-8" };
const OFFERED = {
  openLinks: {},
  downloadFile: {},
  message: {},
  updateModelContext: {},
  logging: {},
};

/** Number of opened views, for unique function names: a page cannot remove an exposed function. */
let opened = 0;

/** The client's page, which passes messages between the view and the test by the exposed function `heard`. */
const clientPage = (heard: string) => `<!doctype html>
<style>html, body, iframe { width: 100%; height: 100%; margin: 0; border: 0 }</style>
<script>
addEventListener("message", async ({ source, data }) => {
  if (source !== frames[0]) return;
  for (const answer of await ${heard}(data)) frames[0].postMessage(answer, "*");
});
</script>
<iframe sandbox="allow-scripts" src="/view"></iframe>`;
