/** Public servers for other SDKs, which `npm run servers` compares. */

export interface Compared {
  name: string;
  style: string;
  repository: string;
  commit: string;
  /** The folder of the server in its repository. */
  path: string;
  /** Its entry, below that folder. */
  entry: string;
  /** True if the folder has other servers, too: the entry is taken. */
  isFile?: boolean;
  /** The packages that the original and the servlet have. */
  packages: readonly string[];
  /** Conditions of exports for the original. */
  conditions?: readonly string[];
  /** The export that handles requests, and the URL that it serves; absent for a server on stdio. */
  handler?: string;
  /** For a Worker, which runs in workerd: its Durable Objects' class, by binding. */
  objects?: Readonly<Record<string, string>>;
  url?: string;
  /** Imports that are written anew: of neighbouring folders. */
  replaced?: Readonly<Record<string, string>>;
  variables?: Readonly<Record<string, string>>;
  /** Recorded answers of the network, by a part of their URL: JSON, or HTML as text. */
  answers?: Readonly<Record<string, unknown>>;
  calls?: readonly { tool: string; args: Record<string, unknown> }[];
}

const SDK = "@modelcontextprotocol/sdk@1.32.2";

export const SERVERS: readonly Compared[] = [
  {
    name: "weather",
    style: "v1, `tool()`",
    repository: "microsoft/lets-learn-mcp-javascript",
    commit: "3ad16b1b",
    path: ".",
    entry: "main.ts",
    packages: [SDK, "zod@3"],
    answers: {
      "geocoding-api.open-meteo.com": { results: [{ latitude: 46.9, longitude: 7.4 }] },
      "api.open-meteo.com": { hourly: { temperature_2m: [1, 2, 3] } },
    },
    calls: [{ tool: "get-weather", args: { city: "Bern" } }],
  },
  {
    name: "thinking",
    style: "v1, `registerTool`, state in a class",
    repository: "modelcontextprotocol/servers",
    commit: "76d64c82",
    path: "src/sequentialthinking",
    entry: "index.ts",
    packages: [SDK, "zod@4", "chalk@5"],
    variables: { DISABLE_THOUGHT_LOGGING: "true" },
    calls: [
      {
        tool: "sequentialthinking",
        args: { thought: "one", nextThoughtNeeded: "true", thoughtNumber: "1", totalThoughts: 2 },
      },
      {
        tool: "sequentialthinking",
        args: { thought: "two", nextThoughtNeeded: false, thoughtNumber: 2, totalThoughts: 2 },
      },
    ],
  },
  {
    name: "langfuse",
    style: "v1, prompts by schema",
    repository: "langfuse/mcp-server-langfuse",
    commit: "a534b5a9",
    path: ".",
    entry: "src/index.ts",
    packages: [SDK, "zod@3", "langfuse@3"],
    variables: {
      LANGFUSE_PUBLIC_KEY: "pk",
      LANGFUSE_SECRET_KEY: "sk",
      LANGFUSE_BASEURL: "https://cloud.langfuse.com",
    },
    answers: {
      "prompts?": { data: [{ name: "greet" }], meta: { totalPages: 1, page: 1 } },
      "prompts/greet": {
        name: "greet",
        version: 1,
        type: "text",
        labels: ["production"],
        tags: [],
        config: {},
        prompt: "Hello {{name}}",
      },
    },
    calls: [
      { tool: "get-prompts", args: {} },
      { tool: "get-prompt", args: { name: "greet", arguments: { name: "Ada" } } },
    ],
  },
  {
    name: "brave",
    style: "v1 `Server`; ends without its key",
    repository: "modelcontextprotocol/servers",
    commit: "1f705677",
    path: "src/brave-search",
    entry: "index.ts",
    packages: [SDK, "zod@3"],
    variables: { BRAVE_API_KEY: "key" },
    answers: {
      "web/search": {
        web: { results: [{ title: "T", description: "D", url: "https://a.example" }] },
      },
    },
    calls: [{ tool: "brave_web_search", args: { query: "a", count: 2 } }],
  },
  {
    name: "slack",
    style: "v1 `Server`, class",
    repository: "modelcontextprotocol/servers",
    commit: "1f705677",
    path: "src/slack",
    entry: "index.ts",
    packages: [SDK, "zod@3"],
    variables: { SLACK_BOT_TOKEN: "xoxb", SLACK_TEAM_ID: "T1" },
    answers: { "slack.com/api": { ok: true, channels: [{ id: "C1" }] } },
    calls: [
      { tool: "slack_list_channels", args: { limit: 3 } },
      { tool: "slack_get_users", args: {} },
    ],
  },
  {
    name: "perplexity",
    style: "v1 `Server`",
    repository: "ppl-ai/modelcontextprotocol",
    commit: "332deaf8",
    path: "perplexity-ask",
    entry: "index.ts",
    packages: [SDK, "zod@3"],
    variables: { PERPLEXITY_API_KEY: "key" },
    answers: {
      "api.perplexity.ai": {
        choices: [{ message: { content: "42" } }],
        citations: ["https://a.example"],
      },
    },
    calls: [{ tool: "perplexity_ask", args: { messages: [{ role: "user", content: "?" }] } }],
  },
  {
    name: "hn",
    style: "v1 `Server` in a class, axios, cheerio",
    repository: "pskill9/hn-server",
    commit: "ed1a4b95",
    path: ".",
    entry: "src/index.ts",
    packages: [SDK, "zod@3", "axios@1", "cheerio@1"],
    conditions: ["browser"],
    answers: {
      "news.ycombinator.com":
        '<table><tr class="athing"><td><span class="rank">1.</span><span class="titleline"><a href="item?id=1">One</a></span></td></tr><tr><td><span class="score">5 points</span><a class="hnuser">ada</a><span class="age" title="2026-01-01"></span><a>7&nbsp;comments</a></td></tr></table>',
    },
    calls: [{ tool: "get_stories", args: { type: "new", limit: 5 } }],
  },
  {
    name: "quickstart",
    style: "v2, `serveStdio`",
    repository: "modelcontextprotocol/quickstart-resources",
    commit: "0f4fc38f",
    path: "weather-server-typescript",
    entry: "src/index.ts",
    packages: ["@modelcontextprotocol/server@2.4.0", "zod@4"],
    answers: {
      "alerts?": { features: [{ properties: { event: "Wind", areaDesc: "Coast" } }] },
      "alerts/active": { features: [{ properties: { event: "Wind", areaDesc: "Coast" } }] },
    },
    calls: [{ tool: "get-alerts", args: { state: "CA" } }],
  },
  {
    name: "tools",
    style: "v2, stdio or hono by arguments",
    repository: "modelcontextprotocol/typescript-sdk",
    commit: "3924de99",
    path: "examples",
    entry: "tools/server.ts",
    isFile: true,
    packages: [
      "@modelcontextprotocol/server@2.4.0",
      "@modelcontextprotocol/hono@2",
      "zod@4",
      "@hono/node-server@1",
      "hono@4",
    ],
    replaced: { "@mcp-examples/shared": "../shared/src/index.ts" },
    calls: [
      { tool: "calc", args: { op: "mul", a: 6, b: 7 } },
      { tool: "echo", args: { text: "a" } },
    ],
  },
  {
    name: "worker",
    style: "v2, `agents/mcp/server`, worker export",
    repository: "cloudflare/agents",
    commit: "a0e134bb",
    path: "examples/mcp-worker",
    entry: "src/server.ts",
    packages: [
      "agents@0.21",
      "@modelcontextprotocol/server@2",
      "@modelcontextprotocol/sdk@1",
      "zod@4",
      "ai@6",
      "react@19",
    ],
    objects: {},
    calls: [{ tool: "hello", args: { name: "Ada" } }],
  },
  {
    name: "agent",
    style: "`McpAgent`, state, resource, SVG",
    repository: "cloudflare/agents",
    commit: "a0e134bb",
    path: "examples/mcp",
    entry: "src/server.ts",
    packages: [
      "agents@0.21",
      "@modelcontextprotocol/server@2",
      "@modelcontextprotocol/sdk@1",
      "zod@4",
      "ai@6",
      "react@19",
    ],
    objects: { MyMCP: "MyMCP" },
    calls: [
      { tool: "add", args: { a: 2 } },
      { tool: "add", args: { a: 3 } },
    ],
  },
  {
    name: "nbp",
    style: "`McpAgent`, class and `serve` in two files",
    repository: "patpil-cloudflare-mcp/nbp-exchange-mcp",
    commit: "bd693109",
    path: ".",
    entry: "src/index.ts",
    packages: ["agents@0.2", "@modelcontextprotocol/sdk@1.18", "zod@3", "ai@5", "react@19"],
    objects: { MCP_OBJECT: "NbpMCP" },
    answers: {
      "exchangerates/rates": {
        table: "C",
        currency: "dolar",
        code: "USD",
        rates: [
          { no: "1", effectiveDate: "2026-01-02", tradingDate: "2026-01-01", bid: 3.9, ask: 4.1 },
        ],
      },
      cenyzlota: [{ data: "2026-01-02", cena: 300.5 }],
    },
    calls: [
      { tool: "getCurrencyRate", args: { currencyCode: "USD" } },
      { tool: "getGoldPrice", args: {} },
    ],
  },
  {
    name: "vercel",
    style: "mcp-handler 1",
    repository: "vercel-labs/mcp-on-vercel",
    commit: "ab51bbd0",
    path: ".",
    entry: "api/server.ts",
    packages: [
      "mcp-handler@1",
      "@vercel/mcp-adapter@1",
      "@modelcontextprotocol/sdk@1",
      "zod@3",
      "next@15",
    ],
    handler: "POST",
    calls: [{ tool: "echo", args: { message: "a" } }],
  },
  {
    name: "imdb",
    style: "mcp-handler, names with spaces",
    repository: "Fletcher-Alderton/imdb-mcp-vercel",
    commit: "a46590d4",
    path: ".",
    entry: "src/app/api/mcp/route.ts",
    packages: ["mcp-handler@1", "@modelcontextprotocol/sdk@1", "zod@3", "next@15"],
    handler: "POST",
    url: "http://localhost/api/mcp",
    variables: { OMDB_API_KEY: "key" },
    answers: { "www.omdbapi.com": { Title: "Dune" } },
    calls: [{ tool: "Search IMDb by Search", args: { s: "dune" } }],
  },
  {
    name: "addition",
    style: "fastmcp with zod, arktype, valibot",
    repository: "punkpeye/fastmcp",
    commit: "a97c5eb2",
    path: "src/examples",
    entry: "addition.ts",
    isFile: true,
    packages: ["fastmcp@4", "zod@4", "arktype@2", "valibot@1", "@valibot/to-json-schema@1"],
    replaced: { "../FastMCP.js": "fastmcp" },
    calls: [
      { tool: "add-zod", args: { a: 1, b: 2 } },
      { tool: "add-arktype", args: { a: 1, b: 2 } },
      { tool: "add-valibot", args: { a: 1, b: 2 } },
      { tool: "get-documentation", args: { section: "deployment" } },
    ],
  },
];
