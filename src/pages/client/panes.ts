/** The pane of an entry as the page at this address has it; null where it has none, undefined where there is no answer. */
export async function paneAt(address: string): Promise<HTMLElement | null | undefined> {
  const response = await fetch(address, { headers: { accept: "text/html" } }).catch(
    () => undefined,
  );
  if (response === undefined) return undefined;
  const text = response.ok ? await response.text() : "";
  // The styles of its head have another nonce.
  const body = text.slice(text.indexOf("<body"));
  return new DOMParser().parseFromString(body, "text/html").querySelector<HTMLElement>(".pane");
}
