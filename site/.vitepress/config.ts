/** The site of the documents: the pages of the repository as they are. Links to its other files lead to GitHub. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { renderMermaidSVG } from "beautiful-mermaid";
import { defineConfig, type MarkdownOptions } from "vitepress";
import { anchorOf } from "../../test/node/docs/pages.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const GITHUB = "https://github.com/edge-servlets/edge-servlets";

/** The groups of the menu, with the names of their pages in docs/. The last group gets the pages that no group names. */
const GROUPS = {
  Start: "projects gallery deploying clients console ../plugins/README",
  Servlets:
    "writing-servlets python other-languages components manifest packages openapi remote-servers sources",
  "What a servlet can do":
    "waiting-calls schedules state files calling-servlets events webhooks accounts views skills",
  "Coming from": "from-mcp-sdk from-mcp-agent hyper-mcp",
  Compare:
    "compare/mcp-agent compare/fastmcp compare/mcp-handler compare/hyper-mcp compare/wassette",
  "Running a server":
    "configuration access sign-in profiles installing open-tool-calling self-hosting operating watching",
  More: "architecture ../SECURITY ../CONTRIBUTING ../CHANGELOG",
};

const named = Object.entries(GROUPS).map(([text, names]) => ({
  text,
  pages: names.split(" ").map((name) => join("docs", `${name}.md`)),
}));
const known = new Set(named.flatMap(({ pages }) => pages));
named
  .at(-1)!
  .pages.push(...globSync("docs/**/*.md", { cwd: ROOT }).filter((page) => !known.has(page)));
/** The pages of the site, by their paths in the repository. */
const pages = new Set(["README.md", ...named.flatMap((group) => group.pages)]);

const titleOf = (page: string): string =>
  /^# (.*)$/m.exec(readFileSync(join(ROOT, page), "utf8"))![1]!;

/** Where a page is in the site: the README of a folder is its index. */
const placeOf = (page: string): string => page.replace(/README\.md$/, "index.md");

/** A relative link of a page, as the site or GitHub has its target. */
function targetOf(link: string, page: string): string {
  const [path, anchor] = link.split("#") as [string, string?];
  if (path === "" || /^[a-z]+:/.test(path)) return link;
  const target = join(dirname(page), decodeURI(path));
  if (!existsSync(join(ROOT, target)))
    throw new Error(`${page} links to ${link}, which is missing`);
  const place = pages.has(target) ? `/${placeOf(target)}` : `${GITHUB}/blob/HEAD/${target}`;
  return anchor === undefined ? place : `${place}#${anchor}`;
}

const markdown: MarkdownOptions = {
  anchor: { slugify: anchorOf },
  config(md) {
    md.core.ruler.push("repository-links", ({ tokens, env }) => {
      const page = relative(ROOT, env.realPath ?? env.path);
      for (const token of tokens.flatMap(({ children }) => children ?? [])) {
        if (token.type === "link_open")
          token.attrSet("href", targetOf(token.attrGet("href")!, page));
      }
    });
    const fence = md.renderer.rules.fence!;
    md.renderer.rules.fence = (tokens, at, ...others) => {
      const { info, content } = tokens[at]!;
      if (info !== "mermaid") return fence(tokens, at, ...others);
      const svg = renderMermaidSVG(content, {
        bg: "#ffffff",
        fg: "#27272a",
        muted: "#3f3f46",
        line: "#71717a",
      });
      return `<p><img alt="Diagram" src="data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}"></p>`;
    };
  },
};

export default defineConfig({
  title: "edge-servlets",
  description: "A folder of WebAssembly servlets as one remote MCP server on Cloudflare Workers",
  base: "/edge-servlets/",
  srcDir: ROOT,
  srcExclude: ["!(docs|plugins)/**/*.md", "plugins/*/**"],
  outDir: join(ROOT, ".bundle/site"),
  cacheDir: join(ROOT, ".bundle/site-cache"),
  rewrites: Object.fromEntries([...pages].map((page) => [page, placeOf(page)])),
  cleanUrls: true,
  ignoreDeadLinks: "localhostLinks",
  markdown,
  vite: {
    build: { target: "es2022" },
    plugins: [
      {
        // Files outside of this folder do not find Vue: rendered pages get it from here.
        name: "vue-of-this-folder",
        enforce: "pre",
        resolveId: (id, _, { ssr }) =>
          ssr === true && /^vue(\/|$)/.test(id) ? { id, external: true } : undefined,
      },
    ],
  },
  themeConfig: {
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: GITHUB }],
    editLink: { pattern: `${GITHUB}/edit/main/:path` },
    outline: [2, 3],
    sidebar: named.map((group) => ({
      text: group.text,
      items: group.pages.map((page) => ({
        text: titleOf(page),
        link: `/${placeOf(page).replace(/(index)?\.md$/, "")}`,
      })),
    })),
  },
});
