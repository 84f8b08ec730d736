declare module "node:async_hooks" {
  /** As far as the tests use it: https://developers.cloudflare.com/workers/runtime-apis/nodejs/asynclocalstorage/ */
  export class AsyncLocalStorage<T> {
    run<R>(store: T, callback: () => R): R;
    getStore(): T | undefined;
  }
}
