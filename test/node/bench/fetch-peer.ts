/** The measure of fetches: a plain Worker with the same fetches. */
export default {
  async fetch(request: Request, { SMALL_URL }: { SMALL_URL: string }): Promise<Response> {
    if (request.method === "GET") return new Response();
    const { id, params } = (await request.json()) as {
      id: number;
      params: { arguments: { times: number } };
    };
    let bytes = 0;
    for (let nth = 0; nth < params.arguments.times; nth++)
      bytes += (await (await fetch(SMALL_URL)).arrayBuffer()).byteLength;
    const result = {
      resultType: "complete",
      content: [{ type: "text", text: `${bytes} bytes` }],
    };
    return Response.json({ jsonrpc: "2.0", id, result });
  },
};
