import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** What a server is configured with whose callers have an API key, or a JWT of this issuer; and both. */
export async function doors() {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "bench" }] });
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json").end(jwks);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const token = await new SignJWT({ sub: "bench" })
    .setProtectedHeader({ alg: "ES256", kid: "bench" })
    .setIssuer(issuer)
    .setAudience("bench")
    .setExpirationTime("1h")
    .sign(privateKey);
  const key = "esk_bench";
  const hash = createHash("sha256").update(key).digest("hex");
  const issuers = [{ issuer, audience: "bench", jwks_uri: `${issuer}/jwks` }];
  return {
    variables: {
      API_KEYS: JSON.stringify({ bench: hash }),
      OAUTH_ISSUERS: JSON.stringify(issuers),
    },
    key: { authorization: `Bearer ${key}` },
    token: { authorization: `Bearer ${token}` },
  };
}
