/** The same as Cloudflare's development server hands requests on: with what it knows of where they come from. */
import { env } from "cloudflare:workers";
import { createApp } from "../../src/app.ts";
import { bundle } from "../bundle.gen.ts";

export * from "./index.ts";
const app = createApp(bundle, env);

export default {
  fetch(request: Request): Promise<Response> | Response {
    const headers = new Headers(request.headers);
    headers.set("cf-connecting-ip", "127.0.0.1");
    return app.fetch(new Request(request, { headers, cf: {} } as RequestInit));
  },
};
