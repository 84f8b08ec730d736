/** Ten tasks as scripts that a model would write; each is a function body with `tools`, and returns a text. */
export interface Workflow {
  name: string;
  script: string;
  /** A tool in it may destroy something, which its user must allow. */
  asks?: true;
}

export const workflows: readonly Workflow[] = [
  {
    name: "three small calls",
    script: `const { tasks } = await tools.list_tasks();
const waiting = tasks.filter(({ column }) => column === "to do");
const { notes } = await tools.list_notes({ limit: 5 });
const { meaning } = await tools.lookup_status({ code: 503 });
return \`\${waiting.length} tasks to do, \${notes.length} notes; 503: \${meaning}\`;`,
  },
  {
    name: "a chart of two lists",
    script: `const [bugs, features] = await Promise.all(
  ["bug", "feature"].map((label) => tools.list_issues({ label })),
);
const month = ({ created }) => Number(created.slice(5, 7)) - 1;
const count = ({ issues }) => {
  const months = [0, 0, 0, 0, 0, 0];
  for (const issue of issues) months[month(issue)] = (months[month(issue)] ?? 0) + 1;
  return months;
};
const [chart] = await tools.draw_chart({
  values: count(bugs), name: "bugs", series: [{ name: "features", values: count(features) }],
  labels: ["Jan", "Feb", "Mar", "Apr", "May", "Jun"], kind: "bar", title: "New issues",
});
return chart.text;`,
  },
  {
    name: "closing after approval",
    asks: true,
    script: `const { issues } = await tools.list_issues({ state: "open", label: "stale" });
const oldest = issues.slice(0, 5);
const closed = await Promise.all(
  oldest.map(({ number }) => tools.close_issue({ number, comment: "Closed, since nobody has answered." })),
);
return \`Closed \${closed.map(({ number }) => "#" + number).join(", ")}.\`;`,
  },
  {
    name: "joining two lists",
    script: `const pagesOf = async (list, key) => {
  const first = await list(1);
  const others = Array.from({ length: first.pages - 1 }, (_, at) => list(at + 2));
  return [first, ...(await Promise.all(others))].flatMap((page) => page[key]);
};
const members = await pagesOf((page) => tools.list_members({ page }), "members");
const issues = await pagesOf((page) => tools.list_issues({ state: "open", page }), "issues");
const team = new Map(members.map(({ login, team }) => [login, team]));
const open = {};
for (const { assignee } of issues) open[team.get(assignee)] = (open[team.get(assignee)] ?? 0) + 1;
return Object.entries(open).sort().map(([name, count]) => \`\${name}: \${count}\`).join("\\n");`,
  },
  {
    name: "sorting a board",
    script: `const { tasks } = await tools.list_tasks();
const wanted = tasks.filter(({ text }) => text.startsWith("Plan")).sort((a, b) => a.id - b.id);
for (const { id } of wanted) await tools.move_task({ id, column: "doing" });
return \`Moved \${wanted.length} tasks to doing.\`;`,
  },
  {
    name: "paging through issues",
    script: `const counts = {};
for (let page = 1, pages = 1; page <= pages; page++) {
  const found = await tools.list_issues({ page });
  pages = found.pages;
  for (const { labels } of found.issues) {
    for (const label of labels) counts[label] = (counts[label] ?? 0) + 1;
  }
}
return Object.entries(counts)
  .sort(([, a], [, b]) => b - a)
  .map(([label, count]) => \`\${label}: \${count}\`)
  .join("\\n");`,
  },
  {
    name: "renaming a set",
    script: `const wanted = [];
for (let page = 1; wanted.length < 15; page++) {
  const { issues, pages } = await tools.list_issues({ label: "bug", page });
  wanted.push(...issues.filter(({ title }) => !title.startsWith("bug: ")));
  if (page === pages) break;
}
const renamed = await Promise.all(
  wanted.slice(0, 15).map(({ number, title }) => tools.set_title({ number, title: "bug: " + title })),
);
return \`Renamed \${renamed.length}: \${renamed.map(({ number }) => "#" + number).join(", ")}\`;`,
  },
  {
    name: "retrying on 429",
    script: `const patiently = async (call) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const wait = /^.*429.*after ([\\d.]+) seconds/.exec(error.message);
      if (wait === null || attempt === 5) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * Number(wait[1])));
    }
  }
};
const names = ["api", "docs", "site", "agent", "worker", "console", "runtime", "compiler", "examples", "benchmark", "playground", "test-suite"];
const all = [];
for (const repository of names) all.push(await patiently(() => tools.repository_metrics({ repository })));
const [best] = all.sort((a, b) => b.visitors - a.visitors);
return \`\${best.repository} had the most visitors: \${best.visitors} of \${all.reduce((sum, one) => sum + one.visitors, 0)}\`;`,
  },
  {
    name: "reading twenty issues",
    script: `const { issues } = await tools.list_issues({ state: "open" });
const discussed = issues.slice(0, 19);
const whole = await Promise.all(discussed.map(({ number }) => tools.get_issue({ number })));
const silent = whole.filter(({ author, thread }) => !thread.some((one) => one.author !== author));
return "Nobody has answered " + silent.map(({ number, author }) => \`#\${number} (\${author})\`).join(", ");`,
  },
  {
    name: "who answers first",
    script: `const pages = await Promise.all([1, 2].map((page) => tools.list_issues({ page })));
const numbers = pages.flatMap(({ issues }) => issues).slice(0, 38).map(({ number }) => number);
const first = {};
for (const number of numbers) {
  const { thread, created } = await tools.get_issue({ number });
  const [answer] = thread;
  if (answer === undefined) continue;
  const days = (Date.parse(answer.written) - Date.parse(created)) / 86_400_000;
  (first[answer.author] ??= []).push(days);
}
const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length;
return Object.entries(first)
  .sort(([, a], [, b]) => b.length - a.length || mean(a) - mean(b))
  .slice(0, 5)
  .map(([who, days]) => \`\${who}: \${days.length} first answers, after \${mean(days).toFixed(1)} days\`)
  .join("\\n");`,
  },
];
