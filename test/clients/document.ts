import { CLIENTS } from "./table.ts";
import { THINGS } from "./things.ts";
import type { Row } from "./main.ts";

/** Short name of an upstream issue in a cell: `go-sdk#1283`. */
const shortName = (url: string): string => {
  const [, repository, number] = /github\.com\/[^/]+\/([^/]+)\/(?:issues|pull)\/(\d+)/.exec(url)!;
  return `${repository}#${number}`;
};

/** docs/clients.md. */
export function document(rows: readonly Row[], stay: string): string {
  const things = Object.entries(THINGS);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const table = rows.map(({ client, revision, cells }) => {
    const { upstream = {} } = client;
    const shown = things.map(([key]) => {
      const thing = key as keyof typeof THINGS;
      const cell = cells[thing] ?? "–";
      if (cell === "ok") return "ok";
      if (cell === "not offered") return "–";
      const issue = upstream[`${thing}@${revision}`] ?? upstream[thing];
      return issue === undefined ? "**failed**" : `[${shortName(issue)}](${issue})`;
    });
    return line([`${client.title} ${client.version}`, revision, ...shown]);
  });
  const notes = CLIENTS.flatMap(({ title, note }) => (note ? [`- **${title}**: ${note}`] : []));
  return `# Which clients work

Real clients, each in its own language, against this server. \`npm run clients -- --write\` makes this page;
\`npm run clients -- --only go-sdk,python-1\` runs some. A client whose toolchain is not on the machine is skipped.
[test/clients](../test/clients/README.md) tells how to add one.

${line(["client", "revision", ...things.map(([key]) => key)])}
${line(["---", "---", ...things.map(() => "---")])}
${table.join("\n")}

ok: it does so. –: the client, or the revision, has nothing for it. An issue: it goes wrong on the client's side. failed:
it goes wrong, and the notes say what is known of it.

| column | the client |
| --- | --- |
${things.map(([key, meaning]) => line([key, meaning])).join("\n")}

They stayed for ${stay} minutes.

${notes.join("\n")}
`;
}
