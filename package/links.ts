/** The relative targets of links in the prose of a Markdown document. */
export const linksIn = (page: string): string[] =>
  [...page.replaceAll(/^```[^]*?^```/gm, "").matchAll(/\]\(([^)]*)\)/g)]
    .map(([, target]) => target!)
    .filter((target) => !/^[a-z]+:/.test(target));
