/** Refusals of the authorization server, on its page and at its token endpoint. */
import {
  AuthorizationError,
  type AuthorizationErrorCode,
  type AuthRequest,
} from "@cloudflare/workers-oauth-provider";
import { bodyText } from "../http/body.ts";
import { Fault, httpStatus, retryAfterOf } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
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

/** Throws the fault of a token request whose client has no document that can be read; rethrows any other error. */
export function unknownClient(error: unknown): never {
  const { code, message } = Fault.from(error);
  throw code === "invalid_request" ? new Fault("unauthorized", message) : error;
}

/** The response for a fault at the token endpoint. Rethrows any other error. https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
export function tokenError(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  const { message: error_description } = error;
  const headers = new Headers({ "cache-control": "no-store" });
  switch (error.code) {
    case "unauthorized":
      return Response.json(
        { error: "invalid_client", error_description },
        { status: 401, headers },
      );
    case "invalid_request":
      return Response.json(
        { error: "invalid_request", error_description },
        { status: 400, headers },
      );
    case "too_large":
      return Response.json(
        { error: "invalid_request", error_description },
        { status: 413, headers },
      );
    case "too_slow":
    case "too_many":
    case "unavailable":
      headers.set("retry-after", retryAfterOf(error) ?? "1");
      return Response.json(
        { error: "temporarily_unavailable", error_description },
        { status: httpStatus(error), headers },
      );
    default:
      throw error;
  }
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
    // A link and not a redirect: whoever wrote the URL may also have registered its target.
    return { status: 400, reason: `${error.description}.`, back: error.redirectTo };
  }
  if (!(error instanceof Fault)) throw error;
  return { status: httpStatus(error), reason: error.message, retryAfter: retryAfterOf(error) };
}

/** The fields of the form. */
export async function formOf(request: Request): Promise<URLSearchParams> {
  if (!request.headers.get("content-type")?.startsWith("application/x-www-form-urlencoded")) {
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
