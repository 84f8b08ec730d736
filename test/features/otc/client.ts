/// <reference types="@cloudflare/vitest-plugin/types" />
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { define } from "../../../src/server/features/otc/definitions.ts";
import type { Bundle } from "../../../src/server/kernel/kernel.ts";
import type { Manifest } from "../../../src/server/kernel/servlets/manifest.ts";
import { bundle } from "../../bundle.gen.ts";
import { settings } from "../../worker/settings.ts";
import { wrongResponse } from "./published.ts";

/** A client of Open Tool Calling, which holds every response against the published schema. */

export type Json = Record<string, any>;
export type Server = ReturnType<typeof createApp>;

export interface Answer extends Json {
  status: number;
  headers: Headers;
  result?: Json;
}

const ORIGIN = "http://localhost:8787";

/** With the Durable Objects. */
export const serverOf = (served: Bundle = bundle, variables: object = {}): Server =>
  createApp(new Kernel(served, { ...env, ...settings, ...variables }));

/** Without them. */
export const plainOf = (served: Bundle, variables: object = {}): Server =>
  createApp(new Kernel(served, { ...settings, ...variables }));

export const server = plainOf(bundle);

export async function fetchFrom(at: Server, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await at.fetch(new Request(ORIGIN + path, init));
  const body: Json = await response.json();
  expect(typeof body["$schema"]).toBe("string");
  expect(wrongResponse(path, response.status, body) ?? []).toEqual([]);
  return { ...body, status: response.status, headers: response.headers };
}

export const list = (at = server, headers: Record<string, string> = {}) =>
  fetchFrom(at, "/tools", { headers });

export function post(body: unknown, at = server, headers: Record<string, string> = {}) {
  return fetchFrom(at, "/tools/call", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

export const call = (tool_id: string, input: Json = {}, more: Json = {}, at = server) =>
  post({ request: { tool_id, input, ...more } }, at);

/** The error of a call that has failed. */
export function failureOf({ status, result }: Answer): Json {
  expect([status, result?.["success"]]).toEqual([200, false]);
  expect(result).not.toHaveProperty("value");
  return result!["error"];
}

/** The value of a call that has succeeded. */
export function valueOf({ status, result, ...rest }: Answer): unknown {
  expect([status, result?.["success"], result?.["error"], rest["message"]]).toEqual([
    200,
    true,
    undefined,
    undefined,
  ]);
  return result!["value"];
}

const examples = bundle.servlets.find(({ name }) => name === "otc")!;

/** The guest with the examples, as another servlet that has some of its tools. */
export function examplesAs(
  name: string,
  tools: readonly string[],
  manifest: Manifest,
): Bundle["servlets"][number] {
  const lists = { ...examples.lists! };
  lists.tools = lists.tools.filter((tool) => tools.includes(tool.name));
  const own = { ...examples, name, lists, manifest: { ...examples.manifest, ...manifest } };
  return { ...own, definitions: define(own, lists).definitions };
}
