/** Refusals of the authorization server, on its page and at its token endpoint. */
import {
  AuthorizationError,
  type AuthorizationErrorCode,
  type AuthRequest,
} from "@cloudflare/workers-oauth-provider";
import { bodyText, isForm } from "../../kernel/http/body.ts";
import { Fault, type FaultCode, httpStatus, retryAfterOf } from "../../kernel/core/errors.ts";
import { limits } from "./limits.ts";
import type { SignInRefusal } from "./consent-page.ts";

/** The refusal of a client's request, with the URL that leads back to the client. */
export function refused(
  asked: AuthRequest,
  code: AuthorizationErrorCode,
  description: string,
): AuthorizationError {
  const { redirectUri, state, issuer } = asked;
  return new AuthorizationError(code, { description, redirectUri, state, issuer });
}

/**
 * Throws `forbidden` for a subresource or frame request. Only browsers send `Sec-Fetch-Dest`. https://www.w3.org/TR/fetch-metadata/#sec-fetch-dest-header
 */
export function demandNavigation({ headers }: Request): void {
  if ((headers.get("sec-fetch-dest") ?? "document") === "document") return;
  throw new Fault("forbidden", "The sign-in page opens only in a tab or window of its own.");
}

/** Throws the fault of a token request whose client's document cannot be read; rethrows any other error. */
export function unknownClient(error: unknown): never {
  const { code, message } = Fault.from(error);
  throw code === "invalid_request" ? new Fault("unauthorized", message) : error;
}

/** The errors of the token endpoint, by the code of a fault. https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
const TOKEN_ERRORS: Partial<Record<FaultCode, string>> = {
  unauthorized: "invalid_client",
  invalid_request: "invalid_request",
  too_large: "invalid_request",
  too_slow: "temporarily_unavailable",
  too_many: "temporarily_unavailable",
  unavailable: "temporarily_unavailable",
  storage_full: "temporarily_unavailable",
};

/** The response for a fault at the token endpoint. Rethrows any other error. */
export function tokenError(thrown: unknown): Response {
  const error = thrown instanceof Fault ? TOKEN_ERRORS[thrown.code] : undefined;
  if (!(thrown instanceof Fault) || error === undefined) throw thrown;
  const headers = new Headers({ "cache-control": "no-store" });
  if (error === "temporarily_unavailable") headers.set("retry-after", retryAfterOf(thrown) ?? "1");
  return Response.json(
    { error, error_description: thrown.message },
    { status: httpStatus(thrown), headers },
  );
}

/** Refuses a refresh token. https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
export const invalidGrant = (error_description: string): Response =>
  Response.json(
    { error: "invalid_grant", error_description },
    { status: 400, headers: { "cache-control": "no-store" } },
  );

/** The error page for a refusal. Rethrows any other error. */
export function refusalOf(error: unknown): SignInRefusal {
  if (error instanceof AuthorizationError) {
    // A link, not a redirect: the author of the URL may also have registered its target.
    return { status: 400, reason: `${error.description}.`, back: error.redirectTo };
  }
  if (!(error instanceof Fault)) throw error;
  const { code, message: reason } = error;
  const hasLinks = code === "unauthorized";
  return { status: httpStatus(error), reason, hasLinks, retryAfter: retryAfterOf(error) };
}

/** The fields of the form. */
export async function formOf(request: Request): Promise<URLSearchParams> {
  if (!isForm(request.headers)) {
    throw new Fault(
      "unsupported_media_type",
      "Content-Type is not application/x-www-form-urlencoded. Submit the form of the sign-in page.",
    );
  }
  const text = await bodyText(request, limits.formBytes);
  if (text === undefined)
    throw new Fault(
      "too_large",
      `The form is too large (limit ${limits.formBytes} bytes). Submit the form of the sign-in page.`,
    );
  return new URLSearchParams(text);
}
