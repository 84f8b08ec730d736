/**
 * The clients, in exact versions, and the revisions that each is run in. This is the one place for
 * both: to take a newer client, change its version here.
 */
import type { Thing } from "./things.ts";

export type Toolchain =
  | "python"
  | "go"
  | "rust"
  | "java"
  | "kotlin"
  | "typescript"
  | "npm"
  | "browser";

export interface Client {
  /** As `--only` names it. */
  name: string;
  /** As people know it. */
  title: string;
  toolchain: Toolchain;
  /** As its registry names it. */
  package: string;
  version: string;
  /** The program, in the folder of this file. */
  program: string;
  revisions: readonly string[];
  /** Where something goes wrong on the client's side: the upstream issue, for all revisions or one. */
  upstream?: Partial<Record<Thing | `${Thing}@${string}`, string>>;
  /** A remark for the reader. */
  note?: string;
}

const OWN_PROVIDER =
  "signs in with an `OAuthClientProvider` of your own, and `auth` of the SDK that it is built on takes the code.";
const SESSIONS = ["2025-11-25"];
/** The Kotlin client keeps the answer to a POST until it is complete. */
const BUFFERS = "https://github.com/modelcontextprotocol/kotlin-sdk/pull/616";
/** The Kotlin client has one stream of its own: where it resumes that of a call, it ends the session's. */
const REPLACES = "https://github.com/modelcontextprotocol/kotlin-sdk/pull/596";
const BOTH = ["2025-11-25", "2026-07-28"];

export const CLIENTS: readonly Client[] = [
  {
    name: "python-1",
    title: "Python SDK",
    toolchain: "python",
    package: "mcp",
    version: "1.30.0",
    program: "python/mcp1.py",
    revisions: SESSIONS,
    note: "gives up the stream of the session's own when two connections of it break before the server has ended one in order (every minute).",
  },
  {
    name: "python-2",
    title: "Python SDK",
    toolchain: "python",
    package: "mcp",
    version: "2.3.0",
    program: "python/mcp2.py",
    revisions: BOTH,
  },
  {
    name: "fastmcp",
    title: "FastMCP",
    toolchain: "python",
    package: "fastmcp-slim[client]",
    version: "4.1.6",
    program: "python/fastmcp4.py",
    revisions: BOTH,
  },
  {
    name: "go-sdk",
    title: "Go SDK",
    toolchain: "go",
    package: "github.com/modelcontextprotocol/go-sdk",
    version: "v1.8.0",
    program: "go/go-sdk.go",
    revisions: ["2024-11-05", "2025-03-26", "2025-06-18", ...BOTH],
    upstream: {
      "drops@2026-07-28": "https://github.com/modelcontextprotocol/go-sdk/pull/1283",
      "stay@2026-07-28": "https://github.com/modelcontextprotocol/go-sdk/pull/1283",
    },
    note: "from 2026-07-28 on does not open `subscriptions/listen` again when it has ended, and the server ends each after a while; calls go on.",
  },
  {
    name: "mcp-go",
    title: "mcp-go",
    toolchain: "go",
    package: "github.com/mark3labs/mcp-go",
    version: "v1.2.1",
    program: "go/mcp-go.go",
    revisions: BOTH,
    upstream: {
      "late@2025-11-25": "https://github.com/mark3labs/mcp-go/pull/380",
      "drops@2025-11-25": "https://github.com/mark3labs/mcp-go/pull/380",
    },
    note: "resumes a stream that the server has ended, and not one that has broken: the call fails, and the session goes on.",
  },
  {
    name: "rust",
    title: "Rust SDK",
    toolchain: "rust",
    package: "rmcp",
    version: "3.11.0",
    program: "rust/main.rs",
    revisions: BOTH,
  },
  {
    name: "java",
    title: "Java SDK",
    toolchain: "java",
    package: "io.modelcontextprotocol.sdk:mcp",
    version: "2.1.0",
    program: "java/Matrix.java",
    revisions: SESSIONS,
    upstream: {
      late: "https://github.com/modelcontextprotocol/java-sdk/pull/830",
      drops: "https://github.com/modelcontextprotocol/java-sdk/pull/830",
    },
    note: "does not resume a stream that has broken: its call ends by its own time limit. Has no code for signing in; give it an API key, or a token from an OAuth library: for `team`, Nimbus gets it.",
  },
  {
    name: "kotlin",
    title: "Kotlin SDK",
    toolchain: "kotlin",
    package: "io.modelcontextprotocol:kotlin-sdk-client-jvm",
    version: "0.16.0",
    program: "kotlin/Matrix.kt",
    revisions: SESSIONS,
    upstream: { answer: BUFFERS, refuse: BUFFERS, late: BUFFERS, wrong: BUFFERS, drops: REPLACES },
    note: "reads the whole stream of a call before the first message in it, so it cannot be asked in the middle of one. To resume the stream of a call it ends the stream of the session, and does not open that again: from then on it hears of no changes. Has no code for signing in; give it an API key, or a token from an OAuth library: for `team`, Nimbus gets it.",
  },
  {
    name: "typescript-1",
    title: "TypeScript SDK",
    toolchain: "typescript",
    package: "@modelcontextprotocol/sdk",
    version: "1.32.2",
    program: "typescript/version-1.ts",
    revisions: SESSIONS,
  },
  {
    name: "typescript-2",
    title: "TypeScript SDK",
    toolchain: "typescript",
    package: "@modelcontextprotocol/client",
    version: "2.4.0",
    program: "typescript/version-2.ts",
    revisions: BOTH,
  },
  {
    name: "ai-sdk",
    title: "AI SDK",
    toolchain: "npm",
    package: "@ai-sdk/mcp",
    version: "2.0.99",
    program: "npm/frameworks.mjs",
    revisions: SESSIONS,
  },
  {
    name: "langchain",
    title: "LangChain",
    toolchain: "npm",
    package: "@langchain/mcp-adapters",
    version: "1.1.4",
    program: "npm/frameworks.mjs",
    revisions: SESSIONS,
    note: OWN_PROVIDER,
  },
  {
    name: "inspector",
    title: "Inspector (command line)",
    toolchain: "npm",
    package: "@modelcontextprotocol/inspector",
    version: "2.12.0",
    program: "npm/frameworks.mjs",
    revisions: SESSIONS,
  },
  {
    name: "inspector-web",
    title: "Inspector (web)",
    toolchain: "browser",
    package: "@modelcontextprotocol/inspector",
    version: "2.12.0",
    program: "browser/inspector.ts",
    revisions: BOTH,
    upstream: {
      "drops@2026-07-28": "https://github.com/modelcontextprotocol/inspector/pull/1730",
      "stay@2026-07-28": "https://github.com/modelcontextprotocol/inspector/pull/1730",
    },
    note: "its page in Chromium. From 2026-07-28 on it does not open `subscriptions/listen` again when it has broken or ended; calls go on, and after a new connection it hears of changes. After it has shown a view, it also has to reconnect before it hears of changes.",
  },
  {
    name: "mcp-remote",
    title: "mcp-remote",
    toolchain: "npm",
    package: "mcp-remote",
    version: "0.15.1",
    program: "npm/frameworks.mjs",
    revisions: SESSIONS,
  },
  {
    name: "mastra",
    title: "Mastra",
    toolchain: "npm",
    package: "@mastra/mcp",
    version: "2.0.0",
    program: "npm/frameworks.mjs",
    revisions: SESSIONS,
    note: "its `MCPOAuthClientProvider` takes a client that is registered, and registers none; it signs in from the URL alone with an `OAuthClientProvider` of your own.",
  },
  {
    name: "openai-agents",
    title: "OpenAI Agents",
    toolchain: "npm",
    package: "@openai/agents",
    version: "0.20.0",
    program: "npm/frameworks.mjs",
    revisions: SESSIONS,
    note: OWN_PROVIDER,
  },
  {
    name: "mcp-use",
    title: "mcp-use",
    toolchain: "npm",
    package: "mcp-use",
    version: "1.34.6",
    program: "npm/frameworks.mjs",
    revisions: SESSIONS,
    note: OWN_PROVIDER,
  },
];
