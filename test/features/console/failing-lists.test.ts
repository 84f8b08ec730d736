import { describe, expect, test, vi } from "vitest";
import { createApp } from "../../../src/server/kernel/app.ts";
import { Kernel } from "../../../src/server/kernel/kernel.ts";
import { bundle } from "../../bundle.gen.ts";
import { settings } from "../../worker/settings.ts";

describe("a list that fails at run time", () => {
  const dry = () =>
    createApp(new Kernel(bundle, Object.assign({ ...settings }, { SEASON: "drought" })));

  test("is missed on the page, beside what is there", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const page = await (await dry().request("http://localhost/")).text();
    expect(page).toMatch(/It has no list of resources, as it fails: .*its folder is missing/);
    expect(page).toContain("pick_drought");
  });
});
