import { describe, expect, test } from "vitest";
import type { Json } from "../../../../src/server/kernel/core/model.ts";
import { Revision } from "../../../clients/strict.ts";
import { EventStream, RawSession } from "../../../node/http/raw.ts";
import { serving } from "../../../node/http/serving.ts";

/** Each revision is sent what it knows: strict clients fail on a member that came later, and on one that is missing. */
const { url } = await serving();
const VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const LISTS = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];
const CALLS: [tool: string, args: object][] = [
  ["lookup_status", { code: 404 }],
  ["draw_chart", { values: [1, 2] }],
  ["test_multiple_content_types", {}],
  ["test_tool_with_progress", {}],
  ["test_error_handling", {}],
  ["test_elicitation", { message: "Who?" }],
];

async function messagesOf(response: Response): Promise<Json[]> {
  if (response.headers.get("content-type") === "application/json") {
    return [(await response.json()) as Json];
  }
  const events = new EventStream(response, new AbortController());
  const messages: Json[] = [];
  // A question ends what is looked at here: nobody answers.
  while (messages.every((one) => !("result" in one) && one["method"] !== "elicitation/create")) {
    const event = await events.next();
    if (event === undefined) break;
    if (event.message) messages.push(event.message as Json);
  }
  events.drop();
  return messages;
}

describe.each(VERSIONS)("%s", (version) => {
  const revision = new Revision(version);
  // Questions came with 2025-06-18; whoever declares them before is asked all the same.
  const capabilities = version < "2025-06-18" ? {} : { elicitation: {} };

  async function faultsOf(method: string, params: object): Promise<string[]> {
    const session = await RawSession.begin(url, capabilities, version);
    const _meta = { progressToken: 1 };
    const response = await session.post({ id: 1, method, params: { ...params, _meta } });
    const messages = await messagesOf(response);
    expect(messages.length).toBeGreaterThan(0);
    return messages.flatMap((message) => revision.faults(message, method));
  }

  test("initialize", async () => {
    const clientInfo = { name: "raw", version: "1" };
    const params = { protocolVersion: version, capabilities, clientInfo };
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    const message = (await response.json()) as Json;
    expect(revision.faults(message, "initialize")).toEqual([]);
  });

  test.each(LISTS)("%s", async (method) => {
    expect(await faultsOf(method, {})).toEqual([]);
  });

  test.each(CALLS)("tools/call %s", async (name, args) => {
    expect(await faultsOf("tools/call", { name, arguments: args })).toEqual([]);
  });

  test("prompts/get and resources/read", async () => {
    const prompt = {
      name: "test_prompt_with_embedded_resource",
      arguments: { resourceUri: "a:b" },
    };
    expect(await faultsOf("prompts/get", prompt)).toEqual([]);
    expect(await faultsOf("resources/read", { uri: "http-status://404" })).toEqual([]);
  });
});
