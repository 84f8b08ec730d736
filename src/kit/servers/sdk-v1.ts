/** The exports of all modules of `@modelcontextprotocol/sdk`, except the schemas of `types.js`. */
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

/** The display name of a tool, resource or prompt. */
export const getDisplayName = (described: {
  title?: string;
  annotations?: { title?: string };
  name: string;
}): string => described.title ?? described.annotations?.title ?? described.name;

export const getBaseMetadata = getDisplayName;
