import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sendScript } from "../../../../src/server/features/transfers/upload-page.ts";

/** The script by which pages send a file, where every connection is lost. */
const { sendInParts } = (await import(
  `data:text/javascript,${encodeURIComponent(sendScript)}`
)) as { sendInParts(file: File, how: object): Promise<void> };

class LostRequest {
  upload = {};
  onerror?: () => void;
  open() {}
  setRequestHeader() {}
  abort() {}
  send() {
    queueMicrotask(() => this.onerror!());
  }
}

beforeEach(() => {
  vi.stubGlobal("XMLHttpRequest", LostRequest);
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Sends a file, and returns when its connection is lost. */
async function sendUntilLost() {
  const stop = new AbortController();
  const lost = Promise.withResolvers<void>();
  const show = (share?: number) => share === undefined && lost.resolve();
  const how = { url: "/files/in/token", show, signal: stop.signal };
  const sent = sendInParts(new File(["abc"], "a.txt"), how);
  await lost.promise;
  return { stop, sent };
}

test("a file that is cancelled before the next attempt ends without it", async () => {
  const { stop, sent } = await sendUntilLost();
  stop.abort();
  await expect(sent).rejects.toThrow("aborted");
  expect(vi.getTimerCount()).toBe(0);
});

test("a file that is cancelled while the page asks how much has arrived ends without the answer", async () => {
  const asked = Promise.withResolvers<void>();
  vi.stubGlobal("fetch", (_url: string, { signal }: RequestInit) => {
    asked.resolve();
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => reject(signal.reason as Error));
    return promise;
  });
  const { stop, sent } = await sendUntilLost();
  await vi.runAllTimersAsync();
  await asked.promise;
  stop.abort();
  await expect(sent).rejects.toThrow("aborted");
});
