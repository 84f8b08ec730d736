/** Who is notified of changes: clients of resources, and servlets of a client's roots. */
import { Fault, noResource } from "../core/errors.ts";
import type { PreparedServlet } from "./bundle.ts";
import { resourceOwner, resourceAt, type Offered } from "./resolver.ts";
import { SERVER_SERVLET } from "./scopes.ts";

/**
 * True if the caller may be notified of changes of this resource, which the servlet `teller` reports. An unlisted
 * resource may belong to any servlet that the scopes grant.
 */
export async function hears(uri: string, of: Offered, teller?: string): Promise<boolean> {
  const { may, isWhole } = of.access;
  if (isWhole) return true;
  if (teller !== undefined && !may(teller, uri)) return false;
  const { servlet, own = uri } = (await resourceOwner(uri, of)) ?? {};
  if (servlet !== undefined) return may(servlet.name, own);
  return of.servlets.some(({ name }) => may(name, uri) && name !== SERVER_SERVLET);
}

/** Throws `insufficient_scope` or `not_found` if the caller may not be notified of changes of this resource. */
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
