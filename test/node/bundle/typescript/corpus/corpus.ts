/**
 * Packages from npm that authors of servlets reach for, each with a use of it. To add one: a row here, its version in
 * package.json, `npm install --package-lock-only` beside that, and `npm run docs`.
 */

export interface Used {
  /** The package, or one of its modules. */
  name: string;
  /** For readers of docs/packages.md. */
  does: string;
  /** Kilobytes of the servlet that uses it, compressed; absent if it does not work. */
  kb?: number;
  imports: string;
  /** The body of an asynchronous function that uses the package, and returns JSON. */
  body: string;
  /** The body's result, where Node has none to compare with: it would ask a server. */
  gives?: unknown;
  /** Why it does not work in a servlet: the error, and for readers. */
  fails?: { error: RegExp; because: string };
  /** The parts that do not work, or an import other than the usual one. */
  note?: string;
}

/** The test's answer to requests. */
export const ANSWER = { id: 7, result: 7 };

/** True for a package whose servlet takes seconds of a processor to make: its test is a slow one. */
export const isLarge = ({ kb = 0 }: Used): boolean => kb > 200;

export const CORPUS: readonly Used[] = [
  {
    name: "@formatjs/intl-numberformat",
    does: "`Intl`",
    kb: 892,
    imports: `import "@formatjs/intl-getcanonicallocales/polyfill.js";
import "@formatjs/intl-locale/polyfill.js";
import "@formatjs/intl-pluralrules/polyfill.js";
import "@formatjs/intl-pluralrules/locale-data/de.js";
import "@formatjs/intl-numberformat/polyfill.js";
import "@formatjs/intl-numberformat/locale-data/de.js";`,
    body: `const price = new Intl.NumberFormat("de", { style: "currency", currency: "EUR" });
return [price.format(1234.5), (1234.5).toLocaleString("de")];`,
    note: "with `-getcanonicallocales`, `-locale` and `-pluralrules`, and the data of each locale",
  },
  {
    name: "@noble/hashes",
    does: "hashes",
    kb: 19,
    imports: 'import { sha256 } from "@noble/hashes/sha2.js";',
    body: 'return sha256(new TextEncoder().encode("abc")).join();',
  },
  {
    name: "@octokit/request",
    does: "GitHub",
    kb: 59,
    imports: `import { request } from "@octokit/request";`,
    body: `const api = request.defaults({ baseUrl: "https://api.example" });
const { status, data } = await api("GET /repos/{owner}/{repo}", { owner: "a", repo: "b" });
const failed = await api("GET /missing").catch((error: unknown) => (error as Error).name);
return { status, data: data as unknown, failed };`,
    gives: { status: 200, data: ANSWER, failed: "HttpError" },
  },
  {
    name: "@supabase/supabase-js",
    does: "databases",
    kb: 358,
    imports: `import { createClient } from "@supabase/supabase-js";`,
    body: `const api = createClient("https://api.example", "key", { auth: { persistSession: false, autoRefreshToken: false } });
const { data, error } = await api.from("things").select("id").eq("id", 7);
const missing = await api.from("missing").select();
return { data, error, status: missing.status };`,
    gives: { data: ANSWER, error: null, status: 204 },
    note: "without its realtime channels: they need `WebSocket`",
  },
  {
    name: "@upstash/redis",
    does: "databases",
    kb: 198,
    imports: `import { Redis } from "@upstash/redis/cloudflare";`,
    body: `const redis = new Redis({ url: "https://api.example", token: "t", enableAutoPipelining: false, enableTelemetry: false });
return { value: await redis.get("a") };`,
    gives: { value: 7 },
    note: "`@upstash/redis/cloudflare`, or as it is",
  },
  {
    name: "ajv",
    does: "JSON Schema",
    kb: 274,
    imports: 'import { Ajv } from "ajv";',
    body: `const check = new Ajv().compile({ type: "object", properties: { a: { type: "integer" } } });
return [check({ a: 1 }), check({ a: "x" }), check.errors?.map(({ message }) => message)];`,
  },
  {
    name: "axios",
    does: "HTTP",
    kb: 194,
    imports: 'import axios from "axios";',
    body: `const api = axios.create({ baseURL: "https://api.example" });
const { data, status } = await api.post("/things", { a: 1 }, { params: { q: "x y" } });
const failed = await api.get("/missing").catch((error: unknown) => String(error));
return { data, status, failed };`,
    gives: {
      data: ANSWER,
      status: 200,
      failed: "AxiosError: Request failed with status code 404",
    },
  },
  {
    name: "bcryptjs",
    does: "passwords",
    kb: 32,
    imports: `import bcrypt from "bcryptjs";`,
    body: `const hash = await bcrypt.hash("secret", "$2b$04$abcdefghijklmnopqrstuu");
return [hash, await bcrypt.compare("secret", hash)];`,
  },
  {
    name: "cheerio",
    does: "HTML",
    kb: 400,
    imports: 'import * as cheerio from "cheerio";',
    body: `const page = cheerio.load("<ul><li class=a>x<li>y</ul>");
page("li.a").attr("id", "7");
return [page("li").length, page.html("ul"), page("ul").extract({ all: ["li"] })];`,
    note: "`cheerio/slim` is smaller",
  },
  {
    name: "chrono-node",
    does: "dates in words",
    kb: 125,
    imports: 'import * as chrono from "chrono-node";',
    body: 'return chrono.parseDate("tomorrow at 5pm", new Date(0))?.toISOString();',
  },
  {
    name: "crypto-js",
    does: "hashes, ciphers",
    kb: 160,
    imports: 'import CryptoJS from "crypto-js";',
    body: `const secret = CryptoJS.AES.encrypt("text", "key").toString();
return [CryptoJS.SHA256("abc").toString(), CryptoJS.AES.decrypt(secret, "key").toString(CryptoJS.enc.Utf8)];`,
  },
  {
    name: "csv-parse",
    does: "CSV",
    imports: 'import { parse } from "csv-parse/sync";',
    body: String.raw`return parse("a,b\n1,2", { columns: true });`,
    fails: {
      error: /Buffer is not defined/,
      because: "needs `Buffer`; `csv-parse/browser/esm/sync` works",
    },
  },
  {
    name: "csv-parse/browser/esm/sync",
    does: "CSV",
    kb: 75,
    imports: 'import { parse } from "csv-parse/browser/esm/sync";',
    body: String.raw`return parse("a,b\n1,2", { columns: true });`,
  },
  {
    name: "d3-shape",
    does: "charts",
    kb: 107,
    imports: `import { scaleLinear } from "d3-scale";
import { arc, line, pie } from "d3-shape";`,
    body: `const x = scaleLinear([0, 10], [0, 300]);
const path = line<number>((_value, at) => x(at), (value) => value)([1, 2, 4]);
const [slice] = pie()([1, 2]);
return [path, arc()({ ...slice!, innerRadius: 0, outerRadius: 50 }), x.ticks(3)];`,
    note: "gives paths of SVG",
  },
  {
    name: "date-fns",
    does: "dates",
    kb: 86,
    imports: `import { addMonths, format, formatDistance, parseISO } from "date-fns";
import { de } from "date-fns/locale/de";`,
    body: `const later = addMonths(parseISO("2024-01-31"), 1);
return [format(later, "EEEE, d. MMMM yyyy", { locale: de }), formatDistance(0, 1e9)];`,
  },
  {
    name: "dayjs",
    does: "dates",
    kb: 36,
    imports: `import dayjs from "dayjs";
import "dayjs/locale/de.js";
import relativeTime from "dayjs/plugin/relativeTime.js";
import utc from "dayjs/plugin/utc.js";
dayjs.extend(utc);
dayjs.extend(relativeTime);`,
    body: `const day = dayjs.utc("2024-02-29");
return [day.add(1, "year").format(), day.locale("de").format("dddd D MMMM"), day.from("2024-05-01")];`,
    note: "its plugin `timezone` needs `Intl`",
  },
  {
    name: "decimal.js",
    does: "exact numbers",
    kb: 57,
    imports: 'import { Decimal } from "decimal.js";',
    body: 'return [new Decimal("0.1").plus("0.2").toString(), Decimal.sqrt(2).toFixed(18)];',
  },
  {
    name: "diff",
    does: "differences of texts",
    kb: 64,
    imports: 'import { applyPatch, createPatch, diffWords } from "diff";',
    body: String.raw`const patch = createPatch("file", "a\nb\n", "a\nc\n");
return [patch, applyPatch("a\nb\n", patch), diffWords("a b", "a c")];`,
  },
  {
    name: "echarts",
    does: "charts",
    kb: 905,
    imports: `import { BarChart } from "echarts/charts";
import { GridComponent } from "echarts/components";
import { init, use as install } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
install([BarChart, GridComponent, SVGRenderer]);`,
    body: `const chart = init(null, null, { renderer: "svg", ssr: true, width: 300, height: 200 });
chart.setOption({ animation: false, xAxis: { data: ["a", "b"] }, yAxis: {}, series: [{ type: "bar", data: [1, 2] }] });
const svg = chart.renderToSVGString();
chart.dispose();
return [svg.startsWith("<svg"), svg.match(/<path/g)?.length];`,
    note: "as SVG, with `ssr: true`",
  },
  {
    name: "eventemitter3",
    does: "events",
    kb: 13,
    imports: `import { EventEmitter } from "eventemitter3";`,
    body: `const seen: number[] = [];
const emitter = new EventEmitter();
emitter.once("a", (n: number) => void seen.push(n));
return [emitter.emit("a", 1), emitter.emit("a", 2), seen];`,
  },
  {
    name: "fast-png",
    does: "images",
    kb: 216,
    imports: `import { decode, encode } from "fast-png";`,
    body: `const data = new Uint8Array([255, 0, 0, 255, 0, 0, 255, 128]);
const { width, height, channels, data: back } = decode(encode({ width: 2, height: 1, data, text: { Title: "caf\u00e9" } }));
return [width, height, channels, Array.from(back)];`,
  },
  {
    name: "fast-xml-parser",
    does: "XML",
    kb: 158,
    imports: 'import { XMLBuilder, XMLParser, XMLValidator } from "fast-xml-parser";',
    body: `const read = new XMLParser({ ignoreAttributes: false }).parse('<a b="1"><c>2</c></a>');
return [read, new XMLBuilder({ ignoreAttributes: false }).build(read), XMLValidator.validate("<a>")];`,
  },
  {
    name: "fflate",
    does: "zip, gzip",
    kb: 166,
    imports: `import { gunzipSync, gzipSync, strFromU8, strToU8, unzipSync, zipSync } from "fflate";`,
    body: `const zip = zipSync({ "a.txt": strToU8("é") }, { mtime: new Date(2024, 0, 1) });
return [strFromU8(gunzipSync(gzipSync(strToU8("x".repeat(1000))))).length, strFromU8(unzipSync(zip)["a.txt"]!)];`,
    note: "its synchronous functions: the others need `Worker`",
  },
  {
    name: "fuse.js",
    does: "fuzzy search",
    kb: 67,
    imports: 'import Fuse from "fuse.js";',
    body: `const books = [{ title: "Old Man's War" }, { title: "The Lock Artist" }];
return new Fuse(books, { keys: ["title"] }).search("lok");`,
  },
  {
    name: "graphql",
    does: "GraphQL",
    kb: 266,
    imports: `import { buildSchema, graphql, parse, print } from "graphql";`,
    body: `const schema = buildSchema("type Query { hello(name: String!): String }");
const rootValue = { hello: ({ name }: { name: string }) => "Hello " + name };
const answer = await graphql({ schema, source: '{ hello(name: "Ada") }', rootValue });
return [answer, print(parse("{a{b}}"))];`,
  },
  {
    name: "handlebars",
    does: "templates",
    kb: 209,
    imports: 'import Handlebars from "handlebars";',
    body: 'return Handlebars.compile("{{#each names}}Hello {{this}}! {{/each}}")({ names: ["<a>"] });',
  },
  {
    name: "ical.js",
    does: "calendars",
    kb: 149,
    imports: `import ICAL from "ical.js";`,
    body: String.raw`const text = ["BEGIN:VCALENDAR", "BEGIN:VEVENT", "SUMMARY:Tea", "DTSTART:20240229T150000Z", "END:VEVENT", "END:VCALENDAR"].join("\r\n");
const calendar = new ICAL.Component(ICAL.parse(text) as unknown[]);
const event = new ICAL.Event(calendar.getFirstSubcomponent("vevent")!);
return [event.summary, event.startDate.toJSDate().toISOString()];`,
  },
  {
    name: "image-size",
    does: "images",
    kb: 47,
    imports: `import { imageSize } from "image-size";`,
    body: `const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const { width, height, type } = imageSize(Uint8Array.from(atob(png), (c) => c.charCodeAt(0)));
return [width, height, type];`,
  },
  {
    name: "immer",
    does: "immutable values",
    kb: 32,
    imports: 'import { produce } from "immer";',
    body: `const before = { list: [1] };
return [before, produce(before, (draft) => void draft.list.push(2))];`,
  },
  {
    name: "jose",
    does: "JSON Web Tokens",
    kb: 115,
    imports: 'import { EncryptJWT, jwtDecrypt, jwtVerify, SignJWT } from "jose";',
    body: `const key = new TextEncoder().encode("k".repeat(32));
const signed = await new SignJWT({ sub: "ada" }).setProtectedHeader({ alg: "HS256" }).sign(key);
const { payload } = await jwtVerify(signed, key);
const head = { alg: "dir", enc: "A256GCM" } as const;
const sealed = await new EncryptJWT({ a: 1 }).setProtectedHeader(head).encrypt(key);
const forged = await jwtVerify(signed + "x", key).catch((error: unknown) => (error as Error).name);
return [signed, payload, (await jwtDecrypt(sealed, key)).payload, forged];`,
    note: "with HMAC and AES-GCM: no RSA and elliptic curves",
  },
  {
    name: "js-yaml",
    does: "YAML",
    kb: 124,
    imports: `import { dump, load } from "js-yaml";`,
    body: String.raw`return [load("a: [1, 2]\nb: {c: d}"), dump({ a: ["x", { y: null }] })];`,
  },
  {
    name: "jsonata",
    does: "queries of JSON",
    kb: 186,
    imports: 'import jsonata from "jsonata";',
    body: 'return jsonata("$sum(items.price)").evaluate({ items: [{ price: 1 }, { price: 2 }] });',
  },
  {
    name: "jszip",
    does: "zip",
    kb: 182,
    imports: 'import JSZip from "jszip";',
    body: `const packed = await new JSZip().file("a.txt", "b").generateAsync({ type: "uint8array" });
const { files } = await JSZip.loadAsync(packed);
return [Object.keys(files), await files["a.txt"]!.async("string")];`,
  },
  {
    name: "ky",
    does: "HTTP",
    note: "requests to hosts that cannot be reached are made again only where `retry.shouldRetry` says so",
    kb: 126,
    imports: 'import ky from "ky";',
    body: 'return ky.post("https://api.example/things", { json: { a: 1 }, timeout: 1000 }).json();',
    gives: ANSWER,
  },
  {
    name: "liquidjs",
    does: "templates",
    kb: 197,
    imports: 'import { Liquid } from "liquidjs";',
    body: `const text = "{% for name in names %}{{ name | upcase }} {% endfor %}";
return new Liquid().parseAndRender(text, { names: ["a", "b"] });`,
  },
  {
    name: "lodash",
    does: "functions for data",
    kb: 237,
    imports: 'import lodash from "lodash";',
    body: `const copy = lodash.cloneDeep({ at: [new Date(0)] });
return [lodash.groupBy([1, 2, 3], (n) => n % 2), copy, lodash.template("<%= a %>")({ a: 1 })];`,
  },
  {
    name: "lodash-es",
    does: "functions for data",
    kb: 75,
    imports: 'import { groupBy, merge } from "lodash-es";',
    body: "return [groupBy([1, 2, 3], (n) => n % 2), merge({ a: { b: 1 } }, { a: { c: 2 } })];",
  },
  {
    name: "luxon",
    does: "dates",
    imports: 'import { DateTime } from "luxon";',
    body: 'return DateTime.fromISO("2024-02-29", { zone: "utc" }).plus({ years: 1 }).toISO();',
    fails: { error: /Intl is not defined/, because: "needs `Intl`; date-fns and dayjs do not" },
  },
  {
    name: "markdown-it",
    does: "Markdown",
    kb: 170,
    imports: 'import MarkdownIt from "markdown-it";',
    body: String.raw`return new MarkdownIt({ linkify: true }).render("# Hi\n\nhttp://a.example *b*");`,
  },
  {
    name: "marked",
    does: "Markdown",
    kb: 109,
    imports: 'import { marked } from "marked";',
    body: String.raw`return marked.parse("# Hi\n\n* a\n* **b**\n\n| a |\n| - |\n| 1 |");`,
  },
  {
    name: "mathjs",
    does: "mathematics",
    kb: 4901,
    imports: 'import { derivative, det, evaluate, matrix } from "mathjs";',
    body: `return [
  String(evaluate("12.7 cm to inch")),
  String(derivative("x^2 + x", "x")),
  det(matrix([[1, 2], [3, 4]])),
];`,
  },
  {
    name: "mime-types",
    does: "types of files",
    imports: 'import { lookup } from "mime-types";',
    body: 'return lookup("a.png");',
    fails: {
      error: /The package mime-types needs Node \(path\)/,
      because: "needs `node:path`",
    },
  },
  {
    name: "minisearch",
    does: "full-text search",
    kb: 42,
    imports: 'import MiniSearch from "minisearch";',
    body: `const search = new MiniSearch({ fields: ["title"] });
search.addAll([{ id: 1, title: "Moby Dick" }, { id: 2, title: "Zen" }]);
return search.search("mobi", { fuzzy: 0.3 }).map(({ id }) => id as number);`,
  },
  {
    name: "moment-timezone",
    does: "dates in time zones",
    kb: 326,
    imports: 'import moment from "moment-timezone";',
    body: 'return moment(0).tz("Europe/Paris").format();',
    note: "it has the time zones itself",
  },
  {
    name: "mustache",
    does: "templates",
    kb: 21,
    imports: 'import Mustache from "mustache";',
    body: 'return Mustache.render("{{#a}}{{b}},{{/a}}", { a: [{ b: 1 }, { b: "<" }] });',
  },
  {
    name: "nanoid",
    does: "ids",
    kb: 7,
    imports: 'import { customAlphabet, nanoid } from "nanoid";',
    body: 'return [nanoid().length, customAlphabet("a", 5)()];',
  },
  {
    name: "node-html-parser",
    does: "HTML",
    kb: 224,
    imports: 'import { parse } from "node-html-parser";',
    body: `const list = parse("<ul><li class=a>x</li><li>y</li></ul>");
return [list.querySelector("li.a")?.text, list.querySelectorAll("li").length, String(list)];`,
  },
  {
    name: "ofetch",
    does: "HTTP",
    kb: 78,
    imports: `import { ofetch } from "ofetch";`,
    body: `const api = ofetch.create({ baseURL: "https://api.example", retry: 0 });
const made: unknown = await api("/things", { method: "POST", body: { a: 1 }, query: { q: "x y" } });
const failed = await api("/missing").catch((error: unknown) => (error as Error).name);
return { made, failed };`,
    gives: { made: ANSWER, failed: "FetchError" },
  },
  {
    name: "openai",
    does: "language models",
    kb: 314,
    imports: `import OpenAI from "openai";`,
    body: `const api = new OpenAI({ apiKey: "key", baseURL: "https://api.example", maxRetries: 0 });
const model: { id: unknown } = await api.models.retrieve("m");
const failed = await api.models.retrieve("missing").catch((error: unknown) => (error as Error).constructor.name);
return { id: model.id, failed };`,
    gives: { id: 7, failed: "NotFoundError" },
    note: "and its streams, from a response that is whole",
  },
  {
    name: "p-limit",
    does: "concurrency",
    kb: 26,
    imports: `import pLimit from "p-limit";`,
    body: `const limit = pLimit(2);
return Promise.all([1, 2, 3].map((n) => limit(async () => n * 2)));`,
  },
  {
    name: "papaparse",
    does: "CSV",
    kb: 75,
    imports: 'import Papa from "papaparse";',
    body: String.raw`const { data } = Papa.parse("a,b\n1,2", { header: true, dynamicTyping: true });
return [data, Papa.unparse([{ a: 1, b: "x,y" }])];`,
  },
  {
    name: "pdf-lib",
    does: "PDF",
    kb: 702,
    imports: `import { PDFDocument, StandardFonts } from "pdf-lib";`,
    body: `const document = await PDFDocument.create();
const page = document.addPage([200, 100]);
page.drawText("Hi", { font: await document.embedFont(StandardFonts.Helvetica), size: 12 });
const again = await PDFDocument.load(await document.save());
return [again.getPageCount(), again.getPage(0).getSize()];`,
  },
  {
    name: "qrcode",
    does: "images",
    kb: 70,
    imports: `import QRCode from "qrcode";`,
    body: `const svg = await QRCode.toString("https://a.example", { type: "svg" });
return [svg.startsWith("<svg"), svg.length];`,
    note: "as SVG or text: PNG needs Node",
  },
  {
    name: "qs",
    does: "query strings",
    kb: 112,
    imports: 'import qs from "qs";',
    body: 'return [qs.parse("a[b][]=1&a[b][]=2"), qs.stringify({ a: { b: [1, "x y"] } })];',
  },
  {
    name: "ramda",
    does: "functions for data",
    kb: 25,
    imports: 'import * as R from "ramda";',
    body: `const byParity = R.groupBy((n: number) => (n % 2 ? "odd" : "even"), [1, 2, 3]);
return R.mapObjIndexed((all) => R.sum(all ?? []), byParity);`,
  },
  {
    name: "remeda",
    does: "functions for data",
    kb: 14,
    imports: 'import { groupBy, mapValues, pipe } from "remeda";',
    body: `const parity = groupBy((n: number) => (n % 2 ? "odd" : "even"));
return pipe([1, 2, 3], parity, mapValues((all) => all.length));`,
  },
  {
    name: "rrule",
    does: "repeating dates",
    kb: 89,
    imports: 'import * as rrule from "rrule";',
    body: `const { RRule } = "RRule" in rrule ? rrule : (rrule as { default: typeof rrule }).default;
return new RRule({ freq: RRule.WEEKLY, count: 3, dtstart: new Date(0) }).all();`,
  },
  {
    name: "sanitize-html",
    does: "HTML",
    kb: 406,
    imports: `import sanitize from "sanitize-html";`,
    body: `return [sanitize('<p onclick="x()">a<script>b</script><b style="color:red">c</b></p>'), sanitize("<i>a", { allowedTags: [] })];`,
  },
  {
    name: "semver",
    does: "versions",
    kb: 85,
    imports: 'import semver from "semver";',
    body: 'return [semver.satisfies("1.2.3", "^1.0.0"), semver.sort(["1.10.0", "1.9.0"])];',
  },
  {
    name: "smol-toml",
    does: "TOML",
    kb: 30,
    imports: `import { parse, stringify } from "smol-toml";`,
    body: String.raw`return [parse('a = 1\n[b]\nc = ["x"]'), stringify({ a: { b: [1, 2] } })];`,
  },
  {
    name: "sql.js",
    does: "databases",
    imports: 'import open from "sql.js";',
    body: `const { Database } = await open();
return new Database().exec("select 1 as one")[0]!.values;`,
    fails: {
      error: /fetching of the wasm failed/,
      because: "needs `WebAssembly`",
    },
  },
  {
    name: "stripe",
    does: "payments",
    kb: 317,
    imports: `import Stripe from "stripe";`,
    body: `const api = new Stripe("sk_test", { host: "api.example", maxNetworkRetries: 0, telemetry: false });
const { id }: { id: unknown } = await api.customers.retrieve("cus_1");
const sign = { payload: "{}", header: "t=1,v1=0", secret: "s" };
const wrong = await api.webhooks.constructEventAsync(sign.payload, sign.header, sign.secret).catch((error: unknown) => (error as Error).constructor.name);
return { id, wrong };`,
    gives: { id: 7, wrong: "StripeSignatureVerificationError" },
  },
  {
    name: "turndown",
    does: "HTML to Markdown",
    kb: 470,
    imports: 'import Turndown from "turndown";',
    body: 'return new Turndown().turndown("<h1>Hi</h1><p>a <b>b</b></p>");',
  },
  {
    name: "tweetnacl",
    does: "ciphers",
    kb: 55,
    imports: 'import nacl from "tweetnacl";',
    body: `const [key, nonce] = [new Uint8Array(32), new Uint8Array(24)];
const box = nacl.secretbox(new TextEncoder().encode("abc"), nonce, key);
return [box.length, new TextDecoder().decode(nacl.secretbox.open(box, nonce, key)!)];`,
    note: "`secretbox` and hashes: a signature computes longer than `compute_limit` is by default",
  },
  {
    name: "uuid",
    does: "ids",
    kb: 17,
    imports: 'import { v4, v5, v7, validate } from "uuid";',
    body: 'return [validate(v4()), validate(v7()), v5("a", v5.URL)];',
  },
  {
    name: "valibot",
    does: "schemas",
    kb: 12,
    imports: 'import * as v from "valibot";',
    body: `const person = v.object({ mail: v.pipe(v.string(), v.email()) });
return [v.is(person, { mail: "a@b.de" }), v.safeParse(person, { mail: "a" }).issues?.[0].message];`,
  },
  {
    name: "validator",
    does: "checks of text",
    kb: 309,
    imports: 'import validator from "validator";',
    body: `return [validator.isEmail("a@b.de"), validator.isMobilePhone("+491711234567", "de-DE"),
  validator.isISO8601("2024-02-30", { strict: true })];`,
  },
  {
    name: "xml2js",
    does: "XML",
    imports: 'import { parseStringPromise } from "xml2js";',
    body: 'return parseStringPromise("<a><b>1</b></a>");',
    fails: {
      error: /The package xml2js needs Node \(events, timers\)/,
      because: "needs `node:events` and `node:timers`; fast-xml-parser does not",
    },
  },
  {
    name: "yaml",
    does: "YAML",
    kb: 190,
    imports: 'import { parse, parseDocument, stringify } from "yaml";',
    body: String.raw`const read = parse("a: [1, 2]\nb: &x {c: d}\ne: *x");
return [read, stringify({ a: ["x", { y: null }] }), String(parseDocument("a: 1 # c\n"))];`,
  },
  {
    name: "zod",
    does: "schemas",
    kb: 6,
    imports: 'import * as z from "zod";',
    body: `const person = z.object({ mail: z.email() });
const { error } = person.safeParse({ mail: "a" });
return [person.safeParse({ mail: "a@b.de" }).success, error && z.prettifyError(error)];`,
    note: "the common exports of zod 4, 270 KB, are shared by all servlets; `zod/mini` is smaller, and comes with the kit",
  },
];
