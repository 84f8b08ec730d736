import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, test, vi } from "vitest";
import { limits } from "../../../../src/server/features/sessions/limits.ts";
import { serving } from "../../../node/http/serving.ts";

/** The official client listens, against workerd itself. */
const { url } = await serving();

/** A connected client, and what it hears. */
async function connected() {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  const heard: string[] = [];
  for (const list of ["tools", "prompts"] as const) {
    const method = `notifications/${list}/list_changed` as const;
    client.setNotificationHandler(method, () => void heard.push(method));
  }
  await client.connect(new StreamableHTTPClientTransport(url));
  return { client, heard };
}

const callTool = (client: Client, name: string) => client.callTool({ name, arguments: {} });

describe("the official client", () => {
  test("hears what it asked for, of another client's calls", async () => {
    const [one, other] = [await connected(), await connected()];
    // Streams that others have closed may take their places for a moment.
    const subscription = await vi.waitFor(
      () => one.client.listen({ toolsListChanged: true }),
      30_000,
    );
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true });
    await callTool(other.client, "test_trigger_prompt_change");
    await callTool(other.client, "test_trigger_tool_change");
    await expect.poll(() => one.heard).toEqual(["notifications/tools/list_changed"]);
    expect(other.heard).toEqual([]);
    await subscription.close();
    expect(await subscription.closed).toBe("local");
    await Promise.all([one.client.close(), other.client.close()]);
  });

  test("makes room by closing its streams", async () => {
    const { client } = await connected();
    const wanted = { promptsListChanged: true };
    const tries = Array.from({ length: limits.listenStreams + 1 }, () => client.listen(wanted));
    const tried = await Promise.allSettled(tries);
    const refused = tried.find((one) => one.status === "rejected");
    expect(String(refused?.reason)).toContain("Too many open subscription streams");
    const open = tried.filter((one) => one.status === "fulfilled");
    await Promise.all(open.map(({ value }) => value.close()));
    const again = () => client.listen(wanted).then(({ close }) => close());
    await expect.poll(() => again().then(() => true, String), { timeout: 10_000 }).toBe(true);
    await client.close();
  });
});
