/** Names of the Worker's variables and secrets in manifests. */
import { nearest } from "../core/nearest.ts";
import { isServersOwn, settingNames } from "../settings/own-names.ts";
import { webhookSecretOf, type Verification } from "./webhook-schema.ts";

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

/** The variables that a manifest uses, each with its place; an optional one has a default, or comes from callers. */
function variablesIn({
  env_vars = {},
  allowed_secrets = [],
  requirements: { secrets = [] } = {},
  webhooks = {},
}: {
  env_vars?: Record<string, string> | undefined;
  allowed_secrets?: readonly KeyringEntry[] | undefined;
  requirements?: { secrets?: readonly { id: string }[] | undefined } | undefined;
  webhooks?: Record<string, { verify: Verification }> | undefined;
}): { place: string; variable: string; isOptional: boolean }[] {
  return [
    ...Object.entries(env_vars).flatMap(([key, text]) =>
      [...text.matchAll(REFERENCE)].flatMap(([, variable, otherwise]) =>
        variable === undefined
          ? []
          : [{ place: `env_vars.${key}`, variable, isOptional: otherwise !== undefined }],
      ),
    ),
    ...allowed_secrets.map((entry, at) => ({
      place: `allowed_secrets.${at}`,
      variable: variableOf(entry),
      // Callers of Open Tool Calling send such a secret.
      isOptional: secrets.some(({ id }) => id === variableOf(entry)),
    })),
    ...Object.entries(webhooks).flatMap(([name, { verify }]) => {
      const variable = webhookSecretOf(verify);
      const place = `webhooks.${name}.verify.secret`;
      return variable === undefined ? [] : [{ place, variable, isOptional: false }];
    }),
  ];
}

interface WithVariables {
  name: string;
  manifest: Parameters<typeof variablesIn>[0];
}

/** Servlets and the unset variables or secrets that they need: "issues needs ISSUES_API". */
export const missingIn = (
  servlets: readonly WithVariables[],
  isSet: (name: string) => boolean,
): string[] =>
  servlets.flatMap(({ name, manifest }) => {
    const missing = variablesIn(manifest)
      .filter(({ variable, isOptional }) => !isOptional && !isSet(variable))
      .map(({ variable }) => variable);
    return missing.length === 0 ? [] : `${name} needs ${[...new Set(missing)].join(", ")}`;
  });

/**
 * The variables among these that neither a servlet nor the server uses, in words; all of them, or only misspelt ones.
 */
export function unusedIn(
  servlets: readonly WithVariables[],
  names: readonly string[],
  { isMisspelt = false } = {},
): string[] {
  const used = servlets.flatMap(({ manifest }) =>
    variablesIn(manifest).map(({ variable }) => variable),
  );
  return names
    .filter((name) => !used.includes(name))
    .flatMap((name) => {
      const meant = nearest(name, [...used, ...settingNames()]);
      if (meant === undefined && isMisspelt) return [];
      const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
      return `no servlet and nothing of the server uses ${name}${hint}`;
    });
}

/** The missing settings, and how to set them; undefined if none is missing. */
export function describeMissing(
  ...[servlets, isSet]: Parameters<typeof missingIn>
): string | undefined {
  const lacking = missingIn(servlets, isSet);
  if (lacking.length === 0) return undefined;
  return `Settings are missing: ${lacking.join("; ")}. Set each in .dev.vars, or .env where you have that, for dev and start, and with npx wrangler secret put NAME for the deployed Worker.`;
}

/** Why this manifest is refused: the places where it names variables of the server itself. */
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
