/** Types of `userFunctions` for the bundle step: see src/bundle/wasm/import-types.ts. */
export const userFunctionTypes: Readonly<Record<string, string>> = {
  create_elicitation: "l->l",
  create_message: "l->l",
  list_roots: "->l",
  request_input: "l->l",
  ask_client: "l->l",
  notify_logging_message: "l->",
  notify_progress: "l->",
  notify_resource_updated: "l->",
  notify_url_elicitation_completed: "l->",
  notify_tool_list_changed: "->",
  notify_prompt_list_changed: "->",
  notify_resource_list_changed: "->",
  http_fetch: "ll->l",
  get_access_token: "l->l",
  get_keyring_secret: "l->l",
  config_get: "l->l",
};
