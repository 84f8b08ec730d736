const META = "io.modelcontextprotocol";
const VERSION = "2026-07-28";

/** Calls a tool by the key of a person, and gives its result. Throws the message of an error. */
export async function called(
  url: URL,
  person: string,
  { name, args, capabilities = {} }: { name: string; args: object; capabilities?: object },
): Promise<any> {
  const _meta = {
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientCapabilities`]: capabilities,
  };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${person}`,
      "mcp-protocol-version": VERSION,
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args, _meta },
    }),
  });
  const { result, error } = (await response.json()) as any;
  if (result === undefined) throw new Error(error.message);
  return result;
}
