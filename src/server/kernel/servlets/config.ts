/** Config, secrets and tokens of a servlet, from the deployment and from callers. */
import { Fault } from "../core/errors.ts";
import type { CallCredentials } from "../core/call-context.ts";
import { mapValues } from "../core/values.ts";
import type { GuestCredentials } from "../wasm/call.ts";
import type { PreparedServlet } from "./bundle.ts";
import { isServersOwn } from "../settings/own-names.ts";
import { hiding, type Redact } from "../core/redaction.ts";
import { REFERENCE, variableOf } from "./variables.ts";

type Variables = Readonly<Record<string, string>>;

/** The value of a variable that servlets may use; undefined if it is not set, or is the server's own. */
const valueOf = (variables: Variables, name: string): string | undefined =>
  isServersOwn(name) || Object.hasOwn(Object.prototype, name) ? undefined : variables[name];

/** Advice for a missing variable. Tests of servlets replace it. */
export const HOW_TO_SET =
  "Set it as a variable or secret of the Worker; take another name if this one is the server's own.";

/** The servlet's config, with the Worker's variables in it. */
export function configOf(
  { name, manifest }: PreparedServlet,
  variables: Variables,
): Record<string, string> {
  const expand = (text: string) =>
    text.replace(
      REFERENCE,
      (whole, variable: string | undefined, otherwise: string | undefined) => {
        if (variable === undefined) return "${";
        const value = valueOf(variables, variable) || otherwise;
        if (value !== undefined && !isServersOwn(variable)) return value;
        const fault = isServersOwn(variable)
          ? "is the server's own. Set a variable of another name, and name that."
          : `is not set. ${HOW_TO_SET}`;
        throw new Fault(
          "not_configured",
          `The servlet ${name} is not configured: ${variable}, which its env_vars name, ${fault}`,
          { cause: whole },
        );
      },
    );
  return mapValues(manifest.env_vars ?? {}, expand);
}

interface SecretRequest {
  service: string;
  user: string;
}

const allowedTo = (
  { manifest }: Pick<PreparedServlet, "manifest">,
  { service, user }: SecretRequest,
) => manifest.allowed_secrets?.find((one) => one.service === service && one.user === user);

/** A secret of the deployment, if the manifest allows it to the servlet. */
export function secretOf(
  servlet: PreparedServlet,
  variables: Variables,
  asked: SecretRequest,
): string | undefined {
  const allowed = allowedTo(servlet, asked);
  return allowed && valueOf(variables, variableOf(allowed));
}

/** Redacts the secrets of the deployment that the manifest allows to the servlet. */
export function hidingOwn(servlet: PreparedServlet, variables: Variables): Redact {
  const secrets = (servlet.manifest.allowed_secrets ?? []).map((one): [string, string] => [
    variableOf(one),
    secretOf(servlet, variables, one) ?? "",
  ]);
  return hiding({ secrets: new Map(secrets), tokens: new Map() });
}

/** A caller's credentials, for look-up by the servlet. */
export function guestCredentials(
  servlet: Pick<PreparedServlet, "manifest">,
  credentials: CallCredentials,
): GuestCredentials {
  const { secrets, tokens, userId } = credentials;
  return {
    config: (key) => tokens.get(key) ?? secrets.get(key) ?? (key === USER_ID ? userId : undefined),
    secret: (service, user) => {
      const asked = { service, user };
      return secrets.get(variableOf(allowedTo(servlet, asked) ?? asked)) ?? secrets.get(service);
    },
    token: (id) => tokens.get(id),
    hide: hiding(credentials),
  };
}

/** The config key of the caller's user. */
const USER_ID = "user_id";
