import { loadServlet, type Script } from "edge-servlets/testing";
import { describe, expect, test } from "vitest";

const mail = await loadServlet(import.meta.dirname);

const variables = { GOOGLE_TOKEN: "t-1" };

const MESSAGE = {
  id: "m1",
  snippet: "It&#39;s &lt;here&gt;",
  payload: {
    headers: [
      { name: "From", value: "ada@example.com" },
      { name: "Subject", value: "Engine" },
      { name: "Date", value: "Fri, 1 Jan 2027 00:00:00 +0000" },
    ],
  },
};

/** Calls the tool; gives its result and what it has sent. */
async function found(args: object, script: Script = {}) {
  const sent: string[] = [];
  const { result } = await mail.callTool(
    "find_emails",
    { ...args },
    {
      variables,
      fetch: ({ url, headers }) => {
        expect(headers.get("authorization")).toBe("Bearer t-1");
        sent.push(url);
        return Response.json(url.includes("/m1?") ? MESSAGE : { messages: [{ id: "m1" }] });
      },
      ...script,
    },
  );
  return { result, sent };
}

describe("find_emails", () => {
  test("lists what it finds", async () => {
    const { result, sent } = await found({ query: "is:unread from:ada", limit: 3 });
    expect(result.structuredContent).toEqual({
      emails: [
        {
          id: "m1",
          from: "ada@example.com",
          subject: "Engine",
          date: "Fri, 1 Jan 2027 00:00:00 +0000",
          snippet: "It's <here>",
        },
      ],
    });
    const base = "https://gmail.googleapis.com/gmail/v1/users/me/messages";
    expect(sent).toEqual([
      `${base}?q=is%3Aunread+from%3Aada&maxResults=3`,
      `${base}/m1?format=metadata&metadataHeaders=From&metadataHeaders=Subject&metadataHeaders=Date`,
    ]);
  });

  test("uses the account that its caller has connected, where the deployment has no token", async () => {
    const { sent } = await found({}, { variables: {}, accounts: { google: "t-1" }, caller: "ada" });
    expect(sent).toHaveLength(2);
  });

  test("finds nothing where there is nothing", async () => {
    const { result } = await found({}, { fetch: () => Response.json({ resultSizeEstimate: 0 }) });
    expect(result.structuredContent).toEqual({ emails: [] });
  });

  test("looks at the mail of whom the deployment names, and stays in its path", async () => {
    const named = { variables: { ...variables, GOOGLE_USER: "../a@b.example" } };
    const { sent } = await found({}, named);
    expect(sent[0]).toContain("/users/..%2Fa%40b.example/messages?");
  });

  test.each<[Script, RegExp]>([
    [{ variables: {} }, /server knows no provider google/],
    [{ variables: {}, accounts: { google: "t-1" } }, /does not know who is calling/],
    [{ fetch: () => new Response("", { status: 401 }) }, /expired/],
    [{ fetch: () => new Response("", { status: 500 }) }, /status 500/],
  ])("%# says what is wrong", async (script, why) => {
    const { result } = await found({}, script);
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toMatch(why);
  });
});
