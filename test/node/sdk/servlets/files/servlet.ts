import * as fs from "edge-servlets/files";
import { defineServlet } from "edge-servlets/servlet";

type Step = [name: string, ...args: never[]];

/** Bytes as JSON has them. */
const plain = (value: unknown): unknown =>
  value instanceof Uint8Array ? { bytes: [...value] } : value;

function step([name, ...args]: Step): unknown {
  try {
    const call = fs[name as "readFile"] as (...given: unknown[]) => unknown;
    const value = call(...args);
    if (name !== "stat") return plain(value) ?? "done";
    const { size, mtime, isFile, isDirectory } = value as fs.Stats;
    return { size, mtime: mtime.toISOString(), isFile: isFile(), isDirectory: isDirectory() };
  } catch (error) {
    if (!(error instanceof fs.FileError)) throw error;
    return error.message;
  }
}

let calls = 0;

export default defineServlet({
  tools: {
    steps: {
      description: "Calls functions of the kit, and gives what each has returned or thrown.",
      handler: ({ steps }) => {
        calls++;
        return { calls, results: (steps as Step[]).map(step) };
      },
    },
    bytes: {
      description: "Writes bytes and buffers, and reads parts of a large file.",
      handler: () => {
        fs.writeFile("/data/b", new Uint8Array([0, 255, 254, 7]).subarray(1, 3));
        fs.appendFile("/data/b", new Uint8Array([1]).buffer);
        const large = "é".repeat(50_000);
        fs.writeFile("/data/large", large);
        let code: string | undefined;
        try {
          fs.readFile("/data/large");
        } catch (error) {
          code = (error as fs.FileError).code;
        }
        const part = fs.readFile("/data/large", "utf8", { position: 99_996, length: 10 });
        return {
          bytes: [...fs.readFile("/data/b")],
          size: fs.stat("/data/large").size,
          code,
          part,
        };
      },
    },
    endless: {
      description: "Writes until it is stopped.",
      handler: () => {
        fs.writeFile("/data/kept", "changed");
        for (let at = 0; ; at++) fs.writeFile(`/data/f${at % 50}`, "x".repeat(1000));
      },
    },
  },
});
