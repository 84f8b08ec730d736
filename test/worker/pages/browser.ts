import { eventually } from "../waiting.ts";
/// <reference types="@cloudflare/vitest-plugin/types" />
import { env } from "cloudflare:workers";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import type { Json } from "../calls/client.ts";

/** The page of a call, as a browser without scripts opens it. */

export const server = createApp(new Kernel(bundle, env));

export type Server = typeof server;

let addresses = 0;

/** A page as a person sees it. */
export interface Page {
  response: Response;
  status: number;
  html: string;
  /** Its text, without tags. */
  text: string;
  /** The hidden fields of its form. */
  hidden: Record<string, string>;
}

/** One browser, at an address of its own. */
export function browser(at: Server = server, origin = "http://localhost:8787") {
  const cookies = new Map<string, string>();
  const address = `198.51.100.${++addresses}`;

  async function fetch(url: string, init: RequestInit = {}): Promise<Page> {
    const headers = new Headers(init.headers);
    headers.set("cf-connecting-ip", address);
    const sent = [...cookies].map((pair) => pair.join("=")).join("; ");
    if (sent !== "") headers.set("cookie", sent);
    const request = new Request(new URL(url, origin), { ...init, headers, redirect: "manual" });
    const response = await at.fetch(request);
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    const html = await response.text();
    return { response, status: response.status, html, text: textOf(html), hidden: hiddenIn(html) };
  }

  /** Sends a form as a browser does from the page itself, and follows where it leads. */
  async function send(url: string, fields: [string, string][] | Json, headers: Json = {}) {
    const entries = Array.isArray(fields) ? fields : Object.entries(fields);
    const page = await fetch(url, {
      method: "POST",
      body: new URLSearchParams(entries),
      headers: { origin, "sec-fetch-site": "same-origin", ...headers },
    });
    return page.status === 303 ? fetch(page.response.headers.get("location")!) : page;
  }

  /** Opens a page, which may be that of a call that has not asked yet, and answers its question. */
  async function answer(url: string, fields: Json, decision = "accept") {
    const { hidden } = await eventually(async () => {
      const page = await fetch(url);
      if (Object.keys(page.hidden).length === 0)
        throw new Error(`${url} asks nothing: ${page.text}`);
      return page;
    });
    return send(url, { ...hidden, ...fields, decision });
  }

  return { fetch, send, answer, cookies, origin };
}

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };

const decoded = (html: string) =>
  html.replace(/&(lt|gt|amp|quot|#39);/g, (_all, name: string) => ENTITIES[name]!);

const textOf = (html: string) =>
  decoded(html.replace(/<style[\s\S]*?<\/style>/g, "").replace(/<[^>]*>/g, " "))
    .replace(/\s+/g, " ")
    .trim();

const hiddenIn = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<input\s+type="hidden"\s+name="([^"]*)"\s+value="([^"]*)"/g)].map(
      ([, name, value]) => [name!, decoded(value!)],
    ),
  );
