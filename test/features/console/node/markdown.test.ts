import { describe, expect, test } from "vitest";
import { markdownOf } from "../../../../src/server/features/console/markdown-page.ts";

/** Descriptions and skills as Markdown, which anybody may have written. */

const markup = async (text: string) =>
  String(await markdownOf(text)).replaceAll(/\s*\n\s*(?=<)|\n +/g, "");

describe("a description", () => {
  test.each([
    [
      "**Bold**, *quiet* and `a_b`",
      /<strong>Bold<\/strong>, <em>quiet<\/em> and <code>a_b<\/code>/,
    ],
    ["# Title\ntext", /<p><strong>Title<\/strong><\/p><p class="text">text<\/p>/],
    [
      "- one\n- two\n  - inner\n\nafter",
      /<ul><li>.*one.*<li>.*two.*<ul>.*inner.*<\/ul>.*<\/ul>.*after/s,
    ],
    ["1. one\n2. two", /<ol><li>.*one.*<\/li><li>.*two/s],
    ["> said\n> twice", /<blockquote><p class="text">said\s*twice<\/p><\/blockquote>/],
    [
      "```js\nlet a = '<b>';\n```\nafter",
      /<pre tabindex="0">\s*let a = &#39;&lt;b&gt;&#39;;<\/pre>.*after/s,
    ],
    ["| a | b |\n|---|---|", /<pre tabindex="0">\s*\| a \| b \|/],
    ["snake_case_name and 2 * 3 * 4", /snake_case_name and 2 \* 3 \* 4/],
    [
      "[docs](https://a.example/x)",
      /<a href="https:\/\/a\.example\/x" target="_blank" rel="noreferrer noopener" data-foreign\s*>docs<\/a\s*>\s*<span class="dim">\(a\.example\)/,
    ],
  ])("%j", async (text, expected) => expect(await markup(text)).toMatch(expected));

  test("has no HTML, no pictures, and only http and https links", async () => {
    const text = [
      "<img src=x onerror=alert(1)><script>alert(1)</script>",
      "![a picture](https://evil.example/p.png)",
      "[one](javascript:alert(1)) [two](data:text/html,x) [three](/console/operate)",
      '[four](https://a.example/"onclick="x)',
    ].join("\n\n");
    const all = await markup(text);
    expect(all).not.toMatch(/<(img|script)|href="(?!https)|evil\.example|"\s*onclick/);
    expect(all).toContain("a picture");
    expect(all).toContain("[one](javascript:alert(1))");
  });

  test("is rendered in linear time, even if it is hostile", async () => {
    const parts = [
      "[",
      "![](",
      "**",
      "`",
      "> ",
      "- ",
      "  - ",
      "#",
      "```\n",
      "\n\n",
      "*a",
      "[a](https://a",
    ];
    for (const part of parts) {
      const text = part.repeat(Math.ceil(100_000 / part.length));
      expect((await markup(text.slice(0, 100_000))).length).toBeGreaterThan(0);
    }
  });
});
