/** Measures one signature check: verifies the token of each request that has one, and does nothing else. */
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";

let keys: JWTVerifyGetKey | undefined;

export default {
  async fetch(request: Request, env: { JWKS: string }): Promise<Response> {
    keys ??= createLocalJWKSet(JSON.parse(env.JWKS) as JSONWebKeySet);
    const token = request.headers.get("authorization")?.split(" ")[1];
    if (token !== undefined) await jwtVerify(token, keys, { audience: "bench" });
    return new Response("ok");
  },
};
