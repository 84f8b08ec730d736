import type { Lists, Prompt, Resource, ResourceTemplate, Tool } from "../model.ts";
import { interpreted, type Check } from "./checks.ts";
import type { BundledServlet, ToolChecks } from "./bundle.ts";
import type { May } from "./scopes.ts";
import { newest } from "./toolkit.ts";

/** Where an entry of the catalog comes from. */
interface Source {
  servlet: BundledServlet;
  /** The name that the servlet itself knows it by. */
  own: string;
}

export interface ToolEntry extends Source, ToolChecks {
  tool: Tool;
}

export interface PromptEntry extends Source {
  prompt: Prompt;
}

export interface ResourceEntry {
  servlet: BundledServlet;
  resource: Resource;
}

export interface TemplateEntry {
  servlet: BundledServlet;
  template: ResourceTemplate;
  /** URIs that the template may stand for. */
  matches: RegExp;
}

/**
 * What all servlets offer, under the names that clients see, in a stable order: of each toolkit what its
 * newest version has.
 */
export interface Catalog {
  lists: Lists;
  /** The tools of all versions, also those that share their name with another. */
  versions: readonly ToolEntry[];
  tools: ReadonlyMap<string, ToolEntry>;
  prompts: ReadonlyMap<string, PromptEntry>;
  /** By URI. */
  resources: ReadonlyMap<string, ResourceEntry>;
  templates: readonly TemplateEntry[];
}

/** Two servlets that list the same: the later one's entry is left out. */
export interface Clash {
  kind: keyof Lists;
  name: string;
  servlets: [string, string];
}

/** Merges what servlets list, skipping and renaming as their manifests say, and skipping what may not be used. */
export function merge(
  servlets: readonly { servlet: BundledServlet; lists: Lists }[],
  onClash: (clash: Clash) => void,
  may: May = () => true,
): Catalog {
  const tools = new Map<string, ToolEntry>();
  const prompts = new Map<string, PromptEntry>();
  const resources = new Map<string, ResourceEntry>();
  const templates = new Map<string, TemplateEntry>();
  const versions: ToolEntry[] = [];
  const seen = new Set(newest(servlets.map(({ servlet }) => servlet)));

  for (const { servlet, lists } of servlets) {
    const { manifest } = servlet;
    const add = <T extends { servlet: BundledServlet }>(
      kind: keyof Lists,
      into: Map<string, T>,
      name: string,
      entry: T,
    ): void => {
      const first = into.get(name);
      if (first === undefined) into.set(name, entry);
      else onClash({ kind, name, servlets: [first.servlet.name, servlet.name] });
    };

    const skipsTool = wholeMatch(manifest.skip_tools);
    for (const tool of lists.tools) {
      if (skipsTool(tool.name) || !may(servlet.name, tool.name)) continue;
      const name = listedName(tool.name, manifest.prefix);
      const checks = servlet.lists ? servlet.checks[tool.name] : runTimeChecks(tool);
      const mode = manifest.tools?.[tool.name]?.task;
      const execution = mode && { ...tool.execution, taskSupport: TASK_SUPPORT[mode] };
      const listed = { ...tool, name, ...(execution && { execution }) };
      const entry = { servlet, own: tool.name, tool: listed, ...checks };
      versions.push(entry);
      if (seen.has(servlet)) add("tools", tools, name, entry);
    }
    if (!seen.has(servlet)) continue;
    const skipsPrompt = wholeMatch(manifest.skip_prompts);
    for (const prompt of lists.prompts) {
      if (skipsPrompt(prompt.name) || !may(servlet.name, prompt.name)) continue;
      const name =
        manifest.prefix === undefined ? prompt.name : `${manifest.prefix}-${prompt.name}`;
      add("prompts", prompts, name, { servlet, own: prompt.name, prompt: { ...prompt, name } });
    }
    const skipsResource = wholeMatch(manifest.skip_resources);
    for (const resource of lists.resources) {
      if (skipsResource(resource.uri) || !may(servlet.name, resource.uri)) continue;
      add("resources", resources, resource.uri, { servlet, resource });
    }
    const skipsTemplate = wholeMatch(manifest.skip_resource_templates);
    for (const template of lists.resourceTemplates) {
      if (skipsTemplate(template.uriTemplate)) continue;
      if (!may(servlet.name, template.uriTemplate)) continue;
      const matches = templatePattern(template.uriTemplate);
      add("resourceTemplates", templates, template.uriTemplate, { servlet, template, matches });
    }
  }
  return {
    lists: {
      tools: [...tools.values()].map(({ tool }) => tool),
      prompts: [...prompts.values()].map(({ prompt }) => prompt),
      resources: [...resources.values()].map(({ resource }) => resource),
      resourceTemplates: [...templates.values()].map(({ template }) => template),
    },
    versions,
    tools,
    prompts,
    resources,
    templates: [...templates.values()],
  };
}

/** What the manifest says of a tool's tasks, in the words of its listing. */
const TASK_SUPPORT = {
  never: "forbidden",
  auto: "optional",
  always: "optional",
  required: "required",
} as const;

/** Does the manifest keep a resource of the servlet from clients? */
export function isSkipped({ manifest }: BundledServlet, uri: string): boolean {
  return wholeMatch(manifest.skip_resources)(uri);
}

/** Does one of these patterns match the whole of a text? */
export function wholeMatch(patterns: readonly string[] | undefined): (text: string) => boolean {
  const all = (patterns ?? []).map((source) => new RegExp(`^(?:${source})$`));
  return (text) => all.some((pattern) => pattern.test(text));
}

/**
 * The name that clients see: with the servlet's prefix, and only characters that they may use in one.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names
 */
export function listedName(own: string, prefix: string | undefined): string {
  const name = prefix === undefined ? own : `${prefix}-${own}`;
  return name.replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 128) || "_";
}

function runTimeChecks({ inputSchema, outputSchema }: Tool): ToolChecks {
  return {
    input: lenient(inputSchema),
    ...(outputSchema === undefined ? {} : { output: lenient(outputSchema) }),
  };
}

/** A schema that turns out not to be valid lets everything pass: the servlet itself still looks. */
function lenient(schema: object): Check {
  const check = interpreted(schema);
  return (value) => {
    try {
      return check(value);
    } catch {
      return undefined;
    }
  };
}

/** What a request is about, if it is about something of one servlet. */
export function entryOf(catalog: Catalog, method: unknown, what: string) {
  switch (method) {
    case "tools/call":
      return catalog.tools.get(what);
    case "prompts/get":
      return catalog.prompts.get(what);
    case "resources/read": {
      const { resources, templates } = catalog;
      const entry = resources.get(what) ?? templates.find(({ matches }) => matches.test(what));
      return entry && { servlet: entry.servlet, own: what };
    }
    default:
      return undefined;
  }
}

/** Which URIs a template may stand for: https://www.rfc-editor.org/rfc/rfc6570 */
export function templatePattern(template: string): RegExp {
  const source = template.split(/(\{[^{}]*\})/).map((part) => {
    if (!part.startsWith("{") || !part.endsWith("}"))
      return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    switch (part[1]) {
      case "+":
        return ".+";
      case "#":
        return "(?:#.*)?";
      case "/":
        return "(?:/[^?#]*)?";
      case "?":
      case "&":
        return `(?:\\${part[1]}[^#]*)?`;
      case ".":
      case ";":
        return `(?:\\${part[1]}[^/?#]*)?`;
      default:
        return "[^/?#]+";
    }
  });
  return new RegExp(`^${source.join("")}$`);
}
