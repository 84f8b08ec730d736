/** Tools about global state, random values and aborted work. */
import { defineServlet } from "edge-servlets/servlet";

const built = { randoms: [Math.random()], time: Date.now() };

const nameOf = (error: unknown) => (error instanceof Error ? error.name : String(error));

export default defineServlet({
  tools: {
    timers: {
      description: "Timers run in the order of their time, then of their making",
      async handler() {
        const order: unknown[] = [];
        const at = Date.now();
        const note = (what: string) => order.push(`${what} ${Date.now() - at}`);
        setTimeout(note, 20, "c");
        setTimeout(note, 10, "a");
        setTimeout(() => {
          note("b");
          setTimeout(note, 0, "at once");
        }, 10);
        clearTimeout(setTimeout(note, 5, "never"));
        clearTimeout(undefined);
        let ticks = 0;
        await new Promise<void>((resolve) => {
          const interval = setInterval(() => {
            note("tick");
            if (++ticks < 3) return;
            clearInterval(interval);
            resolve();
          }, 15);
        });
        return { order };
      },
    },
    left_over: {
      handler() {
        setTimeout(() => console.log("too late"), 1000);
        return "done";
      },
    },
    failing_timer: {
      async handler(_args, { sleep }) {
        setTimeout(() => {
          throw new Error("in a timer");
        }, 1);
        await sleep(5);
        return "fine";
      },
    },
    microtasks: {
      async handler() {
        const order: string[] = [];
        setTimeout(() => order.push("timer"));
        queueMicrotask(() => order.push("microtask"));
        void Promise.resolve().then(() => order.push("promise"));
        order.push("now");
        await new Promise<void>((resolve) => setTimeout(resolve));
        return order.join();
      },
    },
    clock: {
      async handler(_args, { sleep }) {
        const { timeOrigin } = performance;
        const before = [Date.now(), performance.now(), new Date().toISOString()];
        await sleep(250);
        return { built: built.time, timeOrigin, before, after: [Date.now(), performance.now()] };
      },
    },
    late: {
      async handler() {
        const late = Promise.reject(new Error("handled late"));
        await null;
        await null;
        late.catch(() => {});
        return "fine";
      },
    },
    random: {
      handler() {
        const all = Array.from({ length: 1000 }, () => Math.random());
        return {
          first: all[0],
          distinct: new Set(all).size,
          within: all.every((one) => one >= 0 && one < 1),
          halves: all.filter((one) => one < 0.5).length,
          built: built.randoms,
        };
      },
    },
    crypto: {
      handler() {
        const whole = new Uint8Array(64);
        const part = crypto.getRandomValues(whole.subarray(16, 48));
        let quota = "";
        try {
          crypto.getRandomValues(new Uint8Array(65_537));
        } catch (error) {
          quota = nameOf(error);
        }
        return {
          untouched: [...whole.subarray(0, 16), ...whole.subarray(48)].every((byte) => byte === 0),
          filled: part.some((byte) => byte !== 0),
          largest: crypto.getRandomValues(new Uint16Array(32_768)).length,
          quota,
          uuids: [crypto.randomUUID(), crypto.randomUUID()],
        };
      },
    },
    abort: {
      handler() {
        const order: string[] = [];
        const controller = new AbortController();
        const { signal } = controller;
        const any = AbortSignal.any([new AbortController().signal, signal]);
        const removed = () => order.push("removed");
        signal.onabort = () => order.push("onabort");
        signal.addEventListener("abort", ({ type }) => order.push(`listener ${type}`));
        signal.addEventListener("abort", { handleEvent: () => order.push("object") });
        signal.addEventListener("abort", removed);
        signal.removeEventListener("abort", removed);
        signal.throwIfAborted();
        const before = signal.aborted;
        controller.abort();
        controller.abort("again");
        return {
          order,
          before,
          after: [signal.aborted, nameOf(signal.reason)],
          any: [any.aborted, any.reason === signal.reason],
          already: AbortSignal.any([AbortSignal.abort("why")]).reason,
        };
      },
    },
    abort_in_time: {
      async handler() {
        const at = Date.now();
        const signal = AbortSignal.timeout(50);
        await new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve());
        });
        try {
          signal.throwIfAborted();
        } catch (error) {
          return `${nameOf(error)} after ${Date.now() - at}`;
        }
        return "not aborted";
      },
    },
    response: {
      async handler() {
        const json = Response.json({ a: 1 }, { status: 201 });
        const form = new Response(new URLSearchParams({ a: "1 2" }));
        return {
          json: [json.status, json.headers.get("content-type"), await json.text()],
          form: [form.headers.get("content-type"), await form.text(), form.url],
          empty: await new Response().text(),
        };
      },
    },
  },
});

built.randoms.push(Math.random());
