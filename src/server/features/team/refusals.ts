/** Why a sign-in fails. */
import { Fault } from "../../kernel/core/errors.ts";
import { printable } from "../../kernel/core/text.ts";

/** Why the account with this title is not let in. Reveals nothing of other people, nor the names in the rules. */
export const notLetIn = (title: string, obstacles: readonly string[]): string =>
  [
    `Your account ${printable(title)} is not one of those that this server lets in.`,
    ...obstacles,
    ...(obstacles.length === 0 ? ["Ask whoever runs it, or sign in with another account."] : []),
  ].join(" ");

/** A provider that cannot be asked now, which says nothing about the person. */
export const unavailable = (title: string, cause?: unknown): Fault =>
  new Fault("unavailable", `${title} does not answer. Try again in a minute.`, {
    data: { retryAfter: 60 },
    cause,
  });

/** A sign-in that the provider does not know, or no longer does. */
export const unknownSignIn = (title: string): Fault =>
  new Fault("forbidden", `${title} no longer knows this sign-in. Sign in again.`);
