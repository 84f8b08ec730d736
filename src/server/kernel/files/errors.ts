/** Error codes of file operations, by their names in WASI. */
export type FileErrorCode =
  | "badf"
  | "busy"
  | "exist"
  | "fbig"
  | "ilseq"
  | "inval"
  | "io"
  | "isdir"
  | "loop"
  | "mfile"
  | "nametoolong"
  | "noent"
  | "nospc"
  | "notcapable"
  | "notdir"
  | "notempty"
  | "notsup"
  | "perm"
  | "xdev";

/** A file operation that failed and changed nothing. A guest gets the code; `io` also has a message for the log. */
export class FileSystemError extends Error {
  readonly code: FileErrorCode;
  constructor(code: FileErrorCode, message: string = code) {
    super(message);
    this.code = code;
  }
}
