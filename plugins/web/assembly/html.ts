// The readable text of an HTML page: tags away, scripts and styles with all that is in them.

/** Elements that hold nothing to read. */
const SILENT = "script style noscript template svg head".split(" ");

/** Inline elements: text before and after belongs to the same line. */
const INLINE = "a abbr b cite code em i q s small span strong sub sup u".split(" ");

export function textOf(html: string): string {
  const parts: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open < 0) break;
    parts.push(html.substring(at, open));
    const name = tagName(html, open);
    if (name == "") {
      parts.push("<"); // only a less-than sign
      at = open + 1;
      continue;
    }
    at = tagEnd(html, open);
    if (SILENT.includes(name.toLowerCase())) {
      const close = html.indexOf("</" + name, at);
      at = close < 0 ? html.length : tagEnd(html, close);
    }
    if (!INLINE.includes(name.toLowerCase())) parts.push("\n");
  }
  parts.push(html.substring(at));
  return tidy(unescape(parts.join("")));
}

/** The element's name; `!` or `?` for comments and declarations; empty where no tag begins. */
function tagName(html: string, open: i32): string {
  const first = html.charCodeAt(open + 1);
  if (first == 0x21 || first == 0x3f) return html.charAt(open + 1);
  const start = first == 0x2f ? open + 2 : open + 1;
  let end = start;
  while (isLetterOrDigit(html.charCodeAt(end))) end++;
  return html.substring(start, end);
}

/** Behind the tag or comment that begins at `open`. */
function tagEnd(html: string, open: i32): i32 {
  const closing = html.substring(open, open + 4) == "<!--" ? "-->" : ">";
  const end = html.indexOf(closing, open);
  return end < 0 ? html.length : end + closing.length;
}

function isLetterOrDigit(unit: i32): bool {
  const letter = unit | 0x20;
  return (letter >= 0x61 && letter <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}

function unescape(text: string): string {
  return text
    .replaceAll("&nbsp;", " ")
    .replaceAll("&#160;", " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

/** One space for many, no space at either end of a line, no empty lines. */
function tidy(text: string): string {
  const parts: string[] = [];
  let gap = "";
  let from = 0;
  for (let at = 0; at <= text.length; at++) {
    const unit = text.charCodeAt(at); // -1 behind the end
    if (unit > 0x20) continue;
    if (at > from) {
      parts.push(gap);
      parts.push(text.substring(from, at));
      gap = " ";
    }
    if (unit == 0x0a && parts.length > 0) gap = "\n";
    from = at + 1;
  }
  return parts.join("");
}
