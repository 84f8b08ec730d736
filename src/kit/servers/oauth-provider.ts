/** `@cloudflare/workers-oauth-provider`: the server handles sign-in; the handler that the provider wraps is the servlet. */
import { offerAgentsIn } from "./agents.ts";

interface Options {
  apiHandler?: unknown;
  apiHandlers?: Record<string, unknown>;
}

export class OAuthProvider {
  constructor({ apiHandler, apiHandlers = {} }: Options = {}) {
    console.warn("Sign-in is the server's, in front of its servlets: OAuthProvider is left out.");
    for (const one of [apiHandler, ...Object.values(apiHandlers)]) offerAgentsIn(one);
  }
  async fetch(): Promise<Response> {
    return new Response();
  }
}
export default OAuthProvider;
