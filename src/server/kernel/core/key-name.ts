/** Names of API keys. They name principals too, so the names of principals without a key are reserved. */
export const KEY_NAME = /^(?!(anonymous|owner|jwt)$)[\w.@-]{1,64}$/;
export const KEY_NAME_RULE =
  "must be letters, digits and . _ @ -, at most 64, and not anonymous, owner or jwt";

/** How every key begins that was made here. */
export const KEY_PREFIX = "esk_";

/** The grant of a key's scopes, in words. */
export const scopesInWords = (scopes: readonly string[] | undefined): string =>
  scopes === undefined ? "all but operator" : scopes.join(", ") || "none";
