import { describe, expect, test } from "vitest";
import { current } from "../profiles.ts";
import { ISSUER } from "./issuer.ts";

/** The rights that callers have later, when something runs for them without a request. */

const keyed = (scopes?: readonly string[]) =>
  current({
    API_KEYS: JSON.stringify({ ada: { hash: "0".repeat(64), ...(scopes && { scopes }) } }),
  });

describe("a caller with a key", () => {
  test("has what its key grants now, of what it had", async () => {
    const now = keyed(["hello:*", "probe:*"]);
    const scopes = ["hello:greet", "chart:*"];
    expect(await now({ name: "ada", scopes })).toEqual({ name: "ada", scopes: ["hello:greet"] });
    expect(await now({ name: "ada" })).toEqual({ name: "ada", scopes: ["hello:*", "probe:*"] });
    expect(await keyed()({ name: "ada", scopes })).toEqual({ name: "ada", scopes });
  });

  test("never operates the server", async () => {
    const scopes = ["*:*", "operator"];
    expect(await keyed()({ name: "ada", scopes })).toEqual({ name: "ada", scopes: ["*:*"] });
  });

  test.each(["bob", "anonymous", "owner", `${ISSUER} ada`])("is %s no more", async (name) => {
    await expect(keyed()({ name })).rejects.toMatchObject({ code: "unauthorized" });
  });

  test("is at a profile while its scopes grant it", async () => {
    const at = { name: "ada", profile: "support" };
    const scopes = ["profile:support"];
    expect(await keyed(scopes)({ ...at, scopes })).toEqual({ ...at, scopes });
    const refused = { code: "insufficient_scope" };
    await expect(keyed(["probe:*"])({ ...at, scopes })).rejects.toMatchObject(refused);
  });
});

test("where anybody may call, nobody but anonymous callers may", async () => {
  const open = current({ AUTH: "none" });
  const anonymous = { name: "anonymous", address: "198.18.0.1" };
  expect(await open(anonymous)).toEqual(anonymous);
  await expect(open({ name: "ada" })).rejects.toMatchObject({ code: "unauthorized" });
});
