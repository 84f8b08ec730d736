/** Names of API keys. They are their owners' names too, and must not be those of others that have no key. */
export const KEY_NAME = /^(?!(anonymous|owner|jwt)$)[\w.@-]{1,64}$/;
export const KEY_NAME_RULE =
  "must be letters, digits and . _ @ -, at most 64, and not anonymous, owner or jwt";
