/** The schemas of `@modelcontextprotocol/sdk/types.js`: request schemas have their methods, and none checks anything. */

const REQUESTS: Readonly<Record<string, string>> = {
  CallToolRequest: "tools/call",
  CancelledNotification: "notifications/cancelled",
  CancelTaskRequest: "tasks/cancel",
  CompleteRequest: "completion/complete",
  CreateMessageRequest: "sampling/createMessage",
  ElicitationCompleteNotification: "notifications/elicitation/complete",
  ElicitRequest: "elicitation/create",
  GetPromptRequest: "prompts/get",
  GetTaskPayloadRequest: "tasks/result",
  GetTaskRequest: "tasks/get",
  InitializedNotification: "notifications/initialized",
  InitializeRequest: "initialize",
  ListPromptsRequest: "prompts/list",
  ListResourcesRequest: "resources/list",
  ListResourceTemplatesRequest: "resources/templates/list",
  ListRootsRequest: "roots/list",
  ListTasksRequest: "tasks/list",
  ListToolsRequest: "tools/list",
  LoggingMessageNotification: "notifications/message",
  PingRequest: "ping",
  ProgressNotification: "notifications/progress",
  PromptListChangedNotification: "notifications/prompts/list_changed",
  ReadResourceRequest: "resources/read",
  ResourceListChangedNotification: "notifications/resources/list_changed",
  ResourceUpdatedNotification: "notifications/resources/updated",
  RootsListChangedNotification: "notifications/roots/list_changed",
  SetLevelRequest: "logging/setLevel",
  SubscribeRequest: "resources/subscribe",
  TaskStatusNotification: "notifications/tasks/status",
  ToolListChangedNotification: "notifications/tools/list_changed",
  UnsubscribeRequest: "resources/unsubscribe",
};

/** Names of the other schemas, without the suffix `Schema`. */
const OTHERS =
  "Annotations AudioContent BaseMetadata BlobResourceContents BooleanSchema CallToolRequestParams CallToolResult CancelledNotificationParams CancelTaskResult ClientCapabilities ClientNotification ClientRequest ClientResult CompatibilityCallToolResult CompleteRequestParams CompleteResult ContentBlock CreateMessageRequestParams CreateMessageResult CreateMessageResultWithTools CreateTaskResult Cursor ElicitRequestFormParams ElicitRequestParams ElicitRequestURLParams ElicitResult EmbeddedResource EmptyResult EnumSchema GetPromptRequestParams GetPromptResult GetTaskPayloadResult GetTaskResult Icon Icons ImageContent Implementation InitializeRequestParams InitializeResult JSONRPCError JSONRPCErrorResponse JSONRPCMessage JSONRPCNotification JSONRPCRequest JSONRPCResponse JSONRPCResultResponse ListPromptsResult ListResourcesResult ListResourceTemplatesResult ListRootsResult ListTasksResult ListToolsResult LoggingLevel LoggingMessageNotificationParams ModelHint ModelPreferences MultiSelectEnumSchema Notification NumberSchema PaginatedRequest PaginatedRequestParams PaginatedResult PrimitiveSchemaDefinition Progress ProgressNotificationParams ProgressToken Prompt PromptArgument PromptMessage PromptReference ReadResourceRequestParams ReadResourceResult Request RequestId Resource ResourceContents ResourceLink ResourceReference ResourceRequestParams ResourceTemplate ResourceTemplateReference ResourceUpdatedNotificationParams Result Role Root SamplingContent SamplingMessage SamplingMessageContentBlock ServerCapabilities ServerNotification ServerRequest ServerResult SetLevelRequestParams SingleSelectEnumSchema StringSchema SubscribeRequestParams Task TaskAugmentedRequestParams TaskCreationParams TaskMetadata TaskStatus TextContent TextResourceContents Tool ToolAnnotations ToolChoice ToolExecution ToolResultContent ToolUseContent UnsubscribeRequestParams";

interface Schema {
  method?: string;
  shape: Record<string, Schema>;
  parse(value: unknown): unknown;
  parseAsync(value: unknown): Promise<unknown>;
  safeParse(value: unknown): { success: true; data: unknown };
  [method: string]: unknown;
}

/** A schema that accepts everything; its methods (`.optional()`, `.extend(…)`) return such a schema. */
function anything(method?: string): Schema {
  const parts: Partial<Schema> = {
    ...(method !== undefined && { method }),
    parse: (value) => value,
    parseAsync: async (value) => value,
    safeParse: (value) => ({ success: true, data: value }),
  };
  const members = new Proxy({}, { get: () => anything() });
  return new Proxy(parts as Schema, {
    get: (of, name) => {
      if (name in of) return of[name as string];
      if (typeof name !== "string" || name === "then") return undefined;
      return name === "shape" ? members : () => anything();
    },
  });
}

const LEVELS = "debug info notice warning error critical alert emergency".split(" ");

const named = (name: string, method?: string) => [`${name}Schema`, anything(method)] as const;

/** All schemas, by export name. */
export const schemas: Readonly<Record<string, unknown>> = Object.fromEntries([
  ...Object.entries(REQUESTS).map(([name, method]) => named(name, method)),
  ...OTHERS.split(" ").map((name) => named(name)),
  // Servers check arguments by it.
  ["LoggingLevelSchema", Object.assign(anything(), { options: LEVELS })],
]);
