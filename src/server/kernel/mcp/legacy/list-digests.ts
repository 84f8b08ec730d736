import { hexDigestNow } from "../../core/digest.ts";
import type { Lists } from "../../core/model.ts";
import type { BundledServlets } from "../../servlets/bundle.ts";
import type { Profile } from "../../servlets/profiles.ts";

/** Lists whose changes clients are notified of. */
const LISTS = ["tools", "prompts", "resources"] as const;

/** A digest of each list: a session stores them to detect which lists a new deployment has changed. */
export type ListDigests = Record<(typeof LISTS)[number], string>;

/**
 * Digests of the lists in a bundle, and of the profile that selects from them. A servlet with dynamic lists is
 * represented by the hash of its build.
 */
export function listDigests(
  { servlets }: Pick<BundledServlets, "servlets">,
  profile?: Profile,
): ListDigests {
  const digest = (pick: (lists: Lists) => unknown) => {
    const all = servlets.map(({ name, manifest, lists, hash }) => [
      name,
      manifest,
      lists ? pick(lists) : hash,
    ]);
    // Short, because a session's id contains them.
    return hexDigestNow(JSON.stringify(profile ? [all, profile] : all)).slice(0, 16);
  };
  return {
    tools: digest(({ tools }) => tools),
    prompts: digest(({ prompts }) => prompts),
    resources: digest(({ resources, resourceTemplates }) => [resources, resourceTemplates]),
  };
}

/** The lists that differ. */
export const changedLists = (before: Partial<ListDigests>, now: ListDigests) =>
  LISTS.filter((list) => before[list] !== now[list]);
