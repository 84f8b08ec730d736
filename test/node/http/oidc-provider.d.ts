/** The little that is used of it; it comes without types. */
declare module "oidc-provider" {
  import type { IncomingMessage, RequestListener } from "node:http";

  /** A Koa context; `oidc` where a route of the provider has answered. */
  export interface Context {
    /** With a body that is already read. */
    req: IncomingMessage & { body?: string };
    method: string;
    path: string;
    query: Record<string, string | string[] | undefined>;
    status: number;
    body?: object;
    response: { get(header: string): string | undefined };
    redirect(to: string): void;
    set(header: string, value: string): void;
    oidc?: {
      params?: Record<string, string | undefined>;
      account?: { accountId: string };
    };
  }

  interface Issued {
    accountId: string;
    scope?: string;
    /** The resource that it is for. */
    aud?: string;
    destroy(): Promise<void>;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    /** True if it believes `X-Forwarded-Proto` and `X-Forwarded-Host`. */
    proxy: boolean;
    AccessToken: { find(token: string): Promise<Issued | undefined> };
    RefreshToken: { find(token: string): Promise<{ destroy(): Promise<void> } | undefined> };
    on(event: string, listener: (context: object, model?: object) => void): void;
    /** Adds a middleware around the provider's own. */
    use(middleware: (context: Context, next: () => Promise<void>) => Promise<void>): void;
    callback(): RequestListener;
  }
}
