/** `@modelcontextprotocol/sdk/types.js`, except its schemas. */
export { ErrorCode, McpError, UrlElicitationRequiredError } from "./errors.ts";
import { isObject } from "../../server/kernel/core/model.ts";

export const LATEST_PROTOCOL_VERSION = "2025-11-25";
export const DEFAULT_NEGOTIATED_PROTOCOL_VERSION = "2025-03-26";
export const SUPPORTED_PROTOCOL_VERSIONS = [
  LATEST_PROTOCOL_VERSION,
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];
export const PROTOCOL_VERSION_META_KEY = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_INFO_META_KEY = "io.modelcontextprotocol/clientInfo";
export const SERVER_INFO_META_KEY = "io.modelcontextprotocol/serverInfo";
export const CLIENT_CAPABILITIES_META_KEY = "io.modelcontextprotocol/clientCapabilities";
export const SUBSCRIPTION_ID_META_KEY = "io.modelcontextprotocol/subscriptionId";
export const LOG_LEVEL_META_KEY = "io.modelcontextprotocol/logLevel";
export const TRACEPARENT_META_KEY = "traceparent";
export const TRACESTATE_META_KEY = "tracestate";
export const BAGGAGE_META_KEY = "baggage";
export const RELATED_TASK_META_KEY = "io.modelcontextprotocol/related-task";
export const JSONRPC_VERSION = "2.0";

const has = (value: unknown, ...names: string[]): boolean =>
  isObject(value) && names.every((name) => name in value);

export const isJSONRPCRequest = (value: unknown): boolean => has(value, "method", "id");
export const isJSONRPCNotification = (value: unknown): boolean =>
  has(value, "method") && !has(value, "id");
export const isJSONRPCResultResponse = (value: unknown): boolean => has(value, "result", "id");
export const isJSONRPCResponse = isJSONRPCResultResponse;
export const isJSONRPCErrorResponse = (value: unknown): boolean => has(value, "error");
export const isJSONRPCError = isJSONRPCErrorResponse;
export const isInitializeRequest = (value: unknown): boolean =>
  isObject(value) && value["method"] === "initialize";
export const isInitializedNotification = (value: unknown): boolean =>
  isObject(value) && value["method"] === "notifications/initialized";
export const isTaskAugmentedRequestParams = (value: unknown): boolean => has(value, "task");
export const assertCompleteRequestPrompt = (): void => {};
export const assertCompleteRequestResourceTemplate = (): void => {};
