import { describe, expect, test } from "vitest";
import { greet, serverOf } from "../../worker/auth/key-holders.ts";
import { ORIGIN, ownersApp } from "../../worker/auth/owner.ts";
import { as, prepare } from "../../worker/calls/client.ts";
import { modern, postTo } from "../../worker/server.ts";

/** An accepted deviation weakens no security check. */
prepare();

const MCP = "http://localhost:8787/mcp";
const server = () => serverOf({ ada: {}, bob: { scopes: ["reader"] } });

describe("/mcp/ is /mcp, and", () => {
  const send = async (caller: string | undefined, more: Record<string, string> = {}) => {
    const { body, headers } = modern("tools/call", greet);
    const key = caller === undefined ? {} : as(caller).headers;
    return postTo(await server(), `${MCP}/`, body, { ...headers, ...key, ...more });
  };

  test("nobody without one, and the refusal names the resource as the client does", async () => {
    expect((await send(undefined)).status).toBe(401);
    const response = await postTo(await ownersApp(), `${ORIGIN}/mcp/`, {});
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain(
      `resource_metadata="${ORIGIN}/.well-known/oauth-protected-resource/mcp/"`,
    );
  });
});
