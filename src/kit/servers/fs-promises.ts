/** `node:fs/promises`. */
import { constants, promises } from "./fs.ts";

export const {
  readFile,
  writeFile,
  appendFile,
  mkdir,
  rm,
  rmdir,
  unlink,
  stat,
  lstat,
  access,
  readdir,
  rename,
  realpath,
} = promises;
export { constants };
export default promises;
