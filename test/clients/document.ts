import { CLIENTS, type Client } from "./table.ts";
import { THINGS, type Thing } from "./things.ts";

export interface Row {
  client: Client;
  revision: string;
  cells: Partial<Record<Thing, string>>;
}

/** Short name of an upstream issue in a cell: `go-sdk#1283`. */
const shortName = (url: string): string => {
  const [, repository, number] = /github\.com\/[^/]+\/([^/]+)\/(?:issues|pull)\/(\d+)/.exec(url)!;
  return `${repository}#${number}`;
};

const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

/** docs/clients.md. Clients that did not run keep their lines from before, and sections written by hand stay. */
export function document(rows: readonly Row[], stay: string, before: string): string {
  const things = Object.entries(THINGS);
  const ran = rows.map(({ client, revision, cells }) => {
    const { upstream = {} } = client;
    const shown = things.map(([key]) => {
      const thing = key as keyof typeof THINGS;
      const cell = cells[thing] ?? "not tried";
      if (cell === "ok") return "ok";
      if (cell === "not offered") return "–";
      if (cell === "not tried") return "?";
      const issue = upstream[`${thing}@${revision}`] ?? upstream[thing];
      return issue === undefined ? "**failed**" : `[${shortName(issue)}](${issue})`;
    });
    return line([`${client.title} ${client.version}`, revision, ...shown]);
  });
  const lines = [...ran, ...before.split("\n")];
  const table = CLIENTS.flatMap(({ title, version, revisions }) =>
    revisions.flatMap((revision) => {
      const head = line([`${title} ${version}`, revision]);
      return lines.find((one) => one.startsWith(head.slice(0, -1))) ?? [];
    }),
  );
  const sections = /\n## .*/s.exec(before)?.[0] ?? "";
  const notes = CLIENTS.flatMap(({ title, note }) => (note ? [`- **${title}**: ${note}`] : []));
  return `# Which clients work

Real clients, each in its own language, against this server. \`npm run clients -- --write\` makes this page;
\`npm run clients -- --only go-sdk,python-1\` runs some. A client whose toolchain is not on the machine is skipped.
[test/clients](../test/clients/README.md) tells how to add one.

${line(["client", "revision", ...things.map(([key]) => key)])}
${line(["---", "---", ...things.map(() => "---")])}
${table.join("\n")}

ok: it does so. –: the client, or the revision, has nothing for it. ?: it was not tried. An issue: it goes wrong on the
client's side. failed: it goes wrong, and the notes say what is known of it.

| column | the client |
| --- | --- |
${things.map(([key, meaning]) => line([key, meaning])).join("\n")}

They stayed for ${stay} minutes.

${notes.join("\n")}
${sections}`;
}
