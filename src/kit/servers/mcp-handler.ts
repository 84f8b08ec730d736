/** `mcp-handler`, formerly `@vercel/mcp-adapter`. */
export {
  createVercelHandler as createMcpHandler,
  createVercelHandler as createMcpRouteHandler,
  metadataCorsOptionsRequestHandler,
  protectedResourceHandler,
  withMcpAuth,
  withMcpAuth as experimental_withMcpAuth,
} from "./handlers.ts";

export const generateProtectedResourceMetadata = (): object => ({});
export const getPublicOrigin = (): string => "";
