import { expect, test } from "vitest";
import { RUNS } from "../../../src/server/kernel/settings/own-names.ts";
import { callOf } from "../../worker/calls/client.ts";
import { steps } from "../../worker/calls/plans.ts";
import { browser } from "../../worker/pages/browser.ts";
import { serverOf } from "../../worker/auth/key-holders.ts";

/** Links of a server with a PUBLIC_URL. */

const PUBLIC_URL = "https://mcp.example.com";
const HOSTED = { PUBLIC_URL, [RUNS]: "self-hosted" };

test(
  "links to pages of questions and secrets lead to PUBLIC_URL, and are answered there",
  { tags: ["carried"] },
  async () => {
    const app = await serverOf({ ada: {} }, HOSTED);
    const headers = { authorization: "Bearer ada" };
    const ask = { do: "ask_secret", name: "deepl", message: "Your key" };
    const { result } = await callOf("plan", steps(ask), { server: app, capabilities: {}, headers });
    const { url } = result!["structuredContent"];
    expect(url).toMatch(/^https:\/\/mcp\.example\.com\/ask\//);
    const person = browser(app, PUBLIC_URL);
    await person.send("/sign-in", { credential: "ada" });
    const led = await person.fetch(url);
    expect(led.response.headers.get("location")).toMatch(/^\/secret\//);
    const asked = await callOf("plan", steps(ask), {
      server: app,
      capabilities: { elicitation: { url: {} } },
      headers,
    });
    expect(JSON.stringify(asked.result)).toContain(`"url":"${PUBLIC_URL}/secret/`);
  },
);
