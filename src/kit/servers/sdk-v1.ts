/** What the modules of `@modelcontextprotocol/sdk` export, whatever the path, besides the schemas of `types.js`. */
export {
  completable,
  isCompletable,
  McpServer,
  ResourceTemplate,
  UriTemplate,
} from "./mcp-server.ts";
export { Server } from "./server.ts";
export * from "./transports.ts";
export * from "./types.ts";
export {
  createMcpExpressApp,
  hostHeaderValidation,
  localhostHostValidation,
  mcpAuthMetadataRouter,
  mcpAuthRouter,
  ProxyOAuthServerProvider,
  requireBearerAuth,
} from "./http.ts";

/** The name under which people see a tool, resource or prompt. */
export const getDisplayName = (described: {
  title?: string;
  annotations?: { title?: string };
  name: string;
}): string => described.title ?? described.annotations?.title ?? described.name;

export const getBaseMetadata = getDisplayName;
