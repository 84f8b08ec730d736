import type { AboutFeature, Project } from "../../kernel/about.ts";
import { VIEW_TYPE } from "../../kernel/core/views.ts";

export default {
  isForInstalled: true,
  reasonIn({ servlets }) {
    const viewing = servlets.find(mayHaveViews);
    return viewing && `the servlet ${viewing.name}, which may have views`;
  },
} satisfies AboutFeature;

/** True for a servlet that has views or may list some. */
function mayHaveViews({ manifest, lists }: Project["servlets"][number]): boolean {
  if (manifest.views !== undefined || lists === undefined) return true;
  const isForViews = ({ name }: { name: string }) =>
    manifest.tools?.[name]?.visibility !== undefined;
  return (
    lists.resources.some(({ mimeType }) => mimeType === VIEW_TYPE) ||
    lists.tools.some(
      (tool) =>
        isForViews(tool) || Object.keys(tool._meta ?? {}).some((key) => /^ui(\/|$)/.test(key)),
    )
  );
}
