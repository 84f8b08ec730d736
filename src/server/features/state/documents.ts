import { callerKey } from "../../kernel/core/callers.ts";
import { once } from "../../kernel/core/once.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { refOf, type PreparedServlet } from "../../kernel/servlets/bundle.ts";
import type { Viewer } from "../../kernel/servlets/deployment.ts";
import type { ServletState } from "./servlet-state.ts";
import type { StateDocument } from "./state-documents.ts";
import { scopeOf, stateName } from "./state-scopes.ts";

/** A text that one feature keeps beside the state of a servlet in one scope. It is stored sealed. */
export interface FeatureDocument {
  /** Tells it from the documents of other servlets and scopes. */
  readonly place: string;
  /** Returns undefined if there is no document. Throws `unavailable` if it cannot be read. */
  read(): Promise<StateDocument | undefined>;
  /**
   * Replaces the document that was read with this revision (0 if there was none). Returns false if the revision has changed since.
   * Throws `servlet_failed` if the caller's storage is full.
   */
  replace(document: StateDocument): Promise<boolean>;
}

/** Returns the document with this name beside the state that a servlet has for this caller. */
export type DocumentsOf = (
  name: string,
  servlet: PreparedServlet,
  viewer: Viewer,
) => FeatureDocument;

export const documentsIn =
  (objects: DurableObjectNamespace<ServletState>): DocumentsOf =>
  (name, servlet, viewer) => {
    const scope = scopeOf(servlet.manifest, viewer);
    // The name of the object is a digest: made only if it is asked.
    const state = once(() => objects.getByName(stateName(servlet.name, scope)));
    const caller = scope[0] === "server" ? undefined : callerKey(viewer.principal);
    return {
      place: [servlet.name, ...scope].join(" "),
      read: async () => unsettled(await state().document(servlet.name, name)),
      replace: async (document) =>
        unsettled(
          await state().replaceDocument({ servlet: refOf(servlet), caller, name }, document),
        ),
    };
  };
