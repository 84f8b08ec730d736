/** Performs operations of stores over HTTP: a list of method and arguments in, what each gave out. */
type Step = [store: "KV" | "BUCKET", method: string, ...args: unknown[]];

export default {
  async fetch(request: Request, env: Record<Step[0], any>) {
    const given: unknown[] = [];
    for (const [store, method, ...args] of await request.json<Step[]>()) {
      try {
        given.push(await plain(await env[store][method](...args.map(revived))));
      } catch (error) {
        given.push({ error: String(error) });
      }
    }
    return Response.json(given);
  },
};

/** Large values and bytes are named, not sent. */
function revived(value: any): any {
  if (value?.bytes === undefined) return value;
  return new Uint8Array(value.bytes).map((_, at) => at % 251);
}

async function plain(value: any): Promise<unknown> {
  if (value?.body) {
    const bytes = new Uint8Array(await value.arrayBuffer());
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return { key: value.key, size: value.size, length: bytes.length, sha256: digest.toHex() };
  }
  if (value?.objects) {
    const { objects, truncated } = value;
    return { truncated, keys: objects.map(({ key, size }: any) => [key, size]) };
  }
  if (value?.uploaded) return { key: value.key, size: value.size };
  if (value?.list_complete === false) return { ...value, cursor: "(a cursor)" };
  return value ?? null;
}
