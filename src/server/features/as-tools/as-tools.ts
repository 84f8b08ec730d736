/** The tools for resources and prompts, for clients that have only tools. */
import { Fault } from "../../kernel/core/errors.ts";
import type {
  McpContentBlock,
  GetPromptResult,
  Json,
  ReadResourceResult,
} from "../../kernel/core/model.ts";
import type { CallRef } from "../../kernel/calls/call-ref.ts";
import type { CallContext } from "../../kernel/core/call-context.ts";
import { Suspended } from "../../kernel/core/suspension.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { pageOf, promptIn, resourceIn } from "../../kernel/mcp/wire/params.ts";
import type { Contributor } from "../../kernel/servlets/catalog.ts";
import { errorResult, type OwnTool } from "../../kernel/servlets/own.ts";
import type { Profile } from "../../kernel/servlets/profiles.ts";
import { SERVER_SERVLET } from "../../kernel/servlets/scopes.ts";

/** The kind of entries that each tool is for. */
const KINDS: Readonly<Record<string, NonNullable<Profile["as_tools"]>[number]>> = {
  list_resources: "resources",
  read_resource: "resources",
  list_prompts: "prompts",
  get_prompt: "prompts",
};

/** Hides the tools whose kind is not in `as_tools` of the profile. */
export const asToolsContributor: Contributor = {
  tool(entry, { profile }) {
    const kind = entry.servlet.name === SERVER_SERVLET ? KINDS[entry.own] : undefined;
    return kind === undefined || profile?.as_tools?.includes(kind) === true ? entry : undefined;
  },
};

const annotations = { readOnlyHint: true, openWorldHint: false };
const cursor = { type: "string", description: "nextCursor of the page before." };

export function asTools(kernel: Pick<Kernel, "registry">): Record<string, OwnTool> {
  const registryFor = async ({ principal, session }: CallContext) =>
    (await kernel.registry()).for({ principal, session });

  /** Returns a page of these lists, as JSON. */
  const listed =
    (...kinds: ("resources" | "resourceTemplates" | "prompts")[]) =>
    async (args: Json, call: CallContext) => {
      const all = await registryFor(call);
      const lists = all.shown((await all.catalog()).lists, call.client.capabilities);
      const entries = kinds.flatMap<object>((kind) => lists[kind]);
      const page = pageOf("listed", entries, args["cursor"]);
      return { content: [{ type: "text" as const, text: JSON.stringify(page) }] };
    };

  /** Runs a read of a resource or prompt, and returns its content as that of a tool. */
  async function read(
    ref: CallRef,
    call: CallContext,
    contentOf: (result: Json) => McpContentBlock[],
  ) {
    try {
      const entry = await (await registryFor(call)).resolve(ref);
      const outcome = await entry.run(call);
      return outcome instanceof Suspended ? outcome : { content: contentOf(outcome) };
    } catch (error) {
      // A model can correct its call.
      const { code, message } = Fault.from(error);
      if (!/^(?:not_found|servlet_error|servlet_failed)$/.test(code)) throw error;
      return errorResult(message);
    }
  }

  return {
    list_resources: {
      tool: {
        title: "List resources",
        description:
          "Lists the resources of this server, and the templates of URIs of more resources, as JSON. read_resource reads one.",
        inputSchema: { type: "object", properties: { cursor } },
        annotations,
      },
      run: listed("resources", "resourceTemplates"),
    },
    read_resource: {
      tool: {
        title: "Read a resource",
        description: "Reads a resource of this server, by its URI.",
        inputSchema: {
          type: "object",
          properties: {
            uri: { type: "string", minLength: 1, description: "As list_resources has it." },
          },
          required: ["uri"],
        },
        annotations,
      },
      run: async (args, call) =>
        read(resourceIn(args), call, ({ contents }) =>
          (contents as ReadResourceResult["contents"]).map((resource) =>
            "text" in resource
              ? { type: "text", text: resource.text }
              : { type: "resource", resource },
          ),
        ),
    },
    list_prompts: {
      tool: {
        title: "List prompts",
        description:
          "Lists the prompts of this server with their arguments, as JSON: instructions for a task. get_prompt returns one.",
        inputSchema: { type: "object", properties: { cursor } },
        annotations,
      },
      run: listed("prompts"),
    },
    get_prompt: {
      tool: {
        title: "Get a prompt",
        description: "Returns the messages of a prompt of this server.",
        inputSchema: {
          type: "object",
          properties: {
            name: { type: "string", minLength: 1, description: "As list_prompts has it." },
            arguments: { type: "object", additionalProperties: { type: "string" } },
          },
          required: ["name"],
        },
        annotations,
      },
      run: async (args, call) =>
        read(promptIn(args), call, ({ messages }) =>
          (messages as GetPromptResult["messages"]).map(({ role, content }) =>
            content.type === "text" ? { ...content, text: `${role}: ${content.text}` } : content,
          ),
        ),
    },
  };
}
