import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { replaceGlobals } from "./globals.ts";
import { Scheduler } from "./scheduler.ts";

test("a signal of a request that nobody holds aborts, although memory was collected", async () => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const restore = replaceGlobals(new Scheduler(1), () => Promise.reject(new Error("not sent")));
  try {
    const left = new AbortController();
    let aborted = 0;
    const listen = (request: Request) =>
      request.signal.addEventListener("abort", () => aborted++, { once: true });
    const begin = () => {
      const request = new Request("https://world.example", { signal: left.signal });
      for (const one of [request, new Request(request)]) listen(one);
    };
    begin();
    // Within one job nothing that was held weakly is collected.
    await new Promise((resolve) => setImmediate(resolve));
    gc();
    left.abort();
    expect(aborted).toBe(2);
  } finally {
    restore();
  }
});
