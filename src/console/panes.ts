/** Fetches the pane of an entry from the page at this address; null if the page has none, undefined if there is no answer. */
export async function paneAt(address: string): Promise<HTMLElement | null | undefined> {
  const response = await fetch(address, { headers: { accept: "text/html" } }).catch(
    () => undefined,
  );
  if (response === undefined) return undefined;
  const text = response.ok ? await response.text() : "";
  // The styles in that page's head have another nonce, so they are not taken over.
  const body = text.slice(text.indexOf("<body"));
  return new DOMParser().parseFromString(body, "text/html").querySelector<HTMLElement>(".pane");
}
