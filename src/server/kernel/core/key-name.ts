/** Names of API keys. They name principals too, so the names of principals without a key are reserved. */
export const KEY_NAME = /^(?!(anonymous|owner|jwt)$)[\w.@-]{1,64}$/;
export const KEY_NAME_RULE =
  "must be letters, digits and . _ @ -, at most 64, and not anonymous, owner or jwt";

/** The prefix of every key made by this project. */
export const KEY_PREFIX = "esk_";

/** The scopes of a key, in words. */
export const scopesInWords = (scopes: readonly string[] | undefined): string =>
  scopes === undefined ? "all but operator" : scopes.join(", ") || "none";
