import { loadServlet, type Script } from "edge-servlets/testing";
import { describe, expect, test } from "vitest";

const translate = await loadServlet(import.meta.dirname);

const KEYED = { variables: { DEEPL_API_KEY: "k-1" } };
const ASKED = { text: "Hello", to: "DE" };

const answering = (status: number, body: object = {}): Script => ({
  ...KEYED,
  fetch: () => Response.json(body, { status }),
});

describe("translate", () => {
  test.each([
    ["k-1", "api.deepl.com"],
    ["k-1:fx", "api-free.deepl.com"],
  ])("with the key %s asks %s", async (key, host) => {
    const sent: Request[] = [];
    const { result } = await translate.callTool("translate", ASKED, {
      variables: { DEEPL_API_KEY: key },
      fetch: (request) => {
        sent.push(request);
        const one = { text: "Hallo", detected_source_language: "EN" };
        return Response.json({ translations: [one] });
      },
    });
    expect(result.structuredContent).toEqual({ text: "Hallo", from: "EN" });
    expect(sent[0]!.url).toBe(`https://${host}/v2/translate`);
    expect(sent[0]!.headers.get("authorization")).toBe(`DeepL-Auth-Key ${key}`);
    expect(await sent[0]!.json()).toEqual({ text: ["Hello"], target_lang: "DE" });
  });

  test("takes the key of its caller where the server has none", async () => {
    const sent: Request[] = [];
    await translate.callTool("translate", ASKED, {
      caller: "ada",
      secrets: { DEEPL_API_KEY: "of-ada" },
      fetch: (request) => {
        sent.push(request);
        return Response.json({ translations: [{ text: "Hallo", detected_source_language: "EN" }] });
      },
    });
    expect(sent[0]!.headers.get("authorization")).toBe("DeepL-Auth-Key of-ada");
  });

  test.each([
    [{}, /DEEPL_API_KEY/],
    [answering(400), /language/],
    [answering(403), /key/],
    [answering(456), /quota/],
    [answering(500), /answered 500/],
  ])("%# says what is wrong", async (script, why) => {
    const { result } = await translate.callTool("translate", ASKED, script);
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toMatch(why);
  });

  test.each([{ text: "" }, { to: "German" }, { from: "e" }])("refuses %j", async (args) => {
    const { result } = await translate.callTool("translate", { ...ASKED, ...args }, KEYED);
    expect(result.isError).toBe(true);
  });
});
