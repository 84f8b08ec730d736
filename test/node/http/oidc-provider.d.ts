/** The little that is used of it; it comes without types. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  export default class Provider {
    constructor(issuer: string, configuration: object);
    AccessToken: {
      find(token: string): Promise<{ accountId: string; destroy(): Promise<void> } | undefined>;
    };
    RefreshToken: { find(token: string): Promise<{ destroy(): Promise<void> } | undefined> };
    on(event: string, listener: (context: object, model?: object) => void): void;
    callback(): RequestListener;
  }
}
