/// <reference types="@cloudflare/vitest-plugin/types" />
import { expect } from "vitest";
import { framesIn } from "../../../src/server/features/state/state-file.ts";
import { newAddress, send, server, type Sent } from "../calls/client.ts";

export const LOCALHOST = "http://localhost:8787";
export const LOCAL = { "cf-connecting-ip": "127.0.0.1" };

/** A request of an operator on this machine. */
export const operate = (path: string, init: RequestInit = {}, app = server) =>
  Promise.resolve(
    app.fetch(
      new Request(`http://localhost:8787/operator/${path}`, {
        ...init,
        headers: { ...LOCAL, ...(init.headers as Record<string, string>) },
        // Cloudflare and its development server say where a request comes from.
        cf: {},
      } as RequestInit),
    ),
  );

/** A caller that nobody has been yet, and its scope. */
export function newCaller() {
  const address = newAddress();
  const sent: Sent = { headers: { "cf-connecting-ip": address } };
  const call = async (name: string, args: object = {}, app = server): Promise<string> => {
    const params = { name, arguments: args };
    const { result, error } = await send("tools/call", params, { ...sent, server: app });
    return error?.message ?? (result!["content"] as { text: string }[])[0]!.text;
  };
  return {
    next: (app = server) => call("counting-next", {}, app),
    file: (what: string, args: object = {}) => call("filing-do", { what, ...args }),
    scope: `scope=caller:address%20${address}`,
    address,
  };
}

export const json = async (response: Promise<Response>) =>
  ({ status: (await response).status, ...((await (await response).json()) as object) }) as Record<
    string,
    any
  >;

export const exported = async (servlet: string, scope: string) => {
  const response = await operate(`state-file/${servlet}?${scope}`);
  expect(response.status).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
};

export const imported = (servlet: string, query: string, body: BodyInit, app = server) =>
  json(operate(`state/${servlet}?${query}`, { method: "PUT", body }, app));

/** The frames of an export, which comes in these chunks. */
export const framesOf = (chunks: Uint8Array[]) => framesIn(inChunks(chunks));

async function* inChunks(chunks: Uint8Array[]) {
  yield* chunks;
}
