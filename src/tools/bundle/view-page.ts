/** Makes the page of a view: one self-contained HTML document, from a script, or from a document and its files. */
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
import type { Manifest } from "../../server/kernel/servlets/manifest.ts";
import { DOCS, OWN_EXTENSION } from "./own.ts";
import { readableFiles, readableText } from "./readable-files.ts";
import { Refusal } from "./refusal.ts";

/** A view in a manifest, with the manifest's `prefix`; `servlet` is the manifest's folder. */
export type PageView = NonNullable<Manifest["views"]>[string] &
  Pick<Manifest, "prefix"> & { servlet: string };
type Csp = NonNullable<PageView["csp"]>;
type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;
type Location = NonNullable<Element["sourceCodeLocation"]>;

/** The folder of the library for views. */
export const VIEW_LIBRARY = join(import.meta.dirname, "../../kit/view");

/** The folder of the library for JSX, so that views need not install it. */
export const PREACT = dirname(createRequire(import.meta.url).resolve("preact/package.json"));

/** True for a script, for which a page has to be made. */
export const isViewScript = (file: string): boolean => /\.[jt]sx?$/.test(file);

/** The page of a view that consists of this script. Throws a `Refusal`. */
export async function pageOfScript(path: string, view: PageView): Promise<string> {
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

/** The document with its scripts, styles and images inlined, which are relative to `path`. Throws a `Refusal`. */
export async function pageOfDocument(text: string, path: string, view: PageView): Promise<string> {
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

/** A replacement of the document's text from offset `from` to `to`. */
interface Edit {
  from: number;
  to: number;
  by: string;
}

interface Around {
  /** Path of the document. */
  path: string;
  view: PageView;
}

function elementsIn(node: Node): Element[] {
  const inside = "content" in node ? elementsIn(node.content) : [];
  const children = "childNodes" in node ? node.childNodes.flatMap(elementsIn) : [];
  return [...("tagName" in node ? [node] : []), ...inside, ...children];
}

/** By element: the attributes that name a file to load. */
const LOADING = new Map<string, readonly string[]>(
  Object.entries({
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
  }),
);

async function editsFor(node: Element, text: string, around: Around): Promise<Edit[]> {
  if (!node.sourceCodeLocation) return [];
  const element = new Written(node, node.sourceCodeLocation, text);
  const relations = element.wordOf("rel").split(/\s+/);
  if (node.tagName === "script") return scriptEdits(element, around);
  if (node.tagName === "style") return styleEdits(element, around);
  if (node.tagName !== "link") return fileEdits(element, LOADING.get(node.tagName), around);
  if (relations.includes("stylesheet")) return sheetEdits(element, around);
  // Other links name pages, or preload files that the document names elsewhere.
  const isIcon = relations.some((one) => one.endsWith("icon"));
  return fileEdits(element, isIcon ? ["href"] : [], around);
}

/** An element in the text of the document. */
class Written {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly #place: Location;
  readonly #text: string;

  constructor({ tagName, attrs }: Element, place: Location, text: string) {
    this.name = tagName;
    this.attributes = new Map(attrs.map(({ name, value }) => [name, value.trim()]));
    this.#place = place;
    this.#text = text;
  }

  /** The value of a case-insensitive attribute, in lower case; empty if it is missing. */
  wordOf(name: string): string {
    return this.attributes.get(name)?.toLowerCase() ?? "";
  }

  get inside(): string {
    const { from, to } = this.within("");
    return this.#text.slice(from, to);
  }

  within(by: string): Edit {
    const { startTag, endTag, endOffset } = this.#place;
    return { from: startTag?.endOffset ?? endOffset, to: endTag?.startOffset ?? endOffset, by };
  }

  before(by: string): Edit {
    const { startOffset } = this.#place;
    return { from: startOffset, to: startOffset, by };
  }

  instead(by: string): Edit {
    return { from: this.#place.startOffset, to: this.#place.endOffset, by };
  }

  /** Replaces the value of an attribute, or removes the attribute with the space before it. */
  attribute(name: string, value?: string): Edit[] {
    const at = this.#place.attrs?.[name] ?? this.#place.attrs?.[`xlink:${name}`];
    if (at === undefined) return [];
    const { startOffset: from, endOffset: to } = at;
    if (value !== undefined) return [{ from, to, by: `${name}="${escaped(value)}"` }];
    return [{ from: /\s/.test(this.#text[from - 1]!) ? from - 1 : from, to, by: "" }];
  }
}

async function scriptEdits(element: Written, around: Around): Promise<Edit[]> {
  const src = element.attributes.get("src");
  const type = element.wordOf("type");
  const isModule = type === "module";
  // A script of any other type is data.
  if (!isModule && !/^$|(java|ecma)script$/.test(type)) return [];
  if (src === undefined ? !isModule : isOutside(src, around.view)) return [];
  if (!isModule && element.attributes.has("defer"))
    throw new Refusal(
      `${basename(around.path)} has a script with defer, which it cannot have within: write <script type="module" src="${src}">, or put it at the end of the body without defer`,
    );
  const contents = src === undefined ? element.inside : `import ${JSON.stringify(beside(src))};`;
  const { script, style } = isModule
    ? await bundled({ stdin: inputOf(contents, around) }, around.view)
    : { script: await classic(join(dirname(around.path), beside(src!)), around.view), style: "" };
  return [
    ...(style === "" ? [] : [element.before(`<style>${style}</style>`)]),
    ...element.attribute("src"),
    element.within(script),
  ];
}

async function styleEdits(element: Written, around: Around): Promise<Edit[]> {
  if (!/^$|^text\/css$/.test(element.wordOf("type"))) return [];
  return [element.within(await sheet(element.inside, around))];
}

/** Attributes of a link that an inlined style sheet does not need. */
const OF_LINKS = new Set(["rel", "href", "type", "as", "crossorigin", "integrity"]);

async function sheetEdits(element: Written, around: Around): Promise<Edit[]> {
  const href = element.attributes.get("href") ?? "";
  if (isOutside(href, around.view)) return [];
  const kept = [...element.attributes].filter(([name]) => !OF_LINKS.has(name));
  const open = kept.map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
  const style = await sheet(`@import ${JSON.stringify(beside(href))};`, around);
  return [element.instead(`<style${open}>${style}</style>`)];
}

/** Inlines the files in the attributes with these names, and those in the element's `style`. */
async function fileEdits(
  element: Written,
  names: readonly string[] = [],
  around: Around,
): Promise<Edit[]> {
  const edits = names.map(async (name): Promise<Edit[]> => {
    const url = element.attributes.get(name) ?? "";
    if (url === "" || url.startsWith("#")) return [];
    const isFrame = element.name === "iframe";
    const key = isFrame ? "frameDomains" : "resourceDomains";
    if (name !== "srcset" && isOutside(url, around.view, key)) return [];
    if (name === "srcset" || isFrame)
      throw new Refusal(`${basename(around.path)} has ${name}="${url}": ${UNNAMED}`);
    return element.attribute(name, await dataUrl(url, around));
  });
  const style = element.attributes.get("style") ?? "";
  const own = /url\(/i.test(style) ? await sheet(`a{${style}}`, around) : "";
  const [, declarations] = /^a\{([^{}]*)\}$/.exec(own) ?? [];
  const styled = declarations === undefined ? [] : element.attribute("style", declarations);
  return [...styled, ...(await Promise.all(edits)).flat()];
}

const UNNAMED = "a view has one file of each image within, and frames of other origins only";

const BESIDE = "https://beside.invalid";

/** True for an absolute URL, such as `data:`. Throws a `Refusal` for an origin that the view's `csp` does not allow. */
function isOutside(
  url: string,
  { csp }: Pick<PageView, "csp">,
  key: keyof Csp = "resourceDomains",
): boolean {
  if (/^(data|blob|about):/i.test(url)) return true;
  const found = URL.parse(url, BESIDE);
  if (found === null) throw new Refusal(`it loads ${url}, which is not a URL: correct it`);
  // A relative path has the origin of the base URL.
  const { origin, protocol, host } = found;
  if (origin === BESIDE) return false;
  const fits = csp?.[key]?.some((one) => {
    const allowed = URL.parse(one.replace("://*.", "://"));
    const isOfHost = one.includes("://*.")
      ? host.endsWith(`.${allowed?.host}`)
      : host === allowed?.host;
    return isOfHost && protocol === allowed?.protocol;
  });
  if (!fits)
    throw new Refusal(
      `it loads ${url}: put it beside the view, or add ${JSON.stringify(origin)} to csp.${key}`,
    );
  return true;
}

/** The import specifier for a file that a document names by a relative URL. */
function beside(url: string): string {
  const path = url.includes("%") ? decoded(url) : url;
  return /^\.{1,2}\//.test(path) ? path : `./${path}`;
}

function decoded(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url; // The name contains a literal %.
  }
}

/** The text of a classic script, whose top-level names are global in the page. */
async function classic(file: string, { servlet }: PageView): Promise<string> {
  const text = await readableText(servlet, file.replace(/[?#].*$/, ""));
  if (text === undefined) throw new Refusal(`there is no file ${file}: write it`);
  try {
    const loader = extname(file) === ".ts" ? "ts" : "js";
    const { code } = await transform(text, { loader, minifyWhitespace: true, target: "es2022" });
    compileFunction(code);
    return withoutComments(code);
  } catch (error) {
    throw new Refusal(
      `${file} is no script: ${(error as Error).message}. If it is a module, write <script type="module" src=…>`,
    );
  }
}

/** A script for a script element, with `<!--` escaped: an HTML comment would change the end of the element. */
const withoutComments = (script: string): string => script.replaceAll("<!--", "\\x3c!--").trim();

/** A file that a document names, as a `data:` URL. esbuild chooses the media type. */
async function dataUrl(url: string, around: Around): Promise<string> {
  const text = await sheet(`a{background:url(${JSON.stringify(beside(url))})}`, around);
  const [, , written] = /^a\{background:url\((["']?)([^]*)\1\)\}$/.exec(text)!;
  return written!.replaceAll(/\\([^])/g, "$1");
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");

/** Extensions of files that become `data:` URLs. */
export const FILES = [
  "png",
  "jpg",
  "jpeg",
  "gif",
  "webp",
  "avif",
  "svg",
  "ico",
  "woff",
  "woff2",
  "ttf",
  "otf",
  "mp3",
  "ogg",
  "wav",
  "mp4",
  "webm",
];

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
  loader: Object.fromEntries(
    FILES.flatMap((ending) => [ending, ending.toUpperCase()]).map((one) => [`.${one}`, "dataurl"]),
  ),
  metafile: true,
  nodePaths: [dirname(PREACT)],
} satisfies BuildOptions;

/** A part of the document as esbuild's input. Its imports are relative to the document. */
const inputOf = (contents: string, { path }: Around) => ({
  contents,
  resolveDir: dirname(path),
  sourcefile: path,
});

/** A style sheet with all of its imports. Throws a `Refusal`. */
async function sheet(contents: string, around: Around): Promise<string> {
  const stdin = { ...inputOf(contents, around), loader: "css" as const };
  const [text] = await built({ stdin }, around.view);
  return text!.trim();
}

/** A script with all of its imports, and their styles. Throws a `Refusal`. */
async function bundled(
  input: Pick<BuildOptions, "entryPoints" | "stdin">,
  view: PageView,
): Promise<{ script: string; style: string }> {
  const [script, style = ""] = await built(input, view);
  return { script: withoutComments(script!), style: style.trim() };
}

/** The texts that esbuild writes: a script and then its styles, or a style sheet. */
async function built(
  input: Pick<BuildOptions, "entryPoints" | "stdin">,
  { csp, prefix, servlet }: PageView,
): Promise<string[]> {
  const toolPrefix = prefix === undefined ? "" : `${prefix}-`;
  const define = { ...OPTIONS.define, EDGE_SERVLETS_TOOL_PREFIX: JSON.stringify(toolPrefix) };
  try {
    const plugins = [readableFiles(servlet), viewPackage];
    const made = await build({ ...OPTIONS, ...input, define, plugins });
    for (const { imports } of Object.values(made.metafile.outputs)) {
      for (const { path } of imports) isOutside(path, { csp });
    }
    return made.outputFiles.map(({ text }) => text);
  } catch (error) {
    if (!(error instanceof Error && "errors" in error)) throw error;
    const messages = await formatMessages((error as BuildFailure).errors, { kind: "error" });
    throw new Refusal(`it could not be made:\n${messages.join("").trim()}`);
  }
}

/** Resolves `edge-servlets/view` from any folder, and refuses the modules for servlets. */
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
