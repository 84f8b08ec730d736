/** `npm run docs`: writes the tables in docs/ anew. */
import { writeFile } from "node:fs/promises";
import { galleryPage } from "./gallery.ts";
import { PAGES, renewed } from "./reference.ts";

for (const path of PAGES) await writeFile(path, await renewed(path));
await writeFile("docs/gallery.md", await galleryPage());
