import type { Profiles } from "../../src/server/kernel/servlets/profiles.ts";

export const PROFILES: Profiles = {
  support: {
    title: "Support",
    description: "What support needs.",
    instructions: "Greet first.",
    servlets: ["http-status"],
    tools: ["hello:greet", "probe:echo_input", "durable:*", "http-status:lookup_status"],
    arguments: {
      "hello:greet": { name: "Ada" },
      "durable:rounds*": { key: "pinned" },
      "durable:plan_required": { steps: [{ do: "elicit", message: "Who?" }] },
    },
  },
  plans: { servlets: ["durable", "probe"], as_tools: ["resources", "prompts"] },
  searched: {
    servlets: ["http-status", "hello", "durable", "notes", "conformance", "viewing"],
    tools: "search",
    listed: ["hello:greet"],
    arguments: { "durable:rounds*": { key: "pinned" } },
  },
};
