/** Fetches an entry's pane from the page at this address; null if the page has none, undefined without a response. */
export async function paneAt(address: string): Promise<HTMLElement | null | undefined> {
  const response = await fetch(address, { headers: { accept: "text/html" } }).catch(
    () => undefined,
  );
  if (response === undefined) return undefined;
  const text = response.ok ? await response.text() : "";
  // Skip the styles in the head: they have the nonce of the other page.
  const body = text.slice(text.indexOf("<body"));
  return new DOMParser().parseFromString(body, "text/html").querySelector<HTMLElement>(".pane");
}
