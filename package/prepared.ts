/** Updates `prepared.bin`, the initial cache of every checkout and package: `npm run prepared`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LANGUAGES } from "../src/languages/index.ts";
import { typescript } from "../src/languages/typescript/language.ts";
import { pack } from "../src/tools/bundle/packs.ts";
import { makePrepared, PREPARED } from "../src/tools/bundle/prepared.ts";
import { Refusals } from "../src/tools/bundle/refusal.ts";
import { scan } from "../src/tools/bundle/scan.ts";
import { compileQuickly } from "../src/tools/bundle/work.ts";

/** This project's servlets that are compiled to Wasm. The folder may also contain the user's own servlets. */
const COMPILED = new Set(["factor", "hello", "journal", "web"]);

export const compiledServlets = async () =>
  (await scan({ folders: ["plugins"], languages: LANGUAGES }, new Refusals())).filter(({ name }) =>
    COMPILED.has(name),
  );

/** The bytes that the file should have. */
export async function preparedNow(progress: (doing: string) => void): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "prepared-"));
  try {
    await makePrepared(typescript, await compiledServlets(), folder, progress);
    return await pack(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (import.meta.main) {
  compileQuickly();
  const packed = await preparedNow((doing) => console.log(`${doing} …`));
  await writeFile(PREPARED, packed);
  console.log(`prepared.bin: ${Math.round(packed.length / 1000)} KB`);
}
