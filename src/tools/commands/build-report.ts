/** Describes a build for the person who approves it: permissions, tools, and changes. */
import type { Build } from "../../server/features/installs/build.ts";
import {
  accountsOf,
  boundsOf,
  CONFIRMED,
  eventsOf,
  fileUseOf,
  keptFor,
  secretsOf,
  webhooksOf,
} from "../../server/features/installs/permissions.ts";
import { printable } from "../../server/kernel/core/text.ts";
import { skillsContributor } from "../../server/features/skills/skills.ts";
import { viewsContributor } from "../../server/features/views/views.ts";
import { merge } from "../../server/kernel/servlets/catalog.ts";
import type { Manifest } from "../../server/kernel/servlets/manifest.ts";
import { NO_ENTRIES } from "../../server/kernel/servlets/servlet.ts";
import { compare, buildLinesOf } from "../bundle/differences.ts";
import { row } from "./report.ts";

/** The permissions and lists of a build, as lines for the terminal. */
export function buildReport(build: Build): string {
  const { manifest, lists } = build;
  const rows = [
    ...permissionRows(manifest),
    ...(lists === undefined ? [DYNAMIC_LISTS] : offerRows(build)),
  ];
  return [printable(build.name), ...rows.map(([label, text]) => row(label, text))].join("\n");
}

/** The differences between two builds, as the lines of a diff. */
export const differences = (before: Build, after: Build): string =>
  compare(buildLinesOf(before), buildLinesOf(after)).map(printable).join("\n");

type Row = [label: string, text: string];

const DYNAMIC_LISTS: Row = [
  "lists",
  "asked for at run time, so what it offers may change at any time",
];

const some = (all: readonly string[]) => (all.length > 0 ? all.join(", ") : "none");

function permissionRows(manifest: Manifest): Row[] {
  const { allowed_hosts = [], allowed_paths = [], env_vars = {}, may_call = [] } = manifest;
  const { confirm_calls: confirmed } = manifest;
  const webhooks = webhooksOf(manifest);
  return [
    ["hosts", some(allowed_hosts)],
    ["calls", some(may_call)],
    ...(confirmed ? [["asks before", CONFIRMED[confirmed]] satisfies Row] : []),
    ["secrets", some(secretsOf(manifest))],
    ["accounts", some(accountsOf(manifest))],
    ["events", some(eventsOf(manifest))],
    ["files", some(fileUseOf(manifest))],
    ...(webhooks.length > 0 ? [["webhooks", webhooks.join(", ")] satisfies Row] : []),
    ["paths", some(allowed_paths)],
    ["keeps state", some(keptFor(manifest).map((whom) => `for ${whom}`))],
    ["config", some(Object.entries(env_vars).map(([name, value]) => `${name}=${value}`))],
    ["limits", boundsOf(manifest)],
  ];
}

/** Everything the build lists, by the names that clients see. Descriptions are complete, because models read them. */
function offerRows(build: Build): Row[] {
  const { lists = NO_ENTRIES } = build;
  const seen = merge([{ servlet: build, lists }], () => {}, {
    contributors: [viewsContributor, skillsContributor],
  }).lists;
  const text = (description = "no description") => description.replace(/\s+/g, " ");
  return [
    ...seen.tools.map((one): Row => [`tool ${one.name}`, text(one.description)]),
    ...seen.resources.map((one): Row => [`resource ${one.uri}`, text(one.description)]),
    ...seen.resourceTemplates.map((one): Row => [
      `template ${one.uriTemplate}`,
      text(one.description),
    ]),
    ...seen.prompts.map((one): Row => [`prompt ${one.name}`, text(one.description)]),
  ];
}
