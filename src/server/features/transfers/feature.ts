import { SEND_SCRIPT_PATH, UPLOAD_FILE } from "../../kernel/core/files.ts";
import type { Feature } from "../../kernel/kernel.ts";
import { objectClassWith } from "../../kernel/object-class.ts";
import { READ_STORED_FILE } from "../../kernel/servlets/scopes.ts";
import { CallerTokens } from "../../kernel/storage/caller-tokens.ts";
import { filesContributor } from "./catalog.ts";
import { filesPage } from "./files-page.ts";
import { receiveFile, refusedTransfer, sendFile } from "./endpoint.ts";
import { transferFunctions } from "./functions.ts";
import { fitResult } from "./large-results.ts";
import type { UrlOf } from "./links.ts";
import { StoredFiles } from "./stored-files.ts";
import { readStoredFile, uploadFile } from "./tools.ts";
import { TransfersObject, type TransfersServer } from "./transfers-object.ts";
import { scriptResponse, sendScript, UPLOAD_SCRIPT_PATH, uploadScript } from "./upload-page.ts";
import { DOWNLOAD_PATH, UPLOAD_PATH } from "./wire.ts";

declare module "../../kernel/bindings.ts" {
  interface Env {
    /** Files that servlets make, and files that callers send to them, with `KEY_RING`. */
    TRANSFERS?: DurableObjectNamespace<TransfersObject>;
    /** The bytes of these files; without it, they are in the objects of `TRANSFERS`. */
    TRANSFERS_BUCKET?: R2Bucket;
  }
}

/** Files that servlets make for their callers, and files that callers send to servlets. */
export const transfersFeature: Feature = {
  name: "transfers",
  start(kernel) {
    const { env, settings, sealer, rateLimiter } = kernel;
    const { TRANSFERS: transfers, TRANSFERS_BUCKET: bucket } = env;
    const objects = {
      Transfers: objectClassWith(
        (): TransfersServer => ({
          sealer: kernel.sealing.sealer,
          bucket,
          countStored: (caller, bytes) => kernel.countStored(caller, bytes),
        }),
        TransfersObject,
      ),
    };
    if (transfers === undefined || sealer === undefined) return { objects };
    const files = new StoredFiles({
      objects: transfers,
      tokens: new CallerTokens(sealer, "files"),
      bucket,
    });
    let origin: string | undefined;
    const urlTo =
      (path: string): UrlOf =>
      (token, { link }) => {
        const here = settings.PUBLIC_URL ?? link?.origin ?? origin;
        return here && new URL(path.replace(":token", token), here).href;
      };
    const [download, upload] = [urlTo(DOWNLOAD_PATH), urlTo(UPLOAD_PATH)];
    return {
      objects,
      refusal: { paths: /^\/files\//, answer: (fault) => refusedTransfer(fault) },
      hostFunctions: transferFunctions(files, { urlOf: download, uploadUrlOf: upload }),
      deployment: { fitResult: fitResult(files, download) },
      catalog: filesContributor(files),
      tools: {
        server: {
          [UPLOAD_FILE]: uploadFile(files, upload),
          [READ_STORED_FILE]: readStoredFile(files),
        },
      },
      forget: (caller) => files.forget(caller),
      pages: [filesPage(files)],
      async served(_registry, request) {
        origin = new URL(request.url).origin;
      },
      routes(app) {
        const at = (path: string, answer: (raw: Request, token: string) => Promise<Response>) =>
          app.all(path, ({ req }) => {
            const admission = rateLimiter.enterUnknown(req.raw);
            const work = async () => {
              admission.leaving();
              await admission.quota.admit?.();
              return answer(req.raw, req.param("token")!);
            };
            return admission.until(work());
          });
        app.get(UPLOAD_SCRIPT_PATH, () => scriptResponse(uploadScript));
        app.get(SEND_SCRIPT_PATH, () => scriptResponse(sendScript));
        const { site, authenticator } = kernel;
        at(UPLOAD_PATH, (raw, token) => receiveFile(raw, token, { files, site, authenticator }));
        at(DOWNLOAD_PATH, (raw, token) => sendFile(raw, token, { files, authenticator }));
      },
    };
  },
};
