/** Members of `Context` that are defined in files of their own: a line for each file. */
export * from "./events.ts";
export * from "./notices.ts";
export { cancelSchedule, schedule, schedules } from "./schedules.ts";
export { askFile, storeFile as file, openFile as open } from "./stored-files.ts";
export { deleteSnippet, saveSnippet, savedSnippet, savedSnippets } from "./snippets.ts";
export * from "./webhooks.ts";
