import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { FILES } from "../../../src/tools/bundle/view-page.ts";
import { bundling } from "./bundling.ts";

/** Pages that the bundle step makes of views, and what it says of those that it cannot make. */
const { bundle } = bundling();

const servlet = (
  views: object,
  tools = "",
) => `import { defineServlet } from "edge-servlets/servlet";
export default defineServlet({
  views: ${JSON.stringify(views)},
  tools: {
    list: {
      view: "board",
      output: {
        type: "object",
        properties: { cards: { type: "array", items: { type: "string" } } },
        required: ["cards"],
      },
      handler: () => ({ cards: ["water"] }),
    },
    move: {
      visibility: ["app"],
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      handler: ({ to }) => to,
    },
    ${tools}
  },
});`;

const CONNECTED = `import { connect } from "edge-servlets/view";
import type servlet from "./servlet.ts";
const view = await connect<typeof servlet, "list">();`;

/** The files of a servlet with one view. In JavaScript, no types are checked. */
const withBoard = (file: string, text: string, more: object = {}, others: object = {}) => ({
  [`a/servlet.${text.startsWith(CONNECTED) ? "ts" : "js"}`]: servlet({ board: { file, ...more } }),
  [`a/${file}`]: text,
  ...others,
});

async function pageOf(files: Record<string, string>): Promise<string> {
  const [member] = await bundle(files);
  return new TextDecoder().decode(member!.views[0]!.bytes);
}

const gzipped = (page: string) => gzipSync(page, { level: 9 }).length;
const PNG = "\x89PNG\r\n";

test("a servlet's script says what its manifest has, and its lists do not", async () => {
  const [member] = await bundle({
    ...withBoard("v.html", "<!doctype html><p>x", { title: "Board", prefersBorder: true }),
    "a/servlet.json": JSON.stringify({ tools: { list: { asks: false } } }),
  });
  expect(member!.found.manifest).toEqual({
    tools: { list: { asks: false }, move: { visibility: ["app"] } },
    views: { board: { file: "v.html", tools: ["list"], title: "Board", prefersBorder: true } },
  });
  for (const tool of member!.lists!.tools) {
    expect(tool).not.toHaveProperty("view");
    expect(tool).not.toHaveProperty("visibility");
  }
});

describe("a page of a script", () => {
  test("has all within that it imports, and is small", async () => {
    const files = withBoard(
      "v.tsx",
      `${CONNECTED}
import { render } from "preact";
import { useState } from "preact/hooks";
import dot from "./dot.png";
import "./v.css";
function Board({ cards }: { cards: string[] }) {
  const [moved, setMoved] = useState("");
  const move = async (to: string) => {
    const { content } = await view.call("move", { to });
    setMoved(JSON.stringify(content));
  };
  return <ul>{cards.map((card) => <li onClick={() => move(card)}><img src={dot} />{card}{moved}</li>)}</ul>;
}
view.show(({ result }) => render(<Board cards={result?.structuredContent?.cards ?? []} />, document.body));`,
      { title: "Cards & more" },
      { "a/v.css": "li { background: url(dot.png) }", "a/dot.png": PNG },
    );
    const page = await pageOf(files);
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
    expect(page).toContain("<title>Cards &amp; more</title>");
    expect(page).toMatch(/li\{background:url\("?data:image\/png/);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(gzipped(page)).toBeLessThan(9000);
  });

  test("of one line is at most 4 KB, with its connection", async () => {
    const line = 'view.show(({ result }) => document.body.append(result ? "done" : "…"));';
    expect(gzipped(await pageOf(withBoard("v.ts", `${CONNECTED}\n${line}`)))).toBeLessThan(4096);
  });

  test.each([
    ["</script><b>", /<\\\/script>/],
    ["<!--<script>", /\\x3c!--/],
  ])("ends where it should, whatever texts it has: %s", async (text, written) => {
    const page = await pageOf(withBoard("v.js", `document.title = ${JSON.stringify(text)};`));
    expect(page).toMatch(written);
    expect(page.match(/<\/script>/g)).toHaveLength(1);
    expect(page).not.toContain("<!--");
  });
});

test("a script may import every file that becomes a part of its page", async () => {
  const imports = FILES.map((ending, at) => `import file${at} from "./a.${ending}";`);
  const uses = `const all: string[] = [${FILES.map((_, at) => `file${at}`).join()}];\nself.name = all.join();`;
  const files = withBoard("v.ts", [CONNECTED, ...imports, uses, "void view;"].join("\n"));
  const named = FILES.map((ending) => [`a/a.${ending}`, "x"]);
  expect(await pageOf({ ...files, ...Object.fromEntries(named) })).toContain("data:");
});

const refusalOf = async (files: Record<string, string>): Promise<string> => {
  const [made] = await Promise.allSettled([bundle(files)]);
  return made.status === "rejected" ? made.reason.message : "";
};

test("a fault in a file that servlet and view share is told once", async () => {
  const { "a/servlet.ts": text, ...files } = withBoard("v.ts", `${CONNECTED}\nvoid view;`);
  const message = await refusalOf({
    ...files,
    "a/servlet.ts": `import { kept } from "./kept.ts";\n${text!.replace("() => (", "() => kept(")}`,
    "a/kept.ts": "export const kept = <T>(one: T): T => one.kept;",
  });
  expect(message.match(/kept\.ts\(1,\d+\)/g)).toHaveLength(1);
});

test("a message about types names the file with the fault, and no other", async () => {
  const faulty = `${CONNECTED}\nimport all from "./all.json";\nvoid [all, view.bord];`;
  const message = await refusalOf({ ...withBoard("v (1).ts", faulty), "a/all.json": "{}" });
  expect(message.match(/\/a\/.*/g)).toEqual([expect.stringMatching(/v \(1\)\.ts\(5,\d+\).*bord/)]);
});

test("a view calls tools by the names that clients see", async () => {
  const call = 'void view.call("move", { to: "a" });';
  const page = await pageOf({
    ...withBoard("v.ts", `${CONNECTED}\n${call}`),
    "a/servlet.json": JSON.stringify({ prefix: "my" }),
  });
  expect(page).toMatch(/name:"my-"\+/);
});

describe("a page of a document", () => {
  test("has the files within that it names, and the rest as it was", async () => {
    const files = withBoard(
      "v.html",
      `<!doctype html>
<title>Board</title>
<link rel="stylesheet" href="v.css" media="print">
<link rel="icon" href="dot.png">
<style>@import "./v.css";</style>
<p class=x>A <img src="./dot.png" alt="dot"> <a href="https://example.com">link</a>
<script>var kept = 1 < 2;</script>
<script src="old.js"></script>
<script type="module">
import { connect } from "edge-servlets/view";
const view = await connect();
</script>
<script type="module" src="./more.ts"></script>`,
      {},
      {
        "a/v.css": "p { color: red }",
        "a/dot.png": PNG,
        "a/old.js": "function go() { return 1 }",
        "a/more.ts": "const more: number = 1; document.title = String(more);",
      },
    );
    const page = await pageOf(files);
    expect(page).toContain('<style media="print">p{color:red}</style>');
    expect(page).toContain("<style>p{color:red}</style>");
    expect(page).toContain('<link rel="icon" href="data:image/png');
    expect(page).toMatch(/<p class=x>A <img src="data:image\/png[^"]+" alt="dot"> <a href/);
    expect(page).toContain("<script>var kept = 1 < 2;</script>");
    expect(page).toContain("<script>function go(){return 1}</script>");
    expect(page).toContain("ui/initialize");
    expect(page).not.toMatch(/src="?\.|edge-servlets\/view|: number/);
  });

  test.each<[string, string, string | RegExp]>([
    [
      "an image of vectors",
      "<img src=dot.svg>",
      /<img src="data:image\/svg\+xml,&lt;svg a='\(1\)'/,
    ],
    ["a part of one", '<img src="dot.svg#a">', /&lt;\/svg>#a">/],
    ["an image of vectors in one", "<svg><image xlink:href=dot.png /></svg>", /<image href="data:/],
    ["a name with a space", '<img src="a%20b.png"><img src="a b.png">', /^(.*"data:image\/png){2}/],
    ["a name with a percent sign", "<img src=5%.png>", /"data:image\/png/],
    ["an ending in capitals", "<IMG SRC=UP.PNG>", /<IMG src="data:image\/png/],
    ["a style of its own", "<p style='background:url(dot.png)'>", /style="background:url\(data:/],
    ["a gradient", "<p style='fill:url(#a)'>", '<p style="fill:url(#a)">'],
    ["attributes of a style", "<style id=a title=b>p { top: 0 }</style>", "<style id=a title=b>p{"],
    ["attributes of a sheet", "<link id=a rel=stylesheet href=v.css>", '<style id="a">p{'],
    ["the mark of a comment", '<style>p::after{content:"<!--"}</style>', 'content:"<!--"'],
    [
      "a module in capitals",
      '<script type="MODULE" id=a src=m.js>',
      /"MODULE" id=a>.*=1;<\/script>/,
    ],
    ["data", '<script type="text/x" src="https://a.example/x"></script>', "https://a.example/x"],
    ["a link to a page", '<link rel="canonical" href="https://a.example/">', "https://a.example/"],
    ["an element without a file", "<constructor>", "<constructor>"],
  ])("has %s", async (_what, inside, expected) => {
    const files = withBoard(
      "v.html",
      `<!doctype html>${inside}</script>`,
      {},
      {
        "a/dot.png": PNG,
        "a/a b.png": PNG,
        "a/5%.png": PNG,
        "a/UP.PNG": PNG,
        "a/dot.svg": "<svg a='(1)'></svg>",
        "a/v.css": "p { top: 0 }",
        "a/m.js": "self.a = 1",
      },
    );
    const page = (await pageOf(files)).replace("<!doctype html>", "");
    expect(page).toMatch(expected);
  });

  test("is byte for byte the document where that names none", async () => {
    const text = "<!-- Ä -->\n<!DOCTYPE html><body onload='x()'>&amp;<svg><use href='#a'/></svg>";
    expect(await pageOf(withBoard("v.html", text))).toBe(text);
  });

  test("may load from origins that it names, however they are written", async () => {
    const text =
      '<!doctype html><img src="https://CDN.example.com/a.png"><img src="https://b.example:443/">';
    const csp = { resourceDomains: ["https://cdn.EXAMPLE.com", "https://b.example:443"] };
    expect(await pageOf(withBoard("v.html", text, { csp }))).toBe(text);
  });

  test("may load from origins that it names", async () => {
    const text = `<!doctype html><script src="https://a.cdn.example.com/x.js"></script>
<style>@import url(https://cdn.example.com/x.css);</style><iframe src="https://maps.example.com/"></iframe>`;
    const csp = {
      resourceDomains: ["https://cdn.example.com", "https://*.cdn.example.com"],
      frameDomains: ["https://maps.example.com"],
    };
    const page = await pageOf(withBoard("v.html", text, { csp }));
    expect(page).toContain('src="https://a.cdn.example.com/x.js"');
    expect(page).toContain("https://cdn.example.com/x.css");
  });
});

describe("a view is refused that", () => {
  const html = (inside: string) => `<!doctype html>${inside}`;
  test.each<[string, Record<string, string>, RegExp]>([
    [
      "has a wrong argument",
      withBoard("v.ts", `${CONNECTED}\nvoid view.call("move", { to: 3 });`),
      /The view's types are not right.*\n.*v\.ts\(4,\d+\).*'number' is not assignable to type 'string'/,
    ],
    [
      "calls no tool",
      withBoard("v.ts", `${CONNECTED}\nvoid view.call("mvoe", {});`),
      /v\.ts\(4,\d+\).*"mvoe"/,
    ],
    [
      "reads what a result lacks",
      withBoard(
        "v.ts",
        `${CONNECTED}\nview.show(({ result }) => result?.structuredContent?.crads);`,
      ),
      /v\.ts\(4,\d+\).*crads.*Did you mean 'cards'/,
    ],
    [
      "runs its servlet",
      withBoard("v.js", 'import servlet from "./servlet.js";\nconsole.log(servlet);'),
      /the view board: it could not be made:[^]*"edge-servlets\/servlet" is for servlets\. Write `import type`/,
    ],
    [
      "imports what is not there",
      withBoard("v.js", 'import "./w.ts";'),
      /the view board: it could not be made:[^]*Could not resolve "\.\/w\.ts"/,
    ],
    [
      "loads a script from elsewhere",
      withBoard("v.html", html('<script src="https://cdn.example.com/x.js"></script>')),
      /the view board: it loads https:\/\/cdn\.example\.com\/x\.js: put it beside the view, or add "https:\/\/cdn\.example\.com" to csp\.resourceDomains/,
    ],
    [
      "loads an image from elsewhere",
      withBoard("v.html", html('<template><img src="//x.example.com/a.png"></template>')),
      /csp\.resourceDomains/,
    ],
    [
      "imports from elsewhere",
      withBoard("v.js", 'import "https://esm.example.com/x";'),
      /it loads https:\/\/esm\.example\.com\/x/,
    ],
    [
      "has a style from elsewhere",
      withBoard("v.html", html("<style>a { background: url(http://x.example.com/a.png) }</style>")),
      /it loads http:\/\/x\.example\.com\/a\.png/,
    ],
    [
      "has a style of an origin that only looks like its own",
      withBoard("v.html", html('<link rel=stylesheet href="https://evilcdn.example.com/x.css">'), {
        csp: { resourceDomains: ["https://*.cdn.example.com"] },
      }),
      /it loads https:\/\/evilcdn/,
    ],
    [
      "loads from no URL",
      withBoard("v.html", html('<img src="http://">')),
      /the view board: it loads http:\/\/, which is not a URL/,
    ],
    [
      "has a script that waits for the rest of it",
      withBoard("v.html", html('<script defer src="x.js"></script>'), {}, { "a/x.js": "" }),
      /v\.html has a script with defer.*write <script type="module" src="x\.js">/,
    ],
    [
      "is a folder",
      { "a/servlet.js": servlet({ board: { file: "v" } }), "a/v/x": "" },
      /the view board: v is not a file/,
    ],
    [
      "is no document, after many comments",
      withBoard("v.html", `${"<!-- a -->".repeat(60)}<p>`),
      /v\.html is not an HTML document/,
    ],
    [
      "frames a page beside it",
      withBoard("v.html", html('<iframe src="other.html"></iframe>')),
      /frames of other origins only/,
    ],
    [
      "lacks an image",
      withBoard("v.html", html('<img src="none.png">')),
      /Could not resolve "\.\/none\.png"/,
    ],
    [
      "has a module as a script",
      withBoard("v.html", html('<script src="x.js"></script>'), {}, { "a/x.js": "export {}" }),
      /x\.js is no script: .*If it is a module, write <script type="module"/,
    ],
    [
      "is named by a tool alone",
      { "a/servlet.js": servlet({ other: { file: "v.html" } }), "a/v.html": html("x") },
      /The tool "list" has the view "board", which `views` lacks/,
    ],
    [
      "is in servlet.json as well",
      {
        ...withBoard("v.html", html("x")),
        "a/servlet.json": JSON.stringify({ views: { board: { file: "v.html" } } }),
      },
      /servlet\.json has the view board as well: leave it out there/,
    ],
    [
      "has no name",
      { "a/servlet.js": servlet({ board: { file: "v.html" }, "B!": { file: "v.html" } }) },
      /may have small letters/,
    ],
  ])("%s", async (_what, files, message) => {
    await expect(bundle(files)).rejects.toThrow(message);
  });
});
