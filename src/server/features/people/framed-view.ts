/** A servlet's view as the document of a frame on the console's pages, which reaches nothing but what it has declared. */
import { sessionAsker } from "../../kernel/asks/askers.ts";
import { allReasons, perform } from "../../kernel/calls/engine.ts";
import { Fault, httpStatus, report } from "../../kernel/core/errors.ts";
import {
  isObject,
  type Json,
  type Principal,
  type ReadResourceResult,
} from "../../kernel/core/model.ts";
import { textResponse } from "../../kernel/http/body.ts";
import type { Registry } from "../../kernel/servlets/registry.ts";
import { VIEW_TYPE } from "../../kernel/core/views.ts";
import { viewHeaders } from "../../kernel/servlets/view-headers.ts";

/** The path of a view, whose URI the parameter `uri` has. */
export const VIEW_PATH = "/console/view";

/** The address of a view. */
export const viewAddress = (uri: string): string =>
  `${VIEW_PATH}?${new URLSearchParams({ uri }).toString()}`;

/** The console's own client, as far as a servlet that makes its views itself can ask it for something. */
const NOBODY = { capabilities: {} };

/** Answers with the view that this request names, or in words. Never throws. */
export async function viewEndpoint(
  request: Request,
  by: () => Promise<{ registry: Registry; principal: Principal }>,
): Promise<Response> {
  try {
    // A view that navigates its own frame gets no other view there: its origin is opaque.
    const site = request.headers.get("sec-fetch-site");
    if (site !== null && site !== "same-origin")
      throw new Fault("forbidden", "Views are shown on this server's own pages only.");
    const uri = new URL(request.url).searchParams.get("uri") ?? "";
    const { html, ui } = await viewOf(uri, request, await by());
    return textResponse(html, { headers: viewHeaders("text/html", ui) });
  } catch (error) {
    const fault = report(error);
    const status = httpStatus(fault);
    const headers = viewHeaders("text/plain", {});
    return textResponse(fault.message, { status: status === 200 ? 404 : status, headers });
  }
}

async function viewOf(
  uri: string,
  request: Request,
  { registry, principal }: { registry: Registry; principal: Principal },
): Promise<{ html: string; ui: Json }> {
  const unknown = new Fault("not_found", `There is no view ${uri}.`);
  if (!uri.startsWith("ui://")) throw unknown;
  const entry = await registry.resolve({ kind: "resource", name: uri });
  const { contents } = await perform<ReadResourceResult>(
    entry,
    {
      id: VIEW_PATH,
      meta: {},
      principal,
      client: NOBODY,
      ask: sessionAsker(NOBODY),
      signal: () => request.signal,
      notify() {},
    },
    {
      ended: (result) => result as ReadResourceResult,
      waits: allReasons(() => {
        throw new Fault("servlet_failed", "The servlet waits for something instead of its view.");
      }),
    },
  );
  const content = contents.find((one) => one.mimeType === VIEW_TYPE);
  if (content === undefined) throw unknown;
  const html =
    "text" in content
      ? content.text
      : new TextDecoder().decode(Uint8Array.fromBase64(content.blob));
  const ui = content._meta?.["ui"];
  return { html, ui: isObject(ui) ? ui : {} };
}

/** The style of frames with views, on pages that show them. */
export const viewStyle = `
  dialog.view { display: block; position: static; width: 100%; max-width: none; margin: .5rem 0; padding: 0; border: 0; background: none; color: inherit; }
  .view iframe { display: block; width: 100%; height: 10rem; border: 1px solid var(--line); border-radius: var(--radius); } .view iframe.plain { border-color: transparent; }
  .view .acts { display: none; } .view .asked .acts { display: flex; } dialog.view[open] { position: fixed; inset: 0; height: 100%; max-height: none; margin: 0; padding: .5rem; display: flex; flex-direction: column; background: var(--paper); }
  .view[open] > .acts { display: flex; justify-content: space-between; margin: 0 0 .5rem; } .view[open] iframe { flex: 1; height: auto !important; }
`;
