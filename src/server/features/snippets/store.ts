import { Fault } from "../../kernel/core/errors.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import type { Json } from "../../kernel/core/model.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import type { Viewer } from "../../kernel/servlets/deployment.ts";
import type { DocumentsOf } from "../state/documents.ts";
import { limits } from "./limits.ts";

/** A script that a caller has saved under a name. */
export interface Snippet {
  name: string;
  description: string;
  code: string;
  /** The JSON Schema of its arguments: any object if absent. */
  input?: Json | undefined;
  /** True if it is a tool of the caller. */
  listed?: boolean | undefined;
}

/** Objects that are known to have no listed snippet. */
const MOST_EMPTY = 1000;

/** How often a change is tried again that another one has overtaken. */
const TRIES = 10;

/** The snippets of callers, in one document beside the state of the servlet that runs them. */
export class SnippetStore {
  readonly #documents: DocumentsOf;
  /** Objects that had no listed snippet, with the Unix time in ms at which they were asked. */
  readonly #empty = new Map<string, number>();
  /** How often this isolate has changed snippets. */
  #changes = 0;

  constructor(documents: DocumentsOf) {
    this.#documents = documents;
  }

  /** The snippets of a caller, by name. */
  async all(servlet: PreparedServlet, viewer: Viewer): Promise<readonly Snippet[]> {
    const document = await this.#documents("snippets", servlet, viewer).read();
    return snippetsIn(document?.text);
  }

  /**
   * The snippets that are tools of a caller. Most callers have none, and list tools again and again: their objects are asked once
   * in `limits.noSnippetsMs`, unless this isolate has changed their snippets since. A session lists again when it hears of a change,
   * and perhaps never after that: for one, the object is always asked.
   */
  async listed(servlet: PreparedServlet, viewer: Viewer): Promise<readonly Snippet[]> {
    const { place, read } = this.#documents("snippets", servlet, viewer);
    const isCached = viewer.session === undefined;
    if (isCached && isRecent(this.#empty.get(place) ?? -Infinity, limits.noSnippetsMs)) return [];
    const before = this.#changes;
    const listed = snippetsIn((await read())?.text).filter((one) => one.listed === true);
    if (listed.length === 0 && this.#changes === before) {
      this.#empty.delete(place);
      this.#empty.set(place, Date.now());
      if (this.#empty.size > MOST_EMPTY) this.#empty.delete(this.#empty.keys().next().value!);
    }
    return listed;
  }

  /** Saves a snippet in place of one with its name, which it returns. Throws `invalid_params` if there are too many. */
  save(servlet: PreparedServlet, viewer: Viewer, snippet: Snippet): Promise<Snippet | undefined> {
    return this.#change(servlet, viewer, snippet.name, (others) => {
      if (others.length >= limits.snippets)
        throw new Fault(
          "invalid_params",
          `there are ${others.length} snippets, and that is the most. Delete one first.`,
        );
      const all = [...others, snippet].toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const over = JSON.stringify(all).length - limits.snippetCharacters;
      if (over <= 0) return all;
      throw new Fault(
        "invalid_params",
        `all snippets together would be ${over} characters too long (limit ${limits.snippetCharacters}). Delete one first, or save a shorter one.`,
      );
    });
  }

  /** Deletes the snippet with this name, which it returns. */
  delete(servlet: PreparedServlet, viewer: Viewer, name: string): Promise<Snippet | undefined> {
    return this.#change(servlet, viewer, name, (others) => others);
  }

  /** Changes the snippets other than that with this name, which it returns. */
  async #change(
    servlet: PreparedServlet,
    viewer: Viewer,
    name: string,
    change: (others: readonly Snippet[]) => readonly Snippet[],
  ): Promise<Snippet | undefined> {
    const document = this.#documents("snippets", servlet, viewer);
    for (let tries = 0; tries < TRIES; tries++) {
      const { text, revision = 0 } = (await document.read()) ?? {};
      const before = snippetsIn(text);
      const found = before.find((one) => one.name === name);
      const changed = JSON.stringify(change(before.filter((one) => one !== found)));
      if (changed === (text ?? "[]")) return found;
      const isDone = await document.replace({ text: changed, revision });
      this.#changes++;
      this.#empty.delete(document.place);
      if (isDone) return found;
    }
    throw new Fault("invalid_params", "others change the snippets all the time. Try again.");
  }
}

const snippetsIn = (text = "[]") => JSON.parse(text) as readonly Snippet[];
