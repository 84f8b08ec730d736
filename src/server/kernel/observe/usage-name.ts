import { beginningOf } from "../core/text.ts";

/** Length to which names are cut before they are counted. */
const USAGE_NAME_CHARACTERS = 200;

/** A name cut to its maximum length: servlets and issuers may send names of any length. */
export const usageName = (name: string): string => beginningOf(name, USAGE_NAME_CHARACTERS);
