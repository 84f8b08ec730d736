/** The result of the AssemblyScript compiler. If `wasm` is undefined, `diagnostics` says why. */
interface Compiled {
  wasm: Uint8Array | undefined;
  diagnostics: string;
}

/** Runs the AssemblyScript compiler. `readFile` gives the text of a source, or null. */
export async function compileAssemblyScript(
  args: string[],
  readFile: (name: string, baseDir: string) => string | null | Promise<string | null>,
): Promise<Compiled> {
  const { default: asc } = await import("assemblyscript/asc");
  let wasm: Uint8Array | undefined;
  let diagnostics = "";
  const { error } = await asc.main(args, {
    readFile,
    writeFile: (_name, contents) => {
      if (typeof contents !== "string") wasm = contents;
    },
    listFiles: () => null,
    stderr: {
      write: (chunk: string | Uint8Array) => {
        diagnostics += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
      },
    },
  });
  return { wasm: error === null ? wasm : undefined, diagnostics: diagnostics.trim() };
}
