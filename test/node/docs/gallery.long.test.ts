import { glob, readFile } from "node:fs/promises";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { galleryPage } from "./gallery.ts";

test("the gallery is up to date (npm run docs), and shows the views that there are", async () => {
  const page = await readFile("docs/gallery.md", "utf8");
  expect(page).toBe(await galleryPage());
  const servlets = await Array.fromAsync(glob("plugins/*/servlet.json"));
  expect(page.match(/^## /gm)).toHaveLength(servlets.length);
  const viewed = await Array.fromAsync(glob("plugins/*/*.tsx"));
  const shown = page.matchAll(/\(pictures\/([\w-]+)\.png\)/g);
  expect(Array.from(shown, ([, name]) => `plugins/${name}`)).toEqual(
    viewed.map((file) => file.replace(`/${basename(file)}`, "")).toSorted(),
  );
});
