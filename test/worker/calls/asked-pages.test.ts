import { describe, expect, test } from "vitest";
import { HOSTILE, PAGE } from "./hostile-pages.ts";
import { callOf, prepare, textIn } from "./client.ts";
import { steps } from "./plans.ts";

/** Pages that servlets ask users to open: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation */
prepare();

describe("is not asked for", () => {
  test.each(HOSTILE)("%s", async (_what, changes, said) => {
    const params = { ...PAGE, ...changes };
    const [member, why] = said.split(/: (.*)/s) as [string, string];
    const asked = `the ${member} of ask_1 cannot be used: ${why}.`;
    const arguments_ = { through: "elicit", text: JSON.stringify(params) };
    const headers = { "mcp-param-through": "elicit" };
    const modern = await callOf("told", arguments_, { headers });
    expect(modern.result).toMatchObject({ resultType: "complete", isError: true });
    expect(textIn(modern)).toBe(`The servlet asked for input, but ${asked}`);
  });

  test.each(HOSTILE)("%s, by a servlet that returns what it asks", async (_what, changes, said) => {
    const params = { ...PAGE, ...changes };
    const inputRequests = { a: { method: "elicitation/create", params } };
    const text = JSON.stringify({ resultType: "input_required", inputRequests });
    const [member, why] = said.split(/: (.*)/s) as [string, string];
    const message = `The servlet needs input, but the ${member} of a cannot be used: ${why}.`;
    const headers = { "mcp-param-through": "" };
    const { error } = await callOf("told", { through: "", text }, { headers });
    expect(error).toMatchObject({ code: -32603, message });
  });

  test.each([["account"], ["secret"]])(
    "what only the server asks is not returned: %s",
    async (mode) => {
      const params = { mode, name: "mail", message: "", ms: 1e9 };
      const inputRequests = { a: { method: "elicitation/create", params } };
      const text = JSON.stringify({ resultType: "input_required", inputRequests });
      const { error } = await callOf(
        "told",
        { through: "", text },
        { headers: { "mcp-param-through": "" } },
      );
      expect(error?.message).toContain("the mode of a cannot be used: it is unknown");
    },
  );

  test.each([["javascript:alert(1)"], ["http://10.0.0.1/"], ["https://a:b@pay.example/"]])(
    "%s, by a servlet of the kit",
    async (url) => {
      const { result } = await callOf("plan", steps({ do: "elicit_url", url }));
      expect(result).toMatchObject({ isError: true });
      expect(JSON.stringify(result)).toContain("the url of ask_1 cannot be used");
    },
  );
});
