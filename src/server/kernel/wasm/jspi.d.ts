/** JSPI, which the types of V8's hosts lack: https://github.com/WebAssembly/js-promise-integration */
declare namespace WebAssembly {
  /** An export whose suspending imports suspend it; it then gives a promise. */
  function promising<R>(exported: () => R): () => Promise<R>;
  /** An import on whose promise the guest is suspended; where it gives something else, the guest goes on at once. */
  const Suspending: new (imported: (...args: unknown[]) => unknown) => () => unknown;
  /** https://webassembly.github.io/exception-handling/js-api */
  class Exception {}
}
