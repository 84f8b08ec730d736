// Tools that answer by themselves: every kind of content, logs, progress, list changes.
import { defineTool } from "edge-servlets/servlet";
import { AUDIO, embedded, IMAGE } from "./contents.ts";
import { JSON_SCHEMA_2020_12, NOTHING, REGION } from "./schemas.ts";

export const answering = {
  test_simple_text: defineTool({
    description: "Answers with a text",
    input: NOTHING,
    handler: () => "This is a simple text response for testing.",
  }),
  test_image_content: defineTool({
    description: "Answers with an image",
    input: NOTHING,
    handler: () => IMAGE,
  }),
  test_audio_content: defineTool({
    description: "Answers with a sound",
    input: NOTHING,
    handler: () => AUDIO,
  }),
  test_embedded_resource: defineTool({
    description: "Answers with an embedded resource",
    input: NOTHING,
    handler: () =>
      embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  }),
  test_multiple_content_types: defineTool({
    description: "Answers with a text, an image and a resource",
    input: NOTHING,
    handler: () => [
      "Multiple content types test:",
      IMAGE,
      embedded(
        "test://mixed-content-resource",
        "application/json",
        JSON.stringify({ test: "data", value: 123 }),
      ),
    ],
  }),
  test_error_handling: defineTool({
    description: "Always fails",
    input: NOTHING,
    handler() {
      throw new Error("This tool intentionally returns an error for testing");
    },
  }),
  test_tool_with_logging: defineTool({
    description: "Logs three messages, 50 ms apart",
    input: NOTHING,
    async handler(_args, { log, sleep }) {
      log("info", "Tool execution started", "conformance");
      await sleep(50);
      log("info", "Tool processing data", "conformance");
      await sleep(50);
      log("info", "Tool execution completed", "conformance");
      return "Logged three messages.";
    },
  }),
  test_tool_with_progress: defineTool({
    description: "Reports progress three times, 50 ms apart",
    input: NOTHING,
    async handler(_args, { progress, sleep }) {
      progress(0, 100);
      await sleep(50);
      progress(50, 100);
      await sleep(50);
      progress(100, 100);
      return "Reported progress three times.";
    },
  }),
  test_logging_tool: defineTool({
    description: "Logs a message",
    input: NOTHING,
    handler(_args, { log }) {
      log("info", "A message for those who asked for messages", "conformance");
      return "Logged.";
    },
  }),
  test_reconnection: defineTool({
    description: "Takes a while, in which the client's stream may be closed and opened again",
    input: NOTHING,
    async handler(_args, { log, sleep }) {
      log("info", "The stream begins, and ends before the call does.");
      await sleep(2500);
      return "Whoever reads this has waited, or come back.";
    },
  }),
  test_trigger_tool_change: defineTool({
    description: "Says that the list of tools has changed",
    input: NOTHING,
    handler(_args, { notifyToolsChanged }) {
      notifyToolsChanged();
      return "The list of tools has changed.";
    },
  }),
  test_trigger_prompt_change: defineTool({
    description: "Says that the list of prompts has changed",
    input: NOTHING,
    handler(_args, { notifyPromptsChanged }) {
      notifyPromptsChanged();
      return "The list of prompts has changed.";
    },
  }),
  test_x_mcp_header: defineTool({
    description: "Repeats the region, which clients also send as a header",
    input: REGION,
    handler: ({ region = "none" }) => `Region: ${region}`,
  }),
  json_schema_2020_12_tool: defineTool({
    description: "Tool with JSON Schema 2020-12 features",
    input: JSON_SCHEMA_2020_12,
    handler: (args) => JSON.stringify(args),
  }),
};
