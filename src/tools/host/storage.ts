/** The storage folder of a server, and its lock. */
import { randomUUID } from "node:crypto";
import {
  access,
  constants,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join, relative, resolve } from "node:path";
import { Refusal } from "../bundle/refusal.ts";
import { commandOf } from "./processes.ts";

/** The folder with all data of a server; one server at a time may use it. */
export interface Storage {
  /** Its absolute path. */
  path: string;
  /** The folder with the Durable Objects. */
  objects: string;
  /** The file with workerd's configuration. */
  config: string;
  /** Records the id of the workerd that writes into the folder. */
  note(pid: number): Promise<void>;
  release(): Promise<void>;
}

/** Pauses the server while another process copies the folder. Returns a function that resumes the server. */
export type Hold = () => Promise<() => void>;

const OBJECTS = "objects";
const SOCKET = "server.sock";
/** Name of the socket on which the Worker receives whether the disk is full. */
export const DISK_SOCKET = "disk.sock";
/** Suffix of the sockets of processes that are trying to lock the folder. */
const CANDIDATE = ".try";
const WORKERD = "workerd.pid";
/** Name of the file with the process id of the server. */
const SERVER = "server.pid";
export const CONFIG = "workerd.capnp";

/** Permissions of stored data: only the server's own user has access. */
export const OWN_MODE = 0o700;

/** Maximum length of a socket's path on any operating system, in bytes. */
const SOCKET_PATH_BYTES = 103;

export const objectsIn = (storage: string): string => join(storage, OBJECTS);

/**
 * Locks the folder for a server, and creates it if it is missing. The process that listens on the folder's socket holds
 * the lock, so the lock ends with the process, and works across containers. Throws a `Refusal`.
 */
export async function takeStorage(path: string, hold: Hold): Promise<Storage> {
  const folder = resolve(path);
  const objects = objectsIn(folder);
  try {
    await mkdir(objects, { recursive: true, mode: OWN_MODE });
    await access(folder, constants.W_OK);
    await access(objects, constants.W_OK);
  } catch (error) {
    throw new Refusal(
      `The storage folder ${folder} cannot be written (${(error as Error).message}). Give it to the user that runs the server, or name another: --storage DIR`,
    );
  }
  const server = await soleServer(folder, hold);
  await writeFile(join(folder, SERVER), String(process.pid));
  await endOrphan(folder);
  return {
    path: folder,
    objects,
    config: join(folder, CONFIG),
    note: (pid) => writeFile(join(folder, WORKERD), String(pid)),
    async release() {
      // A workerd may still be starting.
      await endOrphan(folder);
      for (const name of [WORKERD, SERVER]) await rm(join(folder, name), { force: true });
      await server.close();
    },
  };
}

/**
 * Pauses the server of a folder while `work` runs; if no server runs, locks the folder instead. The server also resumes
 * if this process dies.
 */
export async function whileHeld<T>(path: string, work: () => Promise<T>): Promise<T> {
  const socket = await connected(socketIn(resolve(path)));
  socket?.on("error", () => {});
  if (socket === undefined) {
    const taken = await takeStorage(path, () => Promise.reject(new Error("no server runs")));
    try {
      return await work();
    } finally {
      await taken.release();
    }
  }
  try {
    await asked(socket);
    const done = await work();
    // Check that the server is still paused: if it ended, another server may have written during `work`.
    await asked(socket);
    return done;
  } finally {
    socket.destroy();
  }
}

/** Resolves when the server confirms that it is paused. */
function asked(socket: Socket): Promise<void> {
  return new Promise((held, fail) => {
    const ended = () => fail(new Refusal("The server ended: try again."));
    if (socket.destroyed) return ended();
    socket.once("data", () => {
      socket.off("close", ended);
      held();
    });
    socket.once("close", ended);
    socket.write("hold\n");
  });
}

const isServed = async (socket: string): Promise<boolean> => {
  const other = await connected(socket);
  other?.destroy();
  return other !== undefined;
};

/** The path of a folder's socket: absolute, or relative to the working directory if that is shorter. */
export function socketIn(folder: string, name = SOCKET): string {
  const whole = join(folder, name);
  const [short = whole] = [whole, relative("", whole)].toSorted((a, b) => a.length - b.length);
  if (Buffer.byteLength(short) <= SOCKET_PATH_BYTES) return short;
  throw new Refusal(
    `The path of the storage folder ${folder} is too long. Expected ${SOCKET_PATH_BYTES - SOCKET.length - 1} bytes at most.`,
  );
}

/** A connection to the socket; undefined if no process listens on it. Throws a `Refusal` if that is unknown. */
function connected(path: string): Promise<Socket | undefined> {
  return new Promise((done, fail) => {
    const socket = connect(path, () => done(socket));
    socket.once("error", ({ code, message }: NodeJS.ErrnoException) => {
      if (code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTSOCK")
        return done(undefined);
      fail(
        new Refusal(
          `${path} cannot be asked who has the storage folder (${message}). Run this as the user that runs the server.`,
        ),
      );
    });
  });
}

/** The folder's server, for messages: `, process 4711`, or empty if unknown. The id may be from another container. */
async function processOf(folder: string): Promise<string> {
  const pid = await readFile(join(folder, SERVER), "utf8").catch(() => "");
  return pid === "" ? "" : `, process ${pid}`;
}

interface Listener {
  close(): Promise<void>;
}

/**
 * Listens on the folder's socket, unless another process does. Each process first listens on its own socket, and then
 * looks for others: of two concurrent processes, at least one sees the other.
 */
async function soleServer(folder: string, hold: Hold): Promise<Listener> {
  const own = `${randomUUID().slice(0, SOCKET.length - CANDIDATE.length)}${CANDIDATE}`;
  const server = await listen(socketIn(folder, own), hold);
  try {
    const others = (await readdir(folder)).filter(
      (name) => name.endsWith(CANDIDATE) && name !== own,
    );
    // Check SOCKET last: another candidate may have been renamed to it.
    for (const other of [...others, SOCKET]) {
      const path = socketIn(folder, other);
      if (await isServed(path))
        throw new Refusal(
          `The storage folder ${folder} is in use by another server${await processOf(folder)}. Stop that server, or name another folder: --storage DIR`,
        );
      if (other !== SOCKET) await rm(path, { force: true });
    }
    await rename(join(folder, own), join(folder, SOCKET));
  } catch (error) {
    await server.close();
    throw error;
  }
  return {
    async close() {
      await rm(join(folder, SOCKET), { force: true });
      await server.close();
    },
  };
}

async function listen(path: string, hold: Hold): Promise<Listener> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    socket.once("data", () => void holdFor(socket, hold));
  });
  await new Promise<void>((done, fail) => {
    server.once("error", (cause) =>
      fail(
        new Refusal(
          `The storage folder cannot hold a socket (${cause.message}). Expected a folder on a local disk. Name another: --storage DIR`,
        ),
      ),
    );
    server.listen(path, done);
  });
  return {
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Pauses the server until the other process closes the connection. */
async function holdFor(socket: Socket, hold: Hold): Promise<void> {
  const release = await hold().catch(() => undefined);
  if (release === undefined) return void socket.destroy();
  socket.once("close", release);
  if (socket.destroyed) release();
  else {
    socket.on("data", () => void socket.write("held\n"));
    socket.write("held\n");
  }
}

/** Kills a workerd whose supervising process was killed: it still writes into the folder. */
async function endOrphan(folder: string): Promise<void> {
  const pid = Number(await readFile(join(folder, WORKERD), "utf8").catch(() => ""));
  const isOurs = async () => pid > 0 && (await commandOf(pid)).includes(join(folder, CONFIG));
  if (!(await isOurs())) return;
  process.kill(pid, "SIGKILL");
  while (await isOurs()) await new Promise((done) => setTimeout(done, 10));
}
