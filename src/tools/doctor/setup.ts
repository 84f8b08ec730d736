/** What an operator can see of the server's own configuration: missing bindings, and its public URL. */
import * as z from "zod";
import { DOCS } from "../bundle/own.ts";
import { notTried, right, wrong, type Finding } from "./finding.ts";
import { bearer, objectIn, send } from "./requests.ts";

const NAME = "Bindings";

const setupSchema = z.object({
  publicUrl: z.string().optional(),
  lacking: z.array(z.object({ bindings: z.array(z.string()), off: z.string() })),
});

/** Asks the server's operator endpoint, with the key if there is one. */
export async function checkSetup(
  endpoint: URL,
  key: string | undefined,
): Promise<readonly Finding[]> {
  const reply = await send(new URL("/operator/setup", endpoint), { headers: bearer(key) });
  if (reply.status === 401 || reply.status === 403)
    return [
      notTried(
        NAME,
        key === undefined
          ? "Only an operator sees them. Set EDGE_SERVLETS_KEY: npm run keys -- create NAME --scopes operator."
          : "The key may not operate. One that may: npm run keys -- create NAME --scopes operator.",
      ),
    ];
  const { data: setup } = setupSchema.safeParse(objectIn(reply));
  if (setup === undefined)
    return [
      notTried(
        NAME,
        `The server does not tell them (status ${reply.status}): it is of another version or project.`,
      ),
    ];
  const { publicUrl, lacking } = setup;
  return [
    publicUrl === undefined || URL.parse(publicUrl)?.origin === endpoint.origin
      ? right(
          "Public URL",
          publicUrl === undefined
            ? "PUBLIC_URL is not set, so the server goes by the host of each request."
            : `PUBLIC_URL is ${publicUrl}, as here.`,
        )
      : wrong(
          "Public URL",
          `PUBLIC_URL is ${publicUrl}, so tokens and pages are for that address and not for ${endpoint.origin}. Set it to this address, or give clients that one.`,
        ),
    ...lacking.map(({ bindings, off }) =>
      notTried(
        NAME,
        `${bindings.join(", ")} ${bindings.length === 1 ? "is" : "are"} not bound, so this is off: ${off}. To have it: ${DOCS}/deploying.md#bindings.`,
      ),
    ),
    ...(lacking.length === 0 ? [right(NAME, "All are bound.")] : []),
  ];
}
