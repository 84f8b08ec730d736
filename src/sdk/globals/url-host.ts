import { decodeBytes, encode } from "./percent.ts";
import { bytesOf, decodeUtf8 } from "./bytes.ts";

/** https://url.spec.whatwg.org/#host-parsing; undefined for an invalid host. */
export function hostOf(text: string, special: boolean): string | undefined {
  if (text.startsWith("[")) {
    return text.endsWith("]") ? ipv6(text.slice(1, -1)) : undefined;
  }
  if (!special) {
    // oxlint-disable-next-line no-control-regex
    return /[\0\t\n\r #/:<>?@[\\\]^|]/.test(text) ? undefined : encode(text, "");
  }
  const domain = ascii(decodeUtf8(bytesOf(decodeBytes(text)), true));
  // oxlint-disable-next-line no-control-regex
  if (domain === undefined || domain === "" || /[\0-\x20#%/:<>?@[\\\]^|\x7f]/.test(domain)) {
    return undefined;
  }
  return /(^|\.)(\d+|0x[\da-f]*)\.?$/.test(domain) ? ipv4(domain) : domain;
}

/** The domain in lower case and in ASCII. Close to UTS 46, which would need its tables to be exact. */
function ascii(domain: string): string | undefined {
  // oxlint-disable-next-line no-control-regex
  if (/^[\0-\x7f]*$/.test(domain)) return domain.toLowerCase();
  const mapped = domain
    .replace(/\u00ad|\u200b|\u2060|\ufeff|[\ufe00-\ufe0f]/g, "")
    .normalize("NFKC")
    .toLowerCase()
    .normalize("NFC")
    .replace(/[\u3002\uff0e\uff61]/g, ".");
  if (mapped.includes("\ufffd")) return undefined;
  // oxlint-disable-next-line no-control-regex
  return mapped
    .split(".")
    .map((label) => (/[^\0-\x7f]/.test(label) ? `xn--${punycode(label)}` : label))
    .join(".");
}

/** https://www.rfc-editor.org/rfc/rfc3492#section-6.3 */
function punycode(label: string): string {
  const points = Array.from(label, (char) => char.codePointAt(0) ?? 0);
  let output = points
    .filter((point) => point < 128)
    .map((point) => String.fromCharCode(point))
    .join("");
  const basic = output.length;
  if (basic > 0) output += "-";
  let [delta, bias, handled] = [0, 72, basic];
  for (let next = 128; handled < points.length; next++) {
    const point = Math.min(...points.filter((one) => one >= next));
    delta += (point - next) * (handled + 1);
    next = point;
    for (const one of points) {
      if (one < next) delta++;
      if (one !== next) continue;
      let rest = delta;
      for (let k = 36; ; k += 36) {
        const limit = Math.min(Math.max(k - bias, 1), 26);
        if (rest < limit) break;
        output += digit(limit + ((rest - limit) % (36 - limit)));
        rest = Math.floor((rest - limit) / (36 - limit));
      }
      output += digit(rest);
      bias = adapted(delta, handled + 1, handled === basic);
      delta = 0;
      handled++;
    }
    delta++;
  }
  return output;
}

const digit = (value: number): string => String.fromCharCode(value + (value < 26 ? 97 : 22));

function adapted(delta: number, points: number, first: boolean): number {
  let rest = Math.floor(delta / (first ? 700 : 2));
  rest += Math.floor(rest / points);
  let k = 0;
  for (; rest > 455; k += 36) rest = Math.floor(rest / 35);
  return k + Math.floor((36 * rest) / (rest + 38));
}

function ipv4(domain: string): string | undefined {
  const parts = domain.replace(/\.$/, "").split(".");
  if (parts.length > 4) return undefined;
  const numbers = parts.map(numberOf);
  const last = numbers.pop() ?? NaN;
  if (numbers.some((number) => !(number < 256)) || !(last < 256 ** (4 - numbers.length))) {
    return undefined;
  }
  const value = numbers.reduce((sum, number, at) => sum + number * 256 ** (3 - at), last);
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

function numberOf(part: string): number {
  if (/^0x[\da-f]*$/.test(part)) return part === "0x" ? 0 : parseInt(part, 16);
  if (/^0[0-7]+$/.test(part)) return parseInt(part, 8);
  return /^(0|[1-9]\d*)$/.test(part) ? Number(part) : NaN;
}

function ipv6(text: string): string | undefined {
  const [head = "", tail, ...more] = text.split("::");
  if (more.length > 0) return undefined;
  const left = pieces(head, tail === undefined);
  const right = tail === undefined ? [] : pieces(tail, true);
  if (!left || !right) return undefined;
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const all = [...left, ...Array.from({ length: missing }, () => 0), ...right];
  return `[${compressed(all)}]`;
}

/** The 16-bit numbers of a part of an IPv6 address; the last two may be written as IPv4. */
function pieces(text: string, last: boolean): number[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  const dotted = last ? /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(parts.at(-1) ?? "") : null;
  if (dotted) {
    const [a = 0, b = 0, c = 0, d = 0] = dotted.slice(1).map(Number);
    if (dotted.slice(1).some((one) => Number(one) > 255 || /^0\d/.test(one))) return undefined;
    parts.splice(-1, 1, (a * 256 + b).toString(16), (c * 256 + d).toString(16));
  }
  return parts.every((part) => /^[\da-f]{1,4}$/i.test(part))
    ? parts.map((part) => parseInt(part, 16))
    : undefined;
}

/** With the first longest run of zeros, if longer than one, as "::". */
function compressed(numbers: number[]): string {
  const text = numbers.map((number) => number.toString(16)).join(":");
  const runs = [...text.matchAll(/\b0(?::0)+\b/g)];
  let longest = runs[0];
  for (const run of runs) if (longest && run[0].length > longest[0].length) longest = run;
  if (!longest) return text;
  const before = text.slice(0, longest.index).replace(/:$/, "");
  const behind = text.slice(longest.index + longest[0].length).replace(/^:/, "");
  return `${before}::${behind}`;
}
