import { defineServlet } from "edge-servlets/servlet";

/** What the interpreter gives the kit: members of `Context` that features add call their host functions by it. */
declare const __host: { call(name: string, payload: string): string };

export default defineServlet({
  tools: {
    greet_ts: {
      description: "Greets",
      input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      handler: ({ name }) => `Hello, ${name}!`,
    },
    later: {
      description: "later",
      async handler(_args, context) {
        await context.sleep(10);
        await new Promise((resolve) => setTimeout(resolve, 20));
        return {
          random: Math.random(),
          id: crypto.randomUUID(),
          url: new URL("/a?b=1", "https://x.example").href,
        };
      },
    },
    broken: {
      description: "throws",
      handler() {
        throw new Error("oh no");
      },
    },
    host: {
      description: "Calls a host function of a feature, so many times, and asks if told to",
      input: {
        type: "object",
        properties: {
          function: { type: "string" },
          text: { type: "string" },
          asked: {},
          times: { type: "integer" },
          isAsking: { type: "boolean" },
        },
        required: ["function"],
      },
      async handler({ function: name, text, asked, times = 1, isAsking = false }, context) {
        const payload = text ?? JSON.stringify(asked ?? null);
        let answer = "";
        for (let time = 0; time < times; time++) answer = __host.call(name, payload);
        if (isAsking) await context.roots();
        return answer;
      },
    },
    stuck: {
      description: "stuck",
      async handler() {
        await new Promise(() => {});
        return "x";
      },
    },
  },
  async rootsChanged(context) {
    context.log("notice", JSON.stringify(await context.roots()));
  },
});
