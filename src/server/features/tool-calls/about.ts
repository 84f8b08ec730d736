import type { AboutFeature } from "../../kernel/about.ts";

export default {
  isForInstalled: true,
  reasonIn({ servlets }) {
    const calling = servlets.find(({ manifest: { may_call = [] } }) => may_call.length > 0);
    return calling && `the servlet ${calling.name}, which calls others`;
  },
} satisfies AboutFeature;
