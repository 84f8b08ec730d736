import { isServersOwn } from "../own-names.ts";

/** Names of the Worker's variables and secrets in manifests. */

/** A reference, `${NAME}` or `${NAME:-default}`; also `$${`, which is a literal `${`. */
export const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** The names in the references of a text. */
export const namesIn = (text: string): string[] =>
  [...text.matchAll(REFERENCE)].flatMap(([, name]) => name ?? []);

interface KeyringEntry {
  service: string;
  user: string;
  variable?: string | undefined;
}

/** The Worker secret that holds an entry of the keyring. */
export const variableOf = ({ service, user, variable }: KeyringEntry): string =>
  variable ?? `${service}_${user}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");

/** The names that a manifest uses, each with its place there. */
export function variablesIn({
  env_vars = {},
  allowed_secrets = [],
}: {
  env_vars?: Record<string, string> | undefined;
  allowed_secrets?: readonly KeyringEntry[] | undefined;
}): { place: string; variable: string }[] {
  return [
    ...Object.entries(env_vars).flatMap(([key, text]) =>
      namesIn(text).map((variable) => ({ place: `env_vars.${key}`, variable })),
    ),
    ...allowed_secrets.map((entry, at) => ({
      place: `allowed_secrets.${at}`,
      variable: variableOf(entry),
    })),
  ];
}

/** Why this manifest is refused: the places where it names what belongs to the server itself. */
export const ownVariablesIn = (
  manifest: Parameters<typeof variablesIn>[0],
  isOwn: (name: string) => boolean = isServersOwn,
): string[] =>
  variablesIn(manifest)
    .filter(({ variable }) => isOwn(variable))
    .map(
      ({ place, variable }) =>
        `${place} names ${variable}, which belongs to the server itself: keep what the servlet needs in a secret of another name, and name that`,
    );
