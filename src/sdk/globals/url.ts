import { encode, FRAGMENT, USER } from "./percent.ts";
import { owners, URLSearchParams } from "./search-params.ts";
import {
  addPath,
  encodeQuery,
  HOST_AND_PORT,
  isSpecial,
  NotUrl,
  parseUrl,
  pathOf,
  setHost,
  setPort,
  type UrlRecord,
  written,
} from "./url-parse.ts";

/** https://url.spec.whatwg.org/#url-class. Non-ASCII hosts come close to UTS 46, without its tables. */
export class URL {
  #url: UrlRecord;
  #params: URLSearchParams | undefined;

  constructor(url: string | { toString(): string }, base?: string | { toString(): string }) {
    try {
      this.#url = parseUrl(
        String(url).toWellFormed(),
        base === undefined ? undefined : parseUrl(String(base).toWellFormed(), undefined),
      );
    } catch (error) {
      if (!(error instanceof NotUrl)) throw error;
      throw new TypeError(`Invalid URL: ${String(url)}`, { cause: error });
    }
  }

  static parse(url: string | URL, base?: string | URL): URL | null {
    try {
      return new URL(url, base);
    } catch {
      return null;
    }
  }

  static canParse(url: string | URL, base?: string | URL): boolean {
    return URL.parse(url, base) !== null;
  }

  /** Changes a copy, and keeps it if it is a URL. */
  #set(change: (url: UrlRecord) => void): void {
    const { path } = this.#url;
    const copy = { ...this.#url, path: typeof path === "string" ? path : [...path] };
    try {
      change(copy);
    } catch (error) {
      if (error instanceof NotUrl) return;
      throw error;
    }
    this.#url = copy;
  }

  get #opaque(): boolean {
    return typeof this.#url.path === "string";
  }

  /** May it have a user and a port? */
  get #placed(): boolean {
    return !!this.#url.host && this.#url.protocol !== "file:";
  }

  get href(): string {
    return written(this.#url);
  }

  set href(value: string) {
    this.#url = new URL(value).#url;
    this.#tellParams();
  }

  get origin(): string {
    const { protocol } = this.#url;
    if (protocol === "blob:") {
      const inner = URL.parse(pathOf(this.#url));
      return inner && /^https?:$/.test(inner.protocol) ? inner.origin : "null";
    }
    return isSpecial(protocol) && protocol !== "file:" ? `${protocol}//${this.host}` : "null";
  }

  get protocol(): string {
    return this.#url.protocol;
  }

  set protocol(value: string) {
    const [, scheme] = /^([a-z][a-z\d+.-]*)(?::|$)/i.exec(text(value)) ?? [];
    if (scheme === undefined) return;
    const protocol = `${scheme.toLowerCase()}:`;
    const { protocol: old, username, password, port, host } = this.#url;
    if (isSpecial(protocol) !== isSpecial(old)) return;
    if (protocol === "file:" && (username || password || port)) return;
    if (old === "file:" && host === "") return;
    this.#set((url) => {
      url.protocol = protocol;
      setPort(url, port);
    });
  }

  get username(): string {
    return this.#url.username;
  }

  set username(value: string) {
    if (this.#placed) this.#url.username = encode(text(value), USER);
  }

  get password(): string {
    return this.#url.password;
  }

  set password(value: string) {
    if (this.#placed) this.#url.password = encode(text(value), USER);
  }

  get host(): string {
    const { host, port } = this.#url;
    return `${host ?? ""}${port && `:${port}`}`;
  }

  set host(value: string) {
    this.#setHost(value, true);
  }

  get hostname(): string {
    return this.#url.host ?? "";
  }

  set hostname(value: string) {
    this.#setHost(value, false);
  }

  #setHost(value: string, withPort: boolean): void {
    const special = isSpecial(this.#url.protocol);
    const [place = ""] = text(value)
      .replace(/[\t\n\r]/g, "")
      .split(special ? /[/\\?#]/ : /[/?#]/);
    const [, name = "", port] = HOST_AND_PORT.exec(place) ?? [];
    const { username, password, port: old, protocol } = this.#url;
    const bare = name === "" && (port !== undefined || special || username || password || old);
    if (this.#opaque || (bare && protocol !== "file:")) return;
    if (port !== undefined && (!withPort || protocol === "file:")) return;
    this.#set((url) => {
      setHost(url, name);
      if (protocol === "file:" && url.host === "localhost") url.host = "";
    });
    const [digits = ""] = /^\d*/.exec(port ?? "") ?? [];
    if (digits !== "") this.#set((url) => setPort(url, digits));
  }

  get port(): string {
    return this.#url.port;
  }

  set port(value: string) {
    const [digits = ""] = /^\d*/.exec(text(value).replace(/[\t\n\r]/g, "")) ?? [];
    if (!this.#placed || (digits === "" && text(value) !== "")) return;
    this.#set((url) => setPort(url, digits));
  }

  get pathname(): string {
    return pathOf(this.#url);
  }

  set pathname(value: string) {
    if (this.#opaque) return;
    const path = text(value).replace(/[\t\n\r]/g, "");
    this.#url.path = [];
    addPath(this.#url, path === "" && this.#url.host === null ? "/" : path);
  }

  get search(): string {
    const { query } = this.#url;
    return query ? `?${query}` : "";
  }

  set search(value: string) {
    const query = text(value).replace(/[\t\n\r]/g, "");
    this.#url.query = query === "" ? null : encodeQuery(this.#url, query.replace(/^\?/, ""));
    this.#tellParams();
  }

  get searchParams(): URLSearchParams {
    if (this.#params) return this.#params;
    this.#params = new URLSearchParams(this.#url.query ?? "");
    owners.set(this.#params, (query) => {
      this.#url.query = query === "" ? null : query;
    });
    return this.#params;
  }

  #tellParams(): void {
    if (this.#params) URLSearchParams.replace(this.#params, this.#url.query ?? "");
  }

  get hash(): string {
    const { fragment } = this.#url;
    return fragment ? `#${fragment}` : "";
  }

  set hash(value: string) {
    const fragment = text(value).replace(/[\t\n\r]/g, "");
    this.#url.fragment = fragment === "" ? null : encode(fragment.replace(/^#/, ""), FRAGMENT);
  }

  toString(): string {
    return this.href;
  }

  toJSON(): string {
    return this.href;
  }
}

const text = (value: unknown): string => String(value).toWellFormed();
