/** Who may hear of changes: of resources, and servlets of a client's roots. */
import { Fault, noResource } from "../core/errors.ts";
import type { PreparedServlet } from "./bundle.ts";
import { resourceOwner, resourceAt, type Offered } from "./resolver.ts";
import { SERVER_SERVLET } from "./scopes.ts";

/**
 * True if the caller may hear of changes of the resource with this URI, which `teller`, a servlet, tells of. One that no
 * servlet lists could be of any that the scopes grant.
 */
export async function hears(uri: string, of: Offered, teller?: string): Promise<boolean> {
  const { may, isWhole } = of.access;
  if (isWhole) return true;
  if (teller !== undefined && !may(teller, uri)) return false;
  const { servlet } = (await resourceOwner(uri, of)) ?? {};
  if (servlet !== undefined) return may(servlet.name, uri);
  return of.servlets.some(({ name }) => may(name, uri) && name !== SERVER_SERVLET);
}

/** Throws `insufficient_scope` or `not_found` where the caller may not hear of changes of this resource. */
export async function demandHearing(uri: string, of: Offered): Promise<void> {
  await resourceAt(uri, of);
  if (await hears(uri, of)) return;
  if (!of.access.isNarrow) throw noResource(uri);
  const scope = `*:${uri}`;
  throw new Fault(
    "insufficient_scope",
    `The token lacks a scope for the resource ${uri}. Request a token with one, such as ${scope}.`,
    { data: { scope } },
  );
}

/** The servlets that handle changed roots, among those that offer their caller anything. */
export async function rootsListeners(of: Offered): Promise<PreparedServlet[]> {
  const { versions, prompts, resources, templates } = await of.catalog();
  const offered = [...versions, ...prompts.values(), ...resources.values(), ...templates];
  const offering = new Set(offered.map(({ servlet }) => servlet));
  return of.servlets.filter(
    (one) => of.servlet(one).rootsChanged && (of.access.isWhole || offering.has(one)),
  );
}
