import { describe, expect, test } from "vitest";
import { prepare, send } from "../../worker/calls/client.ts";
import { at, profiled } from "../../worker/profiles.ts";

prepare();

describe("skills of a profile", () => {
  const uris = async (skills: readonly string[] | undefined, servlets = ["viewing", "server"]) => {
    const a = at("a", profiled({}, { a: { servlets, ...(skills && { skills }) } }));
    const { result } = await send("skills/list", {}, { server: a });
    return (result!["skills"] as { uri: string }[]).map(({ uri }) => uri);
  };
  const [GUIDE, DEEPER] = [
    "skill://viewing/guide/SKILL.md",
    "skill://viewing/guide/deeper/SKILL.md",
  ];

  test("are those of its servlets, or those that it names", async () => {
    expect(await uris(undefined)).toEqual([GUIDE, DEEPER]);
    expect(await uris(["viewing:guide"])).toEqual([GUIDE, DEEPER]);
    expect(await uris(["viewing:guide/deeper"])).toEqual([DEEPER]);
    expect(await uris(["viewing:other", "other:guide"])).toEqual([]);
    expect(await uris([])).toEqual([]);
    expect(await uris(undefined, ["hello"])).toEqual([]);
  });

  test("that it lacks are not read either", async () => {
    const a = { server: at("a", profiled({}, { a: { servlets: ["viewing"], skills: [] } })) };
    const { error } = await send("resources/read", { uri: GUIDE }, a);
    expect(error).toMatchObject({ message: expect.stringMatching(/not found/i) });
    const views = await send("resources/list", {}, a);
    expect(JSON.stringify(views.result)).not.toContain("skill://");
  });
});
