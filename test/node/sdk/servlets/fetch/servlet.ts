/** Makes requests, and reads what comes back. */
import { defineServlet } from "edge-servlets/servlet";

const BODIES: Record<string, () => RequestBody> = {
  text: () => "é",
  bytes: () => new Uint8Array([0, 1, 2, 3]).subarray(1, 3),
  buffer: () => new Uint8Array([7, 8]).buffer,
  form: () => new URLSearchParams({ a: "1 2", b: "&" }),
};
type RequestBody = string | Uint8Array | ArrayBuffer | URLSearchParams;

const message = (error: unknown) => String(error);

export default defineServlet({
  tools: {
    request: {
      input: {
        type: "object",
        properties: {
          url: { type: "string" },
          method: { type: "string" },
          body: { type: "string" },
          headers: { type: "object" },
        },
        required: ["url"],
      },
      async handler({ url, method, headers, body }) {
        const response = await fetch(url, {
          ...(method !== undefined && { method }),
          ...(headers !== undefined && { headers: headers as Record<string, string> }),
          ...(body !== undefined && { body: BODIES[body]?.() ?? "" }),
        });
        return { status: response.status, text: await response.text() };
      },
    },
    request_by: {
      async handler({ form }, context) {
        const url = new URL("https://api.example/x?y=1");
        const made = new Request(url, {
          method: "put",
          body: "in",
          headers: new Headers([
            ["b", "2"],
            ["B", " 3 "],
          ]),
        });
        const ways: Record<string, () => Promise<Response>> = {
          url: () => fetch(url),
          request: () => fetch(made),
          "request and init": () => fetch(made, { method: "POST", headers: { c: "4" } }),
          context: () => context.fetch(url.href, { method: "DELETE" }),
        };
        const response = await ways[String(form)]!();
        return await response.text();
      },
    },
    response: {
      async handler() {
        const response = await fetch("https://api.example/thing");
        const clone = response.clone();
        const { status, ok, url, type, redirected } = response;
        const before = response.bodyUsed;
        const json = await response.json();
        return {
          ...{ status, ok, url, type, redirected, before, json },
          headers: [...response.headers],
          type_of: response.headers.get("Content-Type"),
          none: response.headers.get("x-none"),
          after: response.bodyUsed,
          again: await response.text().catch(message),
          bytes: [...(await clone.bytes())],
          cloned: clone.url,
        };
      },
    },
    received: {
      async handler() {
        const response = await fetch("https://api.example/");
        const { headers } = response;
        const ways = [
          headers,
          response.clone().headers,
          new Headers(headers),
          new Headers([...headers]),
          new Response(null, response).headers,
          new Response(null, { headers: [...headers.entries()] }).headers,
        ];
        const named = headers.get("content-disposition") ?? "";
        return {
          ways: ways.map((one) => ({
            named: one.get("content-disposition"),
            cookies: one.getSetCookie(),
            count: [...one].length,
          })),
          joined: headers.get("set-cookie"),
          own: await Promise.try(() => new Headers({ a: "€" })).catch((e: Error) => e.name),
          sent: await fetch("https://api.example/", { headers: { "x-name": named } }).then(
            String,
            message,
          ),
        };
      },
    },
    buffer: {
      async handler() {
        const buffer = await (await fetch("https://api.example/")).arrayBuffer();
        return { is: buffer instanceof ArrayBuffer, bytes: [...new Uint8Array(buffer)] };
      },
    },
    not_json: {
      async handler() {
        const response = await fetch("https://api.example/");
        return await response.json().then(String, (error: Error) => error.name);
      },
    },
    aborted: {
      async handler() {
        const controller = new AbortController();
        controller.abort(new Error("stopped"));
        const { signal } = controller;
        return await fetch("https://api.example/", { signal }).then(String, message);
      },
    },
    one_after_the_other: {
      async handler() {
        const all = ["a", "b", "c"].map(async (name) => {
          const response = await fetch(`https://${name}.example/`);
          return `${response.status} ${await response.text()}`;
        });
        return (await Promise.all(all)).join();
      },
    },
    get_with_body: {
      handler: () =>
        fetch("https://api.example/", { method: "get", body: "x" }).then(String, message),
    },
    caught: {
      async handler({ url }) {
        const failed = await fetch(String(url)).then(String, message);
        const after = await fetch("https://api.example/");
        return { failed, after: after.status };
      },
    },
  },
});
