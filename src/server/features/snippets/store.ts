import { Fault } from "../../kernel/core/errors.ts";
import { isRecent } from "../../kernel/core/recent.ts";
import type { Json } from "../../kernel/core/model.ts";
import type { PreparedServlet } from "../../kernel/servlets/bundle.ts";
import type { Viewer } from "../../kernel/servlets/deployment.ts";
import type { DocumentsOf, FeatureDocument } from "../state/documents.ts";
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

/** Maximum number of objects remembered as having no listed snippet. */
const MOST_EMPTY = 1000;

/** How often a change is tried if others change the document at the same time. */
const TRIES = 10;

/** The snippets of callers, in one document beside the state of the servlet that runs them. */
export class SnippetStore {
  readonly #documents: DocumentsOf;
  /** Objects without a listed snippet, with the Unix time in ms at which they were read. */
  readonly #empty = new Map<string, number>();
  /** Number of changes by this isolate: a list that was read before a change is not remembered. */
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
   * The snippets that are tools of a caller. Most callers have none and list tools often: their objects are read at most once in
   * `limits.noSnippetsMs`, unless this isolate has changed their snippets since. For a session, the object is always read: its
   * client lists tools when it hears of a change, and may never list them again.
   */
  listed(
    servlet: PreparedServlet,
    viewer: Viewer,
  ): readonly Snippet[] | Promise<readonly Snippet[]> {
    const document = this.#documents("snippets", servlet, viewer);
    const readAt = this.#empty.get(document.place) ?? -Infinity;
    const isCached = viewer.session === undefined && isRecent(readAt, limits.noSnippetsMs);
    return isCached ? [] : this.#listedIn(document);
  }

  async #listedIn({ place, read }: FeatureDocument): Promise<readonly Snippet[]> {
    const before = this.#changes;
    const listed = snippetsIn((await read())?.text).filter((one) => one.listed === true);
    if (listed.length === 0 && this.#changes === before) {
      this.#empty.delete(place);
      this.#empty.set(place, Date.now());
      if (this.#empty.size > MOST_EMPTY) this.#empty.delete(this.#empty.keys().next().value!);
    }
    return listed;
  }

  /** Saves a snippet; returns the one that it replaces. Throws `invalid_params` if there are too many. */
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

  /** Deletes the snippet with this name; returns it. */
  delete(servlet: PreparedServlet, viewer: Viewer, name: string): Promise<Snippet | undefined> {
    return this.#change(servlet, viewer, name, (others) => others);
  }

  /** Replaces all snippets by `change` of those with other names; returns the one with this name. */
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
      const forget = () => {
        this.#changes++;
        this.#empty.delete(document.place);
      };
      // Before: the client may leave, and nothing goes on. Afterwards: also if the answer is lost.
      forget();
      try {
        if (await document.replace({ text: changed, revision })) return found;
      } finally {
        forget();
      }
    }
    throw new Fault("invalid_params", "other calls keep changing the snippets. Try again.");
  }
}

const snippetsIn = (text = "[]") => JSON.parse(text) as readonly Snippet[];
