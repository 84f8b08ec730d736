import { tell } from "./host.ts";

/** Notifies clients that the list of tools has changed. */
export const notifyToolsChanged = (): void => void tell("notify_tool_list_changed");

/** Notifies clients that the list of prompts has changed. */
export const notifyPromptsChanged = (): void => void tell("notify_prompt_list_changed");

/** Notifies clients that the list of resources has changed. */
export const notifyResourcesChanged = (): void => void tell("notify_resource_list_changed");

/** Notifies clients that have subscribed to the resource that it has changed. */
export const notifyResourceUpdated = (uri: string): void =>
  void tell("notify_resource_updated", { uri });

/** Notifies the client that the user has finished the page of an `elicitUrl`. */
export const notifyElicitationComplete = (elicitationId: string): void =>
  void tell("notify_url_elicitation_completed", { elicitationId });
