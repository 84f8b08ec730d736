/** https://modelcontextprotocol.io/seps/2663-tasks-extension#extension-identifier */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";
