import { describe, expect, test } from "vitest";
import { failedSignInBody } from "../../../src/server/features/people/errors.ts";

/** The page for somebody who has come back from a provider, and is not let in. */

const way = {
  isKnown: true,
  again: "/account/sign-in?provider=0",
  other: "/account/sign-in?provider=0&other=1",
};
const page = async (message: string, more = {}, status = 403) =>
  String(await failedSignInBody({ status, message }, { ...way, ...more }));

/** The labels and targets of links, in order. */
const linksIn = (html: string) =>
  [...html.matchAll(/<a[^>]*href="([^"]*)"[^>]*>([^<]*)</g)].map(([, href, label]) => [
    label,
    href!.replaceAll("&amp;", "&"),
  ]);

describe("a message", () => {
  test("has links to https addresses only, without what follows them", async () => {
    const html = await page(
      "Open https://github.com/orgs/a/sso?x=1&y=%2F, or http://evil.example, javascript:alert(1) or https://b.example/.",
    );
    expect(linksIn(html).slice(0, -3)).toEqual([
      ["github.com/orgs/a/sso", "https://github.com/orgs/a/sso?x=1&y=%2F"],
      ["b.example/", "https://b.example/"],
    ]);
  });

  test("is no markup, whatever is in it", async () => {
    const html = await page(`<b>https://a.example/"><script>x</script>`);
    expect(html).not.toMatch(/<b>|<script>|href="https:[^"]*[<>]/);
  });

  test("keeps a link whole, however long the message is", async () => {
    const long = `https://github.com/orgs/a/sso?authorization_request=${"A".repeat(300)}`;
    expect(linksIn(await page(`Open ${long}, and ${long}.`)).map(([, href]) => href)).toContain(
      long,
    );
  });

  test("of an internal error stays in the log", async () => {
    expect(await page("the secret", {}, 500)).not.toContain("the secret");
  });
});

describe("the ways on", () => {
  const labels = async (more: object, status?: number) =>
    linksIn(await page("No.", more, status)).map(([label]) => label);

  test("begin with another account for one that is refused, otherwise with the same again", async () => {
    const others = ["Try again", "Sign in another way"];
    expect(await labels({})).toEqual(["Sign in with another account", ...others]);
    expect(await labels({ isKnown: false })).toEqual(others);
    expect(await labels({}, 503)).toEqual(others);
  });

  test("lead back to the page that was wanted, and to that of an app's request at once", async () => {
    const other = async (back?: string) => linksIn(await page("No.", back ? { back } : {}))[2]![1];
    expect(await other("/console/live?x=1")).toBe("/sign-in?back=%2Fconsole%2Flive%3Fx%3D1");
    expect(await other("/authorize?client_id=a")).toBe("/authorize?client_id=a");
    expect(await other()).toBe("/sign-in?back=%2F");
  });
});
