// @module-tag skills
import { expect, test } from "vitest";
import { resultIn, SessionClient } from "../../worker/mcp/legacy/session-client.ts";

const GUIDE = "skill://viewing/guide/SKILL.md";
test("in a session of an older revision, the same", async () => {
  const client = await SessionClient.begin({ capabilities: {} });
  const { result } = (await resultIn(await client.request("skills/get", { uri: GUIDE }))) as any;
  expect(result.skill.uri).toBe(GUIDE);
  const read = (await resultIn(await client.request("resources/read", { uri: GUIDE }))) as any;
  expect(read.result.contents[0].text).toContain("# Guide");
});
