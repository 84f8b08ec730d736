import type { AboutFeature } from "../../kernel/about.ts";
import type { Manifest } from "../../kernel/servlets/manifest.ts";

const hasFiles = ({ files }: Manifest): boolean => files !== undefined;

export default {
  bindings: ["TRANSFERS", "TRANSFERS_BUCKET"],
  off: "files that servlets make and take (the bucket is optional)",
  broughtInBy: [],
  servletsNeed: {
    bindings: ["TRANSFERS", "KEY_RING", "ATTEMPTS"],
    of: hasFiles,
    because: "makes or takes files",
  },
  storageCountedBy: "ATTEMPTS",
  reasonIn({ servlets }) {
    const found = servlets.find(({ manifest }) => hasFiles(manifest));
    return found && `the servlet ${found.name}, which makes or takes files`;
  },
  optional: {
    add: "Bind TRANSFERS in wrangler.toml",
    limits: ["transferBytes", "callerTransferBytes", "callerTransfers", "transferMs"],
  },
} satisfies AboutFeature;
