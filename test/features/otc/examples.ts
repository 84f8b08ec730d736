import { expect } from "vitest";
import type { ToolDefinition } from "../../../src/server/kernel/core/model.ts";
import type { Manifest } from "../../../src/server/kernel/servlets/manifest.ts";
import type { Json } from "./client.ts";

/** An example of the specification: what a servlet must say for it, and what it must become. */
export interface Example {
  toolkit: string;
  tool: string;
  manifest: Manifest;
  definition: ToolDefinition;
  /** Of the draft's section on requests. */
  request: Json;
  /** The example's value; undefined if it has none. */
  value: unknown;
}

const about = (type: string, description: string) => ({ type, description });
const text = { type: "string" };

export const EMAILS = [
  { id: "email_1", subject: "Welcome to Gmail", snippet: "Hello, welcome to your inbox!" },
];

/**
 * The examples of tool definitions, word for word, with the requests of
 * https://github.com/OpenToolCalling/Specification/blob/a35d61f/RFC.md#42-tool-request-schema
 */
export const examples: Example[] = [
  {
    toolkit: "Calculator",
    tool: "Add",
    manifest: { version: "1.0.0", requirements: {} },
    definition: {
      id: "Calculator.Add@1.0.0",
      name: "Calculator_Add",
      description: "Adds two numbers together.",
      version: "1.0.0",
      input_schema: {
        parameters: {
          type: "object",
          properties: {
            a: about("number", "The first number to add."),
            b: about("number", "The second number to add."),
          },
          required: ["a", "b"],
        },
      },
      output_schema: about("number", "The sum of the two numbers."),
    },
    request: {
      tool_id: "Calculator.Add@1.0.0",
      call_id: "123e4567-e89b-12d3-a456-426614174000",
      input: { a: 10, b: 5 },
    },
    value: 15,
  },
  {
    toolkit: "Doorbell",
    tool: "Ring",
    manifest: { version: "0.1.0", requirements: {} },
    definition: {
      id: "Doorbell.Ring@0.1.0",
      name: "Doorbell_Ring",
      description: "Rings a doorbell given a doorbell ID.",
      version: "0.1.0",
      input_schema: {
        parameters: {
          type: "object",
          properties: { doorbell_id: about("string", "The ID of the doorbell to ring.") },
          required: ["doorbell_id"],
        },
      },
      output_schema: null,
    },
    request: {
      tool_id: "Doorbell.Ring@0.1.0",
      call_id: "223e4567-e89b-12d3-a456-426614174001",
      input: { doorbell_id: "doorbell42" },
    },
    value: undefined,
  },
  {
    toolkit: "System",
    tool: "GetTimestamp",
    manifest: { version: "1.0.0", requirements: {} },
    definition: {
      id: "System.GetTimestamp@1.0.0",
      name: "System_GetTimestamp",
      description: "Retrieves the current system timestamp.",
      version: "1.0.0",
      // The published example has the type alone, which some models' APIs refuse.
      input_schema: {
        parameters: { type: "object", properties: {}, additionalProperties: false },
      },
      output_schema: {
        type: "object",
        properties: {
          timestamp: { ...about("string", "The current system timestamp."), format: "date-time" },
        },
        required: ["timestamp"],
      },
    },
    request: {
      tool_id: "System.GetTimestamp@1.0.0",
      call_id: "323e4567-e89b-12d3-a456-426614174002",
    },
    value: { timestamp: expect.stringMatching(/^20\d\d-.*Z$/) },
  },
  {
    toolkit: "Gmail",
    tool: "GetEmails",
    manifest: {
      version: "1.2.0",
      requirements: {
        authorization: [
          {
            id: "google",
            oauth2: { scopes: ["https://www.googleapis.com/auth/gmail.readonly"] },
          },
        ],
        user_id: true,
      },
    },
    definition: {
      id: "Gmail.GetEmails@1.2.0",
      name: "Gmail_GetEmails",
      description: "Retrieves emails from Gmail using OAuth 2.0 authentication.",
      version: "1.2.0",
      input_schema: {
        parameters: {
          type: "object",
          properties: { query: about("string", "Search query for filtering emails.") },
          required: [],
        },
      },
      output_schema: {
        type: "object",
        properties: {
          emails: {
            type: "array",
            items: {
              type: "object",
              properties: { id: text, subject: text, snippet: text },
              required: ["id", "subject", "snippet"],
            },
            description: "List of retrieved emails.",
          },
        },
        required: ["emails"],
      },
      requirements: {
        authorization: [
          {
            id: "google",
            oauth2: { scopes: ["https://www.googleapis.com/auth/gmail.readonly"] },
          },
        ],
        user_id: true,
      },
    },
    request: {
      tool_id: "Gmail.GetEmails@1.2.0",
      call_id: "423e4567-e89b-12d3-a456-426614174003",
      trace_id: "trace_123",
      input: { query: "is:unread" },
      context: {
        authorization: [{ id: "google", token: "ya29.a0AfH6SMC..." }],
        user_id: "user_123",
      },
    },
    value: { emails: EMAILS },
  },
  {
    toolkit: "SMS",
    tool: "Send",
    manifest: { version: "0.1.2", requirements: { secrets: [{ id: "TWILIO_API_KEY" }] } },
    definition: {
      id: "SMS.Send@0.1.2",
      name: "SMS_Send",
      description: "Sends SMS messages using Twilio.",
      version: "0.1.2",
      input_schema: {
        parameters: {
          type: "object",
          properties: {
            to: about("string", "Recipient phone number."),
            message: about("string", "Message content to send."),
          },
          required: ["to", "message"],
        },
      },
      output_schema: {
        type: "object",
        properties: { status: about("string", "Status of the SMS sending operation.") },
        required: ["status"],
      },
      requirements: { secrets: [{ id: "TWILIO_API_KEY" }] },
    },
    request: {
      tool_id: "SMS.Send@0.1.2",
      call_id: "523e4567-e89b-12d3-a456-426614174004",
      input: { to: "+1234567890", message: "Hello from our service!" },
      context: { secrets: [{ id: "TWILIO_API_KEY", value: "TWILIO_SECRET_VALUE" }] },
    },
    value: { status: "sent" },
  },
];
