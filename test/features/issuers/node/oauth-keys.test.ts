import { createServer, type Server } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { freePort } from "../../../node/workerd.ts";
import { serving } from "../../../node/http/serving.ts";

/** Many requests of one isolate want an issuer's keys at once, in workerd, where none may wait for another's fetch. */
const ISSUER_PORT = await freePort();
const ISSUER = `http://127.0.0.1:${ISSUER_PORT}`;
const issuers = [{ issuer: ISSUER, jwks_uri: `${ISSUER}/keys` }];
const { url } = await serving({
  variables: {
    OAUTH_ISSUERS: JSON.stringify(issuers),
    // As long as the issuer is held back here.
    TEST_LIMITS: JSON.stringify({ issuerMs: 60_000 }),
  },
});

const { privateKey, publicKey } = await generateKeyPair("ES256");
const keySet = JSON.stringify({
  keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }],
});

/** Answers that are held back until the test lets them go. */
const held: (() => void)[] = [];
let isHeld = true;
let fetches = 0;
let issuer: Server;

beforeAll(async () => {
  issuer = createServer((_request, response) => {
    fetches++;
    const answer = () => void response.end(keySet);
    if (isHeld) held.push(answer);
    else answer();
  });
  await new Promise<void>((resolve) => issuer.listen(ISSUER_PORT, "127.0.0.1", resolve));
});
afterAll(() => {
  issuer.closeAllConnections();
  issuer.close();
});

async function call(sub: string, signal?: AbortSignal): Promise<number> {
  const token = await new SignJWT({ sub })
    .setProtectedHeader({ alg: "ES256", kid: "k" })
    .setIssuer(ISSUER)
    .setAudience(url.href)
    .setExpirationTime("5m")
    .sign(privateKey);
  const { status } = await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json",
    },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    ...(signal && { signal }),
  });
  return status;
}

test("all are answered, though the client of the first has left in the middle of its fetch", async () => {
  const asked = (count: number) => vi.waitFor(() => expect(held).toHaveLength(count), 20_000);
  const leaving = new AbortController();
  const first = call("leaver", leaving.signal).catch(() => "left");
  await asked(1);
  const others = Array.from({ length: 20 }, (_, at) => call(`user${at}`));
  await asked(1 + others.length);
  leaving.abort();
  expect(await first).toBe("left");
  isHeld = false;
  for (const answer of held) answer();
  expect(await Promise.all(others)).toEqual(others.map(() => 200));
  const before = fetches;
  expect(await Promise.all(Array.from({ length: 20 }, (_, at) => call(`later${at}`)))).toEqual(
    others.map(() => 200),
  );
  expect(fetches).toBe(before);
});
