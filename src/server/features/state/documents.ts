import { callerKey } from "../../kernel/core/callers.ts";
import { unsettled } from "../../kernel/core/settled.ts";
import { refOf, type PreparedServlet } from "../../kernel/servlets/bundle.ts";
import type { Viewer } from "../../kernel/servlets/deployment.ts";
import type { ServletState } from "./servlet-state.ts";
import type { StateDocument } from "./state-documents.ts";
import { scopeOf, stateName } from "./state-scopes.ts";

/** What one feature keeps beside the state of a servlet in one scope: a text, which is stored sealed. */
export interface FeatureDocument {
  /** The name of the object that has it. */
  readonly place: string;
  /** Undefined if nothing is kept. Throws `unavailable` if it cannot be read. */
  read(): Promise<StateDocument | undefined>;
  /**
   * Replaces the text that was read with this revision, 0 if there was none. False if there is another one by now. Throws
   * `servlet_failed` if there is no room for the caller.
   */
  replace(document: StateDocument): Promise<boolean>;
}

/** The document of this name beside the state that a servlet has for this caller. */
export type DocumentsOf = (
  name: string,
  servlet: PreparedServlet,
  viewer: Viewer,
) => FeatureDocument;

export const documentsIn =
  (objects: DurableObjectNamespace<ServletState>): DocumentsOf =>
  (name, servlet, viewer) => {
    const scope = scopeOf(servlet.manifest, viewer);
    const place = stateName(servlet.name, scope);
    const state = objects.getByName(place);
    const caller = scope[0] === "server" ? undefined : callerKey(viewer.principal);
    return {
      place,
      read: async () => unsettled(await state.document(servlet.name, name)),
      replace: async (document) =>
        unsettled(await state.replaceDocument({ servlet: refOf(servlet), caller, name }, document)),
    };
  };
