/** The page of a view: one HTML document that loads nothing, made of a script or of a document and the files that it names. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, extname, join } from "node:path";
import { compileFunction } from "node:vm";
import {
  build,
  type BuildFailure,
  type BuildOptions,
  formatMessages,
  type Plugin,
  transform,
} from "esbuild";
import { type DefaultTreeAdapterTypes, parse } from "parse5";
import type { Manifest } from "../servlets/manifest.ts";
import { DOCS, OWN_EXTENSION } from "./own.ts";
import { Refusal } from "./refusal.ts";

export type ManifestView = NonNullable<Manifest["views"]>[string];
type Csp = NonNullable<ManifestView["csp"]>;
type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;

/** The folder of the library for views. */
export const VIEW_LIBRARY = join(import.meta.dirname, "../view");

/** The library for JSX, which a view need not install. */
export const PREACT = dirname(createRequire(import.meta.url).resolve("preact/package.json"));

/** True for a file of which a page is made. */
export const isViewScript = (file: string): boolean => /\.[jt]sx?$/.test(file);

/** The page of a view whose script is this file. Throws a `Refusal`. */
export async function pageOfScript(path: string, view: ManifestView): Promise<string> {
  const { script, style } = await bundled({ entryPoints: [path] }, view);
  const title = view.title ?? basename(path, extname(path));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${FRAME_STYLE}${style}</style>
</head>
<body>
<script type="module">${script}</script>
</body>
</html>
`;
}

const FRAME_STYLE =
  ":root{color-scheme:light dark}body{margin:0;font-family:var(--font-sans,system-ui,sans-serif)}";

/** The document with the scripts, styles and images within that it names beside `path`. Throws a `Refusal`. */
export async function pageOfDocument(
  text: string,
  path: string,
  view: ManifestView,
): Promise<string> {
  const edits = await Promise.all(
    elementsIn(parse(text, { sourceCodeLocationInfo: true })).map((element) =>
      editsFor(element, text, { path, view }),
    ),
  );
  let page = text;
  for (const { from, to, by } of edits.flat().toSorted((a, b) => b.from - a.from))
    page = page.slice(0, from) + by + page.slice(to);
  return page;
}

/** A part of the document, from one offset to another, and what replaces it. */
interface Edit {
  from: number;
  to: number;
  by: string;
}

interface Around {
  /** The document's file. */
  path: string;
  view: ManifestView;
}

function elementsIn(node: Node): Element[] {
  const inside = "content" in node ? elementsIn(node.content) : [];
  const children = "childNodes" in node ? node.childNodes.flatMap(elementsIn) : [];
  return [...("tagName" in node ? [node] : []), ...inside, ...children];
}

/** By element: its attributes that name a file to load. */
const LOADING: Readonly<Record<string, readonly string[]>> = {
  audio: ["src"],
  embed: ["src"],
  iframe: ["src"],
  image: ["href"],
  img: ["src", "srcset"],
  input: ["src"],
  object: ["data"],
  source: ["src", "srcset"],
  track: ["src"],
  use: ["href"],
  video: ["src", "poster"],
};

async function editsFor(element: Element, text: string, around: Around): Promise<Edit[]> {
  const { tagName, sourceCodeLocation: place } = element;
  if (!place) return [];
  const attributes = new Map(element.attrs.map(({ name, value }) => [name, value]));
  const whole = (by: string): Edit[] => [{ from: place.startOffset, to: place.endOffset, by }];
  const resolveDir = dirname(around.path);
  const inside = () => {
    const { startTag, endTag } = place;
    return text.slice(startTag!.endOffset, endTag?.startOffset ?? place.endOffset);
  };
  const src = attributes.get("src");
  if (tagName === "script") {
    const isModule = attributes.get("type") === "module";
    if (src !== undefined && isOutside(src, around.view.csp?.resourceDomains, "resourceDomains"))
      return [];
    if (!isModule) {
      const script = src === undefined ? undefined : await classic(join(resolveDir, src));
      return script === undefined ? [] : whole(`<script>${script}</script>`);
    }
    const stdin = {
      contents: src === undefined ? inside() : `import ${JSON.stringify(own(src))};`,
    };
    const { script, style } = await bundled(
      { stdin: { ...stdin, resolveDir, sourcefile: around.path } },
      around.view,
    );
    const styles = style === "" ? "" : `<style>${style}</style>`;
    return whole(`${styles}<script type="module">${script}</script>`);
  }
  const href = attributes.get("href") ?? "";
  const isSheet = tagName === "link" && attributes.get("rel")?.toLowerCase() === "stylesheet";
  if (tagName === "style" || isSheet) {
    if (isSheet && isOutside(href, around.view.csp?.resourceDomains, "resourceDomains")) return [];
    const contents = isSheet ? `@import ${JSON.stringify(own(href))};` : inside();
    const stdin = { contents, loader: "css" as const, resolveDir, sourcefile: around.path };
    const media = attributes.get("media");
    const open = media === undefined ? "<style>" : `<style media="${escaped(media)}">`;
    return whole(`${open}${(await bundled({ stdin }, around.view)).script}</style>`);
  }
  const named = tagName === "link" ? ["href"] : (LOADING[tagName] ?? []);
  const edits = named.map(async (attribute): Promise<Edit[]> => {
    const url = attributes.get(attribute) ?? "";
    const at = place.attrs?.[attribute];
    if (url === "" || url.startsWith("#") || at === undefined) return [];
    const key = tagName === "iframe" ? "frameDomains" : "resourceDomains";
    if (attribute !== "srcset" && isOutside(url, around.view.csp?.[key], key)) return [];
    if (attribute === "srcset" || tagName === "iframe")
      throw new Refusal(`${basename(around.path)} has ${attribute}="${url}": ${UNNAMED}`);
    const by = `${attribute}="${escaped(await dataUrl(url, around))}"`;
    return [{ from: at.startOffset, to: at.endOffset, by }];
  });
  return (await Promise.all(edits)).flat();
}

const UNNAMED = "a view has one file of each image within, and frames of other origins only";

const BESIDE = "https://beside.invalid";

/** True for a URL of another origin, or without one. Throws a `Refusal` for an origin that is not among these. */
function isOutside(url: string, origins: readonly string[] = [], key: keyof Csp): boolean {
  if (/^(data|blob|about):/i.test(url)) return true;
  // A path beside the view has neither a scheme nor a host.
  const { origin, protocol, host } = new URL(url, BESIDE);
  if (origin === BESIDE) return false;
  const fits = origins.some((one) =>
    one.includes("://*.")
      ? one.startsWith(protocol) && host.endsWith(one.slice(one.indexOf("*") + 1))
      : one === origin,
  );
  if (!fits)
    throw new Refusal(
      `it loads ${url}: put it beside the view, or add ${JSON.stringify(origin)} to csp.${key}`,
    );
  return true;
}

/** The import of a file that a document names. */
const own = (url: string): string => (/^\.{1,2}\//.test(url) ? url : `./${url}`);

/** A script that is no module, whose names are those of the page. */
async function classic(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new Refusal(`there is no file ${file}: write it`);
  });
  try {
    const loader = extname(file).slice(1) as "js" | "ts";
    const { code } = await transform(text, { loader, minifyWhitespace: true, target: "es2022" });
    compileFunction(code);
    return withoutComments(code);
  } catch (error) {
    throw new Refusal(
      `${file} is no script: ${(error as Error).message}. If it is a module, write <script type="module" src=…>`,
    );
  }
}

/** A script as an element of HTML can have it, which ends elsewhere where it has the beginning of a comment in it. */
const withoutComments = (script: string): string => script.replaceAll("<!--", "\\x3c!--").trim();

/** A file that a document names, as a `data:` URL: esbuild knows the types. */
async function dataUrl(url: string, { path, view }: Around): Promise<string> {
  const contents = `a{background:url(${JSON.stringify(own(url))})}`;
  const stdin = { contents, loader: "css" as const, resolveDir: dirname(path), sourcefile: path };
  const { script } = await bundled({ stdin }, view);
  return /url\("?(data:[^"]*?)"?\)/.exec(script)![1]!;
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

const ASSETS = ["png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico"];
const OTHERS = ["woff", "woff2", "ttf", "otf", "mp3", "ogg", "wav", "mp4", "webm"];

const OPTIONS = {
  bundle: true,
  write: false,
  outfile: "view.js",
  format: "esm",
  target: "es2022",
  platform: "browser",
  charset: "utf8",
  minify: true,
  legalComments: "none",
  logLevel: "silent",
  jsx: "automatic",
  jsxImportSource: "preact",
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  define: { "process.env.NODE_ENV": '"production"' },
  loader: Object.fromEntries([...ASSETS, ...OTHERS].map((ending) => [`.${ending}`, "dataurl"])),
  metafile: true,
  nodePaths: [dirname(PREACT)],
} satisfies BuildOptions;

/** What a page has of a script, or of a style sheet, with all that it imports. Throws a `Refusal`. */
async function bundled(
  input: Pick<BuildOptions, "entryPoints" | "stdin">,
  { csp }: ManifestView,
): Promise<{ script: string; style: string }> {
  try {
    const made = await build({ ...OPTIONS, ...input, plugins: [viewPackage] });
    for (const { imports } of Object.values(made.metafile.outputs)) {
      for (const { path } of imports) isOutside(path, csp?.resourceDomains, "resourceDomains");
    }
    const [first, second] = made.outputFiles;
    return { script: withoutComments(first!.text), style: second?.text.trim() ?? "" };
  } catch (error) {
    if (!(error instanceof Error && "errors" in error)) throw error;
    const messages = await formatMessages((error as BuildFailure).errors, { kind: "error" });
    throw new Refusal(`it could not be made:\n${messages.join("").trim()}`);
  }
}

/** Resolves `edge-servlets/view`, wherever the view is, and refuses the modules of servlets. */
const viewPackage: Plugin = {
  name: "edge-servlets",
  setup(on) {
    on.onResolve({ filter: /^edge-servlets(\/|$)/ }, ({ path }) => {
      if (path === "edge-servlets/view")
        return { path: join(VIEW_LIBRARY, `index${OWN_EXTENSION}`) };
      const text = `A view has edge-servlets/view, and runs in a page: "${path}" is for servlets. Write \`import type\` where only types are wanted (${DOCS}/views.md)`;
      return { errors: [{ text }] };
    });
  },
};
