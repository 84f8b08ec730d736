/** Where the authorization server may send people back to, and how its pages call that. */

/** Schemes that a browser or an operating system opens itself, or that look like those of the web: no app has them. */
const TAKEN =
  /^(http.*|about|blob|chrome|data|edge|feed|file|filesystem|intent|jar|java.*|livescript|mailto|mhtml|mk|ms-.*|res|resource|s?ftps?|search.*|shell|smb|sms|ssh|tel|telnet|urn|vbscript|view-source|wss?):$/;

/**
 * Schemes by which browsers and stores open any address of the web that follows, and those that any site may take in a
 * browser: the code would go to a host that nobody was shown.
 */
const LEADS_ON =
  /^(.*-https?|android-app|brave|firefox.*|google-?chrome.*|itms.*|market|microsoft-edge.*|opera.*|web\+.*|x-web-search):$/;

const isOfWeb = ({ protocol }: URL): boolean => protocol === "https:" || protocol === "http:";

/**
 * False for a URI whose scheme no app can have. An app may have a scheme of its own, as its code is worth nothing to
 * another app that takes the same one: it lacks the PKCE verifier. https://www.rfc-editor.org/rfc/rfc8252#section-7.1
 */
export function mayLeadTo(redirectUri: string): boolean {
  const url = URL.parse(redirectUri);
  if (url === null || isOfWeb(url)) return true;
  return !TAKEN.test(url.protocol) && !LEADS_ON.test(url.protocol);
}

/** Who is at a redirect URI: a host, or the scheme of an app, whose other parts that app is free to invent. */
export function receiverOf(redirectUri: string): string {
  const url = new URL(redirectUri);
  return isOfWeb(url) ? url.host : url.protocol;
}

/** True if a scheme of the app's own leads there. */
export const isAppLink = (redirectUri: string): boolean => !isOfWeb(new URL(redirectUri));
