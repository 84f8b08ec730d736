import type {
  OAuthClientInformation,
  OAuthClientProvider,
  OAuthTokens,
} from "@modelcontextprotocol/client";

/** Where clients want to be sent back to; nobody listens there. */
export const CALLBACK = "http://127.0.0.1:8899/callback";

/** An MCP client's OAuth storage, in memory; the official clients of both versions take it. */
export function credentials() {
  let client: OAuthClientInformation | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = "";
  let asked: URL | undefined;
  const provider = {
    redirectUrl: CALLBACK,
    clientMetadata: {
      client_name: "Test",
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => client,
    saveClientInformation: (given: OAuthClientInformation) => void (client = given),
    tokens: () => tokens,
    saveTokens: (given: OAuthTokens) => void (tokens = given),
    redirectToAuthorization: (url: URL) => void (asked = url),
    saveCodeVerifier: (given: string) => void (verifier = given),
    codeVerifier: () => verifier,
    invalidateCredentials: (what: string) => {
      if (what !== "verifier") tokens = undefined;
    },
  } satisfies OAuthClientProvider;
  return {
    provider,
    /** Where the person is to go. */
    asked: () => asked ?? new URL("none:"),
    tokens: () => tokens,
    /** As if it had expired. */
    spoil: () => void (tokens = tokens && { ...tokens, access_token: "expired" }),
  };
}

export type Provided = ReturnType<typeof credentials>["provider"];

/** A browser: follows redirects and fills in forms, until it is sent back to the client; gives that URL. */
export async function browse(from: URL, answers: Record<string, string>): Promise<URL> {
  const callback = from.searchParams.get("redirect_uri") ?? CALLBACK;
  const cookies = new Map<string, string>();
  let url = from;
  let form: URLSearchParams | undefined;
  for (let step = 0; step < 20; step++) {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const how = form === undefined ? {} : { method: "POST", body: form };
    const response = await fetch(url, { ...how, headers: { cookie }, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    const location = response.headers.get("location");
    if (location !== null) {
      url = new URL(location, url);
      form = undefined;
      if (url.href.startsWith(callback)) return url;
      continue;
    }
    const text = await response.text();
    if (!text.includes("<form")) throw new Error(`${url} answers ${response.status}: ${text}`);
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(text) ?? [];
    url = action === undefined ? url : new URL(action, url);
    form = new URLSearchParams(answers);
    for (const [input] of text.matchAll(/<input[^>]*type="hidden"[^>]*>/g)) {
      form.set(/name="([^"]*)"/.exec(input)![1]!, /value="([^"]*)"/.exec(input)![1]!);
    }
  }
  throw new Error("Too many pages");
}
