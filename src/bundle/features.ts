/** The features of the server that a bundle brings into the Worker's script. */

/** All of them, by the names of their files in `src/features`. */
export const FEATURES = [
  ...["usage", "state", "tasks", "carried", "sessions", "tool-calls", "people", "sign-in"],
  ...["issuers", "console", "installs", "operator", "search", "otc"],
] as const;

/** The name under which the file of a feature exports it. */
export const featureExport = (name: string): string =>
  `${name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}Feature`;
