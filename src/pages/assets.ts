/** The script of the pages, which `npm run bundle` writes, from the assets of the deployment. */

export const SCRIPT_PATH = "/console/main.js";

/**
 * Answers with an asset below `/console/`; undefined without the binding ASSETS. The platform serves assets before the
 * Worker is asked: this is for those hosts that do not.
 */
export function assetsOf(
  env: object,
): ((request: Request, file: string) => Promise<Response>) | undefined {
  const { ASSETS: assets } = env as { ASSETS?: Fetcher };
  if (assets === undefined) return undefined;
  return async ({ url }, file) => {
    const isName = /^[\w-]+\.js$/.test(file);
    const found = isName ? await assets.fetch(new URL(`/console/${file}`, url)) : undefined;
    if (found?.status !== 200) return new Response("Not found. Reload the page.", { status: 404 });
    const headers = {
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
    };
    return new Response(found.body, { headers });
  };
}
