import { afterAll, expect, test } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { openIdProvider } from "../../../node/http/openid.ts";
import { serving } from "../../../node/http/serving.ts";
import { bodyOf, closed, listening } from "../../../node/http/stand-in.ts";
import { Member, wayTo } from "./team-flow.ts";

/**
 * A provider that has people sign in at another one, to get the code of that: the mix-up attack.
 * https://www.rfc-editor.org/rfc/rfc9700#section-4.4
 */

const [port, evilPort] = [await freePort(), await freePort()];
const callback = `http://127.0.0.1:${port}/account/callback`;
// Its answers do not name it.
const okta = await openIdProvider("okta", `${callback}/okta`);
const EVIL = `http://127.0.0.1:${evilPort}`;
/** The request to the honest provider that the evil one repeats, and the codes that it is given. */
let request: URL;
const codes: (string | null)[] = [];
const evil = await listening((incoming, response) => {
  const { pathname, searchParams } = new URL(incoming.url!, EVIL);
  const answer = (status: number, body: object) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  if (pathname === "/authorize") {
    const location = new URL(request);
    location.searchParams.set("state", searchParams.get("state")!);
    return void response.writeHead(302, { location: location.href }).end();
  }
  if (pathname !== "/token")
    return void answer(200, {
      issuer: EVIL,
      authorization_endpoint: `${EVIL}/authorize`,
      token_endpoint: `${EVIL}/token`,
      response_types_supported: ["code"],
    });
  void bodyOf(incoming).then((body) => {
    codes.push(new URLSearchParams(body).get("code"));
    return answer(400, { error: "invalid_grant" });
  });
}, evilPort);

const server = await serving({
  port,
  kv: ["OAUTH_KV"],
  log: () => undefined,
  variables: {
    OKTA_SECRET: okta.client.clientSecret,
    SIGN_IN: JSON.stringify({
      okta: {
        client_id: okta.client.clientId,
        client_secret: "OKTA_SECRET",
        auth: "post",
        issuer: okta.issuer,
        allow: "*",
      },
      partner: { client_id: "c", issuer: EVIL, allow: { users: ["one of theirs"] } },
    }),
  },
});
afterAll(async () => {
  await Promise.all([okta.close(), closed(evil)]);
});

test("is given no code of another provider, by which somebody could sign in as its people", async () => {
  okta.accounts.set("victim", { sub: "v1", name: "Victim" });
  const { browser } = new Member(server.url, "Okta", "mallory");
  const page = await browser.open(new URL("/account", server.url).href);
  await browser.open(wayTo(page, "Okta"));
  request = browser.visited.find(({ pathname }) => pathname === "/oauth2/v1/authorize")!;
  const victim = await new Member(server.url, "partner", "victim").open("/account");
  expect(victim.url.searchParams.get("code")).toMatch(/./);
  expect(victim.text).not.toContain("Victim");
  expect(codes).toEqual([]);
});
