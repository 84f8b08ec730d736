/** The stock way with Extism: the plugin as it is, `createPlugin` and `call` behind a bare route. */
import createPlugin from "@extism/extism";
import plugin from "plugin.wasm";

export default {
  async fetch(request: Request): Promise<Response> {
    if (request.method === "GET") return new Response();
    const { id, params } = (await request.json()) as { id: number; params: object };
    const instance = await createPlugin({ wasm: [{ module: plugin }] }, { useWasi: true });
    const input = JSON.stringify({ request: params, context: { id: String(id), _meta: {} } });
    const output = await instance.call("call_tool", input);
    return Response.json({ jsonrpc: "2.0", id, result: output?.json() });
  },
};
