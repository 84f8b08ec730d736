/** The redirect URIs that the authorization server accepts, and how its pages name them. */

/** Schemes of browsers and operating systems, and those that resemble schemes of the web: no app has them. */
const TAKEN =
  /^(http.*|about|blob|chrome|data|edge|feed|file|filesystem|intent|jar|java.*|livescript|mailto|mhtml|mk|ms-.*|res|resource|s?ftps?|search.*|shell|smb|sms|ssh|tel|telnet|urn|vbscript|view-source|wss?):$/;

/**
 * Schemes with which browsers and app stores open any web address that follows, and those that any site can register
 * in a browser: the code would go to a host that the user was not shown.
 */
const LEADS_ON =
  /^(.*-https?|android-app|brave|firefox.*|google-?chrome.*|itms.*|market|microsoft-edge.*|opera.*|web\+.*|x-web-search):$/;

const isOfWeb = ({ protocol }: URL): boolean => protocol === "https:" || protocol === "http:";

/**
 * False for a URI whose scheme no app can have. An app may use its own scheme: another app with the same scheme cannot
 * use the code without the PKCE verifier. https://www.rfc-editor.org/rfc/rfc8252#section-7.1
 */
export function mayLeadTo(redirectUri: string): boolean {
  const url = URL.parse(redirectUri);
  if (url === null || isOfWeb(url)) return true;
  return !TAKEN.test(url.protocol) && !LEADS_ON.test(url.protocol);
}

/** The receiver of a redirect URI: its host, or an app's scheme (the app chooses the other parts freely). */
export function receiverOf(redirectUri: string): string {
  const url = new URL(redirectUri);
  return isOfWeb(url) ? url.host : url.protocol;
}

/** True for a URI with an app's own scheme. */
export const isAppLink = (redirectUri: string): boolean => !isOfWeb(new URL(redirectUri));
