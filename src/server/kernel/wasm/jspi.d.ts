/** JSPI, which the types lack: https://github.com/WebAssembly/js-promise-integration */
declare namespace WebAssembly {
  /** Wraps an export that suspending imports may suspend: it returns a promise. */
  function promising<R>(exported: () => R): () => Promise<R>;
  /** Wraps an import whose promise suspends the guest; with any other value, the guest continues at once. */
  const Suspending: new (imported: (...args: unknown[]) => unknown) => () => unknown;
  /** https://webassembly.github.io/exception-handling/js-api */
  class Exception {}
}
