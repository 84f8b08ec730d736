/** Uses of the web platform's classes, with results as JSON: run in the servlet and in Node, for comparison. */

const text = (bytes: ArrayBuffer | Uint8Array<ArrayBuffer>) => new TextDecoder().decode(bytes);
const bytes = (of: string) => new TextEncoder().encode(of);
const hex = (of: ArrayBuffer) => new Uint8Array(of).toHex();
const nameOf = (error: unknown) => (error as Error).name;
const tag = (value: unknown) => Object.prototype.toString.call(value);

/** Node has it, and not its types. */
const from = (items: Iterable<unknown>): ReadableStream<unknown> =>
  (ReadableStream as unknown as { from(all: typeof items): ReadableStream<unknown> }).from(items);

async function all(stream: ReadableStream<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const one of stream as unknown as AsyncIterable<unknown>) found.push(one);
  return found;
}

async function hmac(hash: string, key: string, data: string) {
  const algorithm = { name: "HMAC", hash };
  const made = await crypto.subtle.importKey("raw", bytes(key), algorithm, true, [
    "sign",
    "verify",
  ]);
  const signed = await crypto.subtle.sign("HMAC", made, bytes(data));
  const check = (of: string) => crypto.subtle.verify("HMAC", made, signed, bytes(of));
  const other = new Uint8Array(signed).slice(1);
  return [
    hex(signed),
    await check(data),
    await check(`${data} `),
    await crypto.subtle.verify("HMAC", made, other, bytes(data)),
    made.algorithm,
    text((await crypto.subtle.exportKey("raw", made)) as ArrayBuffer),
  ];
}

const decoded = (label: string, options: object, ...parts: number[][]) => {
  try {
    const decoder = new TextDecoder(label, options);
    const last = parts.length - 1;
    const found = parts.map((part, at) =>
      decoder.decode(new Uint8Array(part), { stream: at < last }),
    );
    return [decoder.encoding, found, decoder.decode(new Uint8Array([65, 66]))];
  } catch (error) {
    return nameOf(error);
  }
};

export const cases: Record<string, () => unknown> = {
  blob: async () => {
    const blob = new Blob(["é", new Uint8Array([66, 67]), new Blob(["d"])], { type: "Text/X" });
    const part = blob.slice(2, -1, "a/b");
    const streamed = (await all(blob.stream() as ReadableStream<unknown>)) as Uint8Array[];
    return [
      [blob.size, blob.type, await blob.text(), tag(blob), blob instanceof File],
      [part.size, part.type, await part.text(), text(await part.arrayBuffer())],
      streamed.flatMap((one) => [...one]),
      [...(await new Blob([]).bytes())],
    ];
  },
  file: async () => {
    const file = new File(["x"], "a.txt", { type: "text/plain", lastModified: 5 });
    const { name, lastModified, size, type } = file;
    return [name, lastModified, size, type, file instanceof Blob, tag(file), await file.text()];
  },
  form: async () => {
    const form = new FormData();
    form.append("a", "1");
    form.append("b", "2");
    form.append("a", "3");
    form.append("f", new Blob(["x"], { type: "t/x" }));
    form.append("g", new File(["y"], "y.txt"), "z.txt");
    form.set("b", "4");
    const before = [form.get("a"), form.getAll("a"), form.has("b"), form.get("none")];
    form.delete("a");
    const entries = [...form].map(([name, value]) =>
      typeof value === "string" ? [name, value] : [name, value.name, value.type, value.size],
    );
    return [before, entries, [...form.keys()], tag(form)];
  },
  form_sent: async () => {
    const form = new FormData();
    form.append('na"me\r\n', "line\nbreak é");
    form.append("file", new Blob([new Uint8Array([0, 255, 13, 10])]), 'q".bin');
    const request = new Request("https://a.example/", { method: "POST", body: form });
    const type = request.headers.get("content-type") ?? "";
    const back = await request.formData();
    const file = back.get("file") as File;
    return [
      type.replace(/boundary=.*/, ""),
      [...back.keys()],
      back.get('na"me\r\n'),
      [file.name, file.type, [...new Uint8Array(await file.arrayBuffer())]],
    ];
  },
  form_urlencoded: async () => {
    const response = new Response(new URLSearchParams({ a: "1 2", b: "&" }));
    return [...(await response.formData())];
  },
  form_wrong: async () => new Response("x").formData().catch(nameOf),
  body_of_blob: async () => {
    const response = new Response(new Blob(["{}"], { type: "application/json" }));
    return [response.headers.get("content-type"), await response.json(), response.bodyUsed];
  },
  blob_of_body: async () => {
    const blob = await new Response("é", { headers: { "content-type": "a/b" } }).blob();
    return [blob.type, blob.size];
  },
  events: () => {
    const seen: unknown[] = [];
    const target = new EventTarget();
    const twice = (event: Event) => seen.push("twice", event.type);
    target.addEventListener("a", twice);
    target.addEventListener("a", twice);
    target.addEventListener("a", () => seen.push("once"), { once: true });
    target.addEventListener("a", { handleEvent: (event: Event) => void event.preventDefault() });
    const first = new Event("a", { cancelable: true });
    const last = new CustomEvent("a", { detail: { n: 1 } });
    const answers = [target.dispatchEvent(first), target.dispatchEvent(last)];
    target.removeEventListener("a", twice);
    target.dispatchEvent(new Event("a"));
    return [seen, answers, first.defaultPrevented, last.detail, first.target === target];
  },
  events_stopped: () => {
    const seen: string[] = [];
    const target = new EventTarget();
    const stop = new AbortController();
    target.addEventListener("a", () => seen.push("aborted"), { signal: stop.signal as never });
    target.addEventListener("a", (event: Event) => {
      seen.push("first");
      event.stopImmediatePropagation();
    });
    target.addEventListener("a", () => seen.push("never"));
    stop.abort();
    target.dispatchEvent(new Event("a"));
    return seen;
  },
  subclass: () => {
    class Source extends EventTarget {
      tell(data: string) {
        return this.dispatchEvent(new MessageEvent("message", { data }));
      }
    }
    const seen: unknown[] = [];
    const source = new Source();
    source.addEventListener("message", (event: Event) =>
      seen.push((event as MessageEvent<string>).data),
    );
    return [source.tell("x"), seen];
  },
  abort: () => {
    const controller = new AbortController();
    const { signal } = controller;
    const seen: unknown[] = [];
    signal.onabort = () => void seen.push("onabort");
    signal.addEventListener("abort", (event: Event) =>
      seen.push(event.type, event.target === signal),
    );
    const any = AbortSignal.any([signal, new AbortController().signal]);
    controller.abort();
    controller.abort("again");
    return [seen, signal instanceof EventTarget, nameOf(signal.reason), any.aborted, tag(signal)];
  },
  body: async () => {
    const response = new Response("héllo");
    const { body } = response;
    const before = [response.bodyUsed, body?.locked, tag(body), response.body === body];
    const read = (await all(body as ReadableStream<unknown>)) as Uint8Array<ArrayBuffer>[];
    return [before, read.map(text), response.bodyUsed, await response.text().catch(nameOf)];
  },
  body_none: () => [new Response().body, new Response(null, { status: 204 }).body],
  body_locked: async () => {
    const response = new Response("x");
    response.body?.getReader();
    return [await response.text().catch(nameOf), response.body?.locked];
  },
  body_through: async () => {
    const decoder = new TextDecoderStream();
    const stream = new Response("a€b").body!.pipeThrough(
      decoder as never,
    ) as ReadableStream<unknown>;
    return (await all(stream)).join("");
  },
  body_from_stream: async () => {
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        controller.enqueue(bytes('{"a":'));
        controller.enqueue(bytes("[1]}"));
        controller.close();
      },
    });
    const response = new Response(stream as never);
    const clone = response.clone();
    return [await response.json(), await clone.text(), response.headers.get("content-type")];
  },
  reader: async () => {
    const reader = new Response("xy").body!.getReader();
    const first = await reader.read();
    const second = await reader.read();
    return [
      text(first.value as Uint8Array<ArrayBuffer>),
      first.done,
      second.done,
      await reader.closed,
    ];
  },
  pulled: async () => {
    let count = 0;
    const stream = new ReadableStream<number>({
      pull(controller) {
        if (count === 3) controller.close();
        else controller.enqueue(count++);
      },
    });
    return all(stream as ReadableStream<unknown>);
  },
  pulled_later: async () => {
    let count = 0;
    const stream = new ReadableStream<number>({
      async pull(controller) {
        await null;
        controller.enqueue(count++);
        if (count === 3) controller.close();
      },
    });
    const reader = stream.getReader();
    const reads = await Promise.all([reader.read(), reader.read(), reader.read(), reader.read()]);
    return reads.map(({ done, value }) => [done, value]);
  },
  failed: async () => {
    const stream = new ReadableStream({
      start: (controller) => controller.error(new RangeError("broken")),
    });
    return all(stream as ReadableStream<unknown>).catch(nameOf);
  },
  cancelled: async () => {
    const seen: unknown[] = [];
    const stream = new ReadableStream<number>({
      pull: (controller) => controller.enqueue(1),
      cancel: (reason) => void seen.push(reason),
    });
    for await (const one of stream as unknown as AsyncIterable<number>) {
      seen.push(one);
      break;
    }
    return [seen, stream.locked];
  },
  tee: async () => {
    const [one, other] = new Response("xyz").body!.tee();
    return [await new Response(one as never).text(), await new Response(other as never).text()];
  },
  transformed: async () => {
    const numbers = function* () {
      for (let n = 0; ; n++) yield n;
    };
    const doubled = new TransformStream<number, number>({
      transform: (n, controller) => controller.enqueue(n * 2),
    });
    const seen: number[] = [];
    const stream = from(numbers()).pipeThrough(doubled as never);
    for await (const n of stream as unknown as AsyncIterable<number>) {
      if (n > 6) break;
      seen.push(n);
    }
    return seen;
  },
  flushed: async () => {
    const upper = new TransformStream<string, string>({
      start: (controller) => controller.enqueue("<"),
      transform: (part, controller) => controller.enqueue(part.toUpperCase()),
      flush: (controller) => controller.enqueue(">"),
    });
    return all(from(["a", "b"]).pipeThrough(upper as never) as ReadableStream<unknown>);
  },
  written: async () => {
    const seen: unknown[] = [];
    const stream = new WritableStream<string>({
      write: async (part) => void seen.push(part),
      close: () => void seen.push("closed"),
    });
    const writer = stream.getWriter();
    await writer.ready;
    await writer.write("a");
    await writer.write("b");
    await writer.close();
    return [seen, await writer.write("c").catch(nameOf), stream.locked];
  },
  piped: async () => {
    const seen: unknown[] = [];
    const sink = new WritableStream<string>({ write: (part) => void seen.push(part) });
    await from(["a", "b"]).pipeTo(sink as never);
    return seen;
  },
  digests: async () => {
    const names = ["SHA-1", "sha-256", "SHA-384", "SHA-512"];
    const hashes = await Promise.all(
      names.map((name) => crypto.subtle.digest(name, bytes("é".repeat(1000)))),
    );
    const empty = await crypto.subtle.digest({ name: "SHA-256" }, new Uint8Array());
    return [...hashes, empty].map(hex);
  },
  hmacs: () =>
    Promise.all(
      ["SHA-1", "SHA-256", "SHA-384", "SHA-512"].map((hash) => hmac(hash, "key é", "the data")),
    ),
  hmac_long_key: () => hmac("SHA-256", "k".repeat(200), ""),
  aes: async () => {
    const raw = Uint8Array.from({ length: 32 }, (_, at) => at);
    const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
    const iv = new Uint8Array(12).fill(7);
    const params = { name: "AES-GCM", iv, additionalData: bytes("more"), tagLength: 96 };
    const secret = await crypto.subtle.encrypt(params, key, bytes("secret"));
    const open = (given: object, data = secret) =>
      crypto.subtle.decrypt({ ...params, ...given }, key, data).then(text, nameOf);
    return [
      hex(secret),
      await open({}),
      await open({ additionalData: bytes("less") }),
      await open({}, secret.slice(1)),
      await crypto.subtle.exportKey("raw", key).catch(nameOf),
    ];
  },
  aes_made: async () => {
    const usages = ["encrypt", "decrypt"] as ("encrypt" | "decrypt")[];
    const key = (await crypto.subtle.generateKey(
      { name: "AES-GCM", length: 128 },
      true,
      usages,
    )) as CryptoKey;
    const jwk = (await crypto.subtle.exportKey("jwk", key)) as { k: string; alg: string };
    const again = await crypto.subtle.importKey("jwk", jwk as never, "AES-GCM", false, ["decrypt"]);
    const params = { name: "AES-GCM", iv: crypto.getRandomValues(new Uint8Array(12)) };
    const secret = await crypto.subtle.encrypt(params, key, bytes("x"));
    return [text(await crypto.subtle.decrypt(params, again, secret)), jwk.alg, key.type, tag(key)];
  },
  wrong_usage: async () => {
    const key = await crypto.subtle.importKey("raw", bytes("k".repeat(16)), "AES-GCM", false, [
      "decrypt",
    ]);
    const params = { name: "AES-GCM", iv: new Uint8Array(12) };
    return crypto.subtle.encrypt(params, key, bytes("x")).then(hex, nameOf);
  },
  latin: () =>
    ["latin1", "windows-1252", "ascii", " ISO-8859-1\n", "iso-8859-15", "macintosh", "koi8-r"].map(
      (label) =>
        decoded(
          label,
          {},
          Array.from({ length: 256 }, (_, at) => at),
        ),
    ),
  by_two: () => [
    decoded("shift_jis", {}, [0x93, 0xfa, 0x96], [0x7b, 0x8c, 0xea]),
    decoded("euc-jp", {}, [0xc6, 0xfc, 0xcb], [0xdc]),
    decoded("gbk", {}, [0xd6], [0xd0, 0xce], [0xc4]),
    decoded("big5", {}, [0xa4, 0xa4, 0xa4], [0xe5]),
    decoded("euc-kr", {}, [0xc7, 0xd1, 0xb1], [0xdb]),
    decoded(
      "iso-2022-jp",
      {},
      [0x1b, 0x24, 0x42, 0x46, 0x7c],
      [0x4b, 0x5c, 0x1b, 0x28, 0x42, 0x61],
    ),
    decoded("utf-16be", {}, [0xfe, 0xff, 0x00], [0x41, 0xd8, 0x3d], [0xdc, 0xa9]),
  ],
  fatal: () => [
    decoded("windows-1253", { fatal: true }, [0xaa]),
    decoded("shift_jis", { fatal: true }, [0x93, 0xfa]),
    decoded("utf-16be", { ignoreBOM: true }, [0xfe, 0xff, 0, 65]),
    decoded("replacement", {}, [65]),
    decoded("latin-1", {}, [65]),
  ],
};
