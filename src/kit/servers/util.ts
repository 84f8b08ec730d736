/** `node:util`: unenv's, with the parser of arguments, of which a servlet has none. */
import util from "unenv/node/util";

export * from "unenv/node/util";

interface Option {
  default?: unknown;
}

/** The defaults of the options. */
export const parseArgs = ({
  options = {},
}: { options?: Readonly<Record<string, Option>> } = {}) => ({
  values: Object.fromEntries(
    Object.entries(options).flatMap(([name, { default: value }]) =>
      value === undefined ? [] : [[name, value]],
    ),
  ),
  positionals: [],
});

export default Object.assign({}, util, { parseArgs });
