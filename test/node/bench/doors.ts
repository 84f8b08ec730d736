import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { serve, stop, type Served } from "../workerd.ts";
import { drive, type Load } from "./load.ts";

/** More than a server remembers, so that each is new when its turn comes again. */
const NEW_TOKENS = 4000;

/** Server settings for callers with an API key or a JWT of this issuer, and such a key and tokens. */
export async function doors() {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "bench" }] });
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json").end(jwks);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signed = async (jti: string) => {
    const token = await new SignJWT({ sub: "bench", jti })
      .setProtectedHeader({ alg: "ES256", kid: "bench" })
      .setIssuer(issuer)
      .setAudience("bench")
      .setExpirationTime("1h")
      .sign(privateKey);
    return { authorization: `Bearer ${token}` };
  };
  const key = "esk_bench";
  const hash = createHash("sha256").update(key).digest("hex");
  const issuers = [{ issuer, audience: "bench", jwks_uri: `${issuer}/jwks` }];
  return {
    jwks,
    variables: {
      API_KEYS: JSON.stringify({ bench: hash }),
      OAUTH_ISSUERS: JSON.stringify(issuers),
    },
    key: { authorization: `Bearer ${key}` },
    token: await signed("0"),
    newTokens: await Promise.all(Array.from({ length: NEW_TOKENS }, (_, at) => signed(`${at}`))),
  };
}

/** Extra cost of a call with an unseen token over one with a known token, in signature checks. */
export async function measureNewTokens(
  locked: Served,
  call: Omit<Load, "port">,
  { jwks, newTokens, folder, port, ms }: NewTokens,
): Promise<{ newJwtChecks: number }> {
  const verifier = await serve(folder, { port, variables: { JWKS: jwks } });
  const known = { ...call, port: locked.port };
  const bare = { ...call, port, headers: {} };
  const turns = newTokens.map((headers) => ({ headers }));
  const loads = [known, { ...known, turns }, bare, { ...bare, turns }];
  const costs = loads.map(() => 0);
  for (let round = 0; round < 3; round++) {
    for (const [at, load] of loads.entries()) {
      const { perSecond } = await drive(
        load,
        (_count, elapsed) => elapsed > ms,
        (body) => body.includes("200 OK"),
      );
      if (round > 0) costs[at]! += 1 / perSecond; // The first warms up.
    }
  }
  await stop(verifier);
  const [ofKnown = 0, ofNew = 0, ofNone = 0, ofCheck = 1] = costs;
  return { newJwtChecks: (ofNew - ofKnown) / (ofCheck - ofNone) };
}

interface NewTokens {
  jwks: string;
  newTokens: Record<string, string>[];
  /** Of the built Worker that verifies and does no more, and where it is to be served. */
  folder: string;
  port: number;
  ms: number;
}
