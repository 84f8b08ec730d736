/** The members of `Context` that files of their own have, such as those that call a host function of a feature. */
export * from "./notices.ts";
