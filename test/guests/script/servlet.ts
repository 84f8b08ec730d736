import { defineServlet } from "edge-servlets/servlet";
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
