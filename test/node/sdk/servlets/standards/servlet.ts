/** Runs the probes. */
import { defineServlet } from "edge-servlets/servlet";
import { probes } from "./probes.ts";

const byName: Record<string, (...args: never[]) => unknown> = probes;

export default defineServlet({
  tools: {
    probe: {
      input: {
        type: "object",
        properties: { name: { type: "string" }, cases: { type: "array" } },
        required: ["name", "cases"],
      },
      handler({ name, cases }) {
        const probe = byName[name]!;
        return { answers: cases.map((args) => probe(...(args as never[]))) };
      },
    },
  },
});
