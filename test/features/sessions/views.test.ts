// @module-tag views
import { describe, expect, test } from "vitest";
import { Events, resultIn, SessionClient } from "../../worker/mcp/legacy/session-client.ts";

/** Views in a session. */

const EXTENSION = "io.modelcontextprotocol/ui";
const TYPE = "text/html;profile=mcp-app";
const VIEWS = { extensions: { [EXTENSION]: { mimeTypes: [TYPE] } } };
const URI = "ui://viewing/board";
interface Listed {
  name: string;
  uri: string;
  _meta?: unknown;
}
const named = (all: Listed[], name: string) => all.find((one) => one.name === name);
describe("a client that shows views", () => {
  test("also in a session of an older revision", async () => {
    const client = await SessionClient.begin({ capabilities: VIEWS });
    expect(client.introduced).toMatchObject({
      capabilities: { extensions: { [EXTENSION]: { mimeTypes: [TYPE] } } },
    });
    const { result } = await resultIn(await client.request("tools/list"));
    expect(named((result as any).tools, "move")).toBeDefined();
    const read = await resultIn(await client.request("resources/read", { uri: URI }));
    expect((read as any).result.contents[0].text).toContain("A board");
  });
});

test("a client that shows no views does not see them", async () => {
  const session = await SessionClient.begin();
  const { result } = await resultIn(await session.request("tools/list"));
  expect(named((result as any).tools, "move")).toBeUndefined();
  expect(JSON.stringify(result)).not.toContain("ui://");
});

describe("a question that names a view", () => {
  const elicitation = { form: {} };
  const asking = (settings: object) => ({
    elicitation,
    extensions: { [EXTENSION]: { mimeTypes: [TYPE], ...settings } },
  });
  test("also in a session", async () => {
    const asked = async (settings: object) => {
      const client = await SessionClient.begin({ capabilities: asking(settings) });
      const response = await client.request("tools/call", { name: "pick", arguments: {} });
      const events = new Events(response);
      const { params } = await events.message();
      return JSON.stringify(params);
    };
    expect(await asked({ elicitation: {} })).toContain(URI);
    expect(await asked({})).not.toContain(URI);
  });
});
