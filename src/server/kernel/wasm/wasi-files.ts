/** Types and helpers of the file functions of WASI. */
import { FileSystemError } from "../files/errors.ts";
import type { Work } from "../files/table.ts";
import type { Files } from "../files/files.ts";
import type { Descriptor, FileNode } from "../files/records.ts";
import { limits } from "./limits.ts";
import type { Guest } from "./guest.ts";
import type { HostFunction, HostFunctions } from "./host-function.ts";
import { errno, isStandardStream, now } from "./wasi-abi.ts";

export interface FileCall {
  guest: Guest;
  files: Files;
}

/** A function on files, with the guest's arguments. Throws a `FileSystemError` if it fails. */
export type FileFunction = (call: FileCall, ...args: never[]) => void;

const FILETYPES = { folder: 3, file: 4, link: 7 } as const;

/** Bits of `fstflags`. */
const SET_ACCESSED = 1;
const SET_ACCESSED_NOW = 2;
const SET_MODIFIED = 4;
const SET_MODIFIED_NOW = 8;

/** Host functions that use the call's files; without files, and on standard descriptors, the `basic` ones. */
export function withFiles(
  functions: Readonly<Record<string, FileFunction>>,
  basic: HostFunctions,
): HostFunctions {
  const withFilesOf = ([name, given]: [string, FileFunction]): [string, HostFunction] => {
    const call = given as (call: FileCall, ...args: number[]) => void;
    const otherwise = basic[name] as (guest: Guest, ...args: number[]) => unknown;
    const isOnDescriptor = name.startsWith("fd_");
    return [
      name,
      (guest, ...args: number[]) => {
        const { files } = guest.setup;
        return files === undefined || (isOnDescriptor && isStandardStream(args[0]!))
          ? otherwise(guest, ...args)
          : charged(guest, files, () => codeOf(guest, () => call({ guest, files }, ...args)));
      },
    ];
  };
  return Object.fromEntries(Object.entries(functions).map(withFilesOf));
}

/** Fuel for this file work. */
export const fuelOfWork = ({ steps, lookUps, bytes }: Work): number =>
  steps * limits.fileStepFuel + lookUps * limits.lookUpFuel + bytes * limits.byteFuel;

/** Runs a file operation at the guest's time, and charges the guest for it, even if it fails. */
export function charged<T>(guest: Guest, files: Files, work: () => T): T {
  const { heldBytes } = files;
  const before = { ...files.work };
  files.now = now(guest);
  try {
    return work();
  } finally {
    guest.budget.hold(files.heldBytes - heldBytes);
    guest.pay(fuelOfWork(files.work) - fuelOfWork(before));
  }
}

/** Runs a function; returns WASI's error number for its outcome. */
function codeOf(guest: Guest, run: () => void): number {
  try {
    run();
    return errno.success;
  } catch (error) {
    if (!(error instanceof FileSystemError)) throw error;
    if (error.code === "io") guest.log("error", error.message);
    return errno[error.code];
  }
}

/** An open folder. Throws `notdir` for a file. */
export function folderOf({ files }: FileCall, fd: number): Descriptor {
  const descriptor = files.descriptors.get(fd);
  if (descriptor.kind !== "folder") throw new FileSystemError("notdir");
  return descriptor;
}

/** Throws `perm` if a descriptor's mount is read-only. */
export function demandWritable({ files }: FileCall, { mount }: Descriptor): void {
  if (files.mounts.find(({ path }) => path === mount)?.isReadOnly !== false) {
    throw new FileSystemError("perm");
  }
}

export function putStatus({ guest, files }: FileCall, at: number, id: number): void {
  const node = files.node(id);
  guest.writable(at, 64).fill(0);
  const status = guest.writableView(at, 64);
  status.setBigUint64(0, 1n, true);
  status.setBigUint64(8, BigInt(id), true);
  status.setUint8(16, filetypeOf(node));
  status.setBigUint64(24, BigInt(node.links), true);
  status.setBigUint64(32, node.kind === "folder" ? 0n : BigInt(node.size), true);
  status.setBigUint64(40, node.accessed, true);
  status.setBigUint64(48, node.modified, true);
  status.setBigUint64(56, node.changed, true);
}

export const filetypeOf = ({ kind }: Pick<FileNode, "kind">): number => FILETYPES[kind];

/** Sets times as `fstflags` say. */
export function setTimes(
  { guest, files }: FileCall,
  id: number,
  given: { accessed: bigint; modified: bigint; flags: number },
): void {
  const { flags } = given;
  const has = (bits: number) => (flags & bits) === bits;
  if (has(SET_ACCESSED | SET_ACCESSED_NOW) || has(SET_MODIFIED | SET_MODIFIED_NOW)) {
    throw new FileSystemError("inval");
  }
  files.setTimes(id, {
    ...(has(SET_ACCESSED) && { accessed: BigInt.asUintN(64, given.accessed) }),
    ...(has(SET_ACCESSED_NOW) && { accessed: now(guest) }),
    ...(has(SET_MODIFIED) && { modified: BigInt.asUintN(64, given.modified) }),
    ...(has(SET_MODIFIED_NOW) && { modified: now(guest) }),
  });
}
