/** The least that a server of MCP can do: reads a call as JSON and answers it. */
export default {
  async fetch(request: Request): Promise<Response> {
    if (request.method === "GET") return new Response();
    const { id, params } = (await request.json()) as {
      id: number;
      params: { arguments: { name: string } };
    };
    const text = `Hello, ${params.arguments.name}!`;
    const result = { resultType: "complete", content: [{ type: "text", text }] };
    return Response.json({ jsonrpc: "2.0", id, result });
  },
};
