import { afterAll, expect, test } from "vitest";
import { hashPassphrase } from "../../../../src/server/kernel/auth/passphrase.ts";
import { freePort } from "../../../node/workerd.ts";
import { gitHub } from "../../../node/http/github.ts";
import { serving } from "../../../node/http/serving.ts";
import { callerOf, Member } from "./team-flow.ts";

/** Many members at one address, as in an office, and its owner. */

const port = await freePort();
const github = await gitHub(`http://127.0.0.1:${port}/account/callback`);
github.people = ["ada", "bob", "carl", "olga"].map((login, nth) => ({ id: nth + 1, login }));
const server = await serving({
  port,
  kv: ["OAUTH_KV"],
  log: () => undefined,
  variables: {
    GITHUB_SECRET: github.app.clientSecret,
    OWNER_PASSPHRASE: await hashPassphrase("correct horse battery"),
    TEST_LIMITS: JSON.stringify({ signIns: 3 }),
    SIGN_IN: JSON.stringify({
      github: {
        client_id: github.app.clientId,
        client_secret: "GITHUB_SECRET",
        server: github.url,
        allow: "*",
      },
    }),
  },
});
afterAll(() => github.close());
const person = (login: string) => new Member(server.url, "GitHub", login);

test("one who opens page after page uses up their own attempts, and nobody else's", async () => {
  const bob = person("bob");
  expect((await bob.consent()).status).toBe(200);
  const again = async () => (await bob.browser.open(await bob.asked())).status;
  expect([await again(), await again(), await again()]).toEqual([200, 200, 429]);
  expect((await person("ada").signIn())["status"]).toBe(200);
});

test("one whose app is let in, and refreshes again and again, has the provider asked once", async () => {
  const before = github.requests.length;
  const carl = person("carl");
  let { refresh_token } = await carl.signIn();
  for (let nth = 0; nth < 5; nth++) {
    const next = await carl.refresh(refresh_token);
    expect(next["status"]).toBe(200);
    refresh_token = next["refresh_token"];
  }
  const paths = github.requests.slice(before).map(({ path }) => path);
  expect(paths.filter((path) => path === "/api/v3/user")).toHaveLength(1);
});

test("the owner's passphrase is asked for in a browser in which a member has signed in, and after a wrong one", async () => {
  const olga = person("olga");
  await olga.open("/account");
  const page = await olga.browser.open(await olga.asked({ as_owner: "1" }));
  expect(page.text).toContain('id="passphrase"');
  const wrong = { passphrase: "wrong", decision: "allow" };
  const after = await olga.browser.submit(page, wrong);
  expect(after.text).toContain("Wrong passphrase");
  expect(after.text).toContain('id="passphrase"');
  const right = { passphrase: "correct horse battery", decision: "allow" };
  const tokens = await olga.tokens(await olga.browser.submit(after, right));
  expect(await callerOf(server.url, tokens["access_token"])).toMatchObject({ principal: "owner" });
});
