import { Fault } from "../../kernel/core/errors.ts";
import { hasTable } from "../../kernel/storage/tables.ts";
import type { Facets, StateBackend } from "./state-backend.ts";

/** The name of the facet. */
export const FACET = "state";

/** True if a facet of this object has state that was not deleted. */
export const hasFacet = ({ storage }: DurableObjectState): boolean =>
  hasTable(storage.sql, "facet");

/** Deletes the state in a facet of this object without opening the facet. */
export function deleteFacet(object: DurableObjectState): void {
  if (!hasFacet(object)) return;
  object.facets.delete(FACET);
  object.storage.sql.exec("DROP TABLE facet");
}

/** The facets of a server that cannot install servlets: the state of earlier installs can only be deleted. */
export const noFacets: Facets = {
  open(object): StateBackend {
    const refuse = () =>
      Promise.reject(
        new Fault(
          "unavailable",
          "Servlets that are installed keep state only where the bindings LOADER and BUILDS are. Add them to wrangler.toml, or delete the state: npm run servlets -- state delete NAME",
        ),
      );
    return {
      call: refuse,
      summary: refuse,
      exported: refuse,
      imported: refuse,
      rowsAt: refuse,
      putRows: refuse,
      bytes: refuse,
      isEmpty: () => !hasFacet(object),
      delete: () => deleteFacet(object),
    };
  },
  delete: deleteFacet,
};
