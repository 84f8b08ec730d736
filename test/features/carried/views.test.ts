import { describe, expect, test } from "vitest";
import { begin } from "../../worker/calls/client.ts";
import { ask } from "../../worker/server.ts";

/** Questions that name a view. */

const EXTENSION = "io.modelcontextprotocol/ui";
const TYPE = "text/html;profile=mcp-app";
const URI = "ui://viewing/board";
describe("a question that names a view", () => {
  const elicitation = { form: {} };
  const asking = (settings: object) => ({
    elicitation,
    extensions: { [EXTENSION]: { mimeTypes: [TYPE], ...settings } },
  });
  const question = async (capabilities: object, args: object = {}) => {
    const sent = { capabilities };
    const { requests } = await begin("tools/call", { name: "pick", arguments: args }, sent);
    return Object.values<any>(requests)[0].params;
  };

  test(
    "does so to a client that has views answer, which the server says it knows",
    { tags: ["views"] },
    async () => {
      const able = asking({ elicitation: {} });
      expect(await question(able)).toMatchObject({
        message: "Which seat?",
        _meta: { ui: { resourceUri: URI } },
      });
      const client = { "io.modelcontextprotocol/clientCapabilities": able };
      const { result } = await ask("server/discover", {}, client);
      expect(result!["capabilities"]["extensions"][EXTENSION]).toEqual({
        mimeTypes: [TYPE],
        elicitation: {},
      });
    },
  );

  test.each([
    ["shows views alone", asking({})],
    ["shows none", { elicitation }],
    [
      "shows views of another kind",
      { elicitation, extensions: { [EXTENSION]: { mimeTypes: [], elicitation: {} } } },
    ],
  ])("does not to a client that %s", async (_what, capabilities) => {
    expect(await question(capabilities)).not.toHaveProperty("_meta");
  });

  test.each([
    "ui://hello/board",
    "ui://viewing/other",
    "https://a.example/",
    "ui://viewing/constructor",
  ])("names its own servlet's, or none: %s", async (view) => {
    expect(await question(asking({ elicitation: {} }), { view })).not.toHaveProperty("_meta");
  });
});
