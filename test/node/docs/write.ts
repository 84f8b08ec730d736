/** `npm run docs`: writes the tables in docs/ anew. */
import { writeFile } from "node:fs/promises";
import { PAGES, renewed } from "./reference.ts";

for (const path of PAGES) await writeFile(path, await renewed(path));
