/** `cloudflare:workers`, as far as the code under test needs it. */
export class DurableObject {
  protected readonly ctx: object;
  protected readonly env: object;

  constructor(ctx: object, env: object) {
    this.ctx = ctx;
    this.env = env;
  }
}

export function waitUntil(promise: Promise<unknown>): void {
  promise.catch(() => {});
}

/** Imported by a library for what is not used here. */
export class WorkerEntrypoint {}

/** Settings of wrangler.toml, where that library looks for them. */
Object.assign(globalThis, {
  Cloudflare: { compatibilityFlags: { global_fetch_strictly_public: true } },
});

/** Functions for another object; here they are called as they are. */
export class RpcTarget {}
