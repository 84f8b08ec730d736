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

/** Pauses the server for another process, which copies the folder; the function that it returns resumes the server. */
export type Hold = () => Promise<() => void>;

const OBJECTS = "objects";
const SOCKET = "server.sock";
/** Name of the socket on which the Worker receives whether the disk is full. */
export const DISK_SOCKET = "disk.sock";
/** How the sockets end of those that look whether they may have the folder. */
const CANDIDATE = ".try";
const WORKERD = "workerd.pid";
/** Name of the file with the process id of the server. */
const SERVER = "server.pid";
export const CONFIG = "workerd.capnp";

/** The permissions of stored data, which only the server's own user may read. */
export const OWN_MODE = 0o700;

/** The longest path of a socket on all systems, in bytes. */
const SOCKET_PATH_BYTES = 103;

export const objectsIn = (storage: string): string => join(storage, OBJECTS);

/**
 * Locks the folder for a server, and creates it if it is missing. The process that listens on the socket in it holds the
 * lock: so the lock ends with the process, and works across containers. Throws a `Refusal`.
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
      // One that was just being started.
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
    // Had the server ended, whoever has the folder next could have written meanwhile.
    await asked(socket);
    return done;
  } finally {
    socket.destroy();
  }
}

/** Resolves when the server says that it stands still. */
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

/** The path of a folder's socket, relative to the working directory where that is shorter. */
export function socketIn(folder: string, name = SOCKET): string {
  const whole = join(folder, name);
  const [short = whole] = [whole, relative("", whole)].toSorted((a, b) => a.length - b.length);
  if (Buffer.byteLength(short) <= SOCKET_PATH_BYTES) return short;
  throw new Refusal(
    `The path of the storage folder ${folder} is too long. Expected ${SOCKET_PATH_BYTES - SOCKET.length - 1} bytes at most.`,
  );
}

/** A connection to whoever listens there; undefined if nobody does. Throws a `Refusal` where that cannot be known. */
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

/** The server of a folder, for messages: `, process 4711`, or empty if unknown. Containers number processes differently. */
async function processOf(folder: string): Promise<string> {
  const pid = await readFile(join(folder, SERVER), "utf8").catch(() => "");
  return pid === "" ? "" : `, process ${pid}`;
}

interface Listener {
  close(): Promise<void>;
}

/**
 * Listens on the socket of the folder, if nobody else does. Each listens on a socket of its own first and looks for
 * others then, so of two that do so at the same time at least one sees the other.
 */
async function soleServer(folder: string, hold: Hold): Promise<Listener> {
  const own = `${randomUUID().slice(0, SOCKET.length - CANDIDATE.length)}${CANDIDATE}`;
  const server = await listen(socketIn(folder, own), hold);
  try {
    const others = (await readdir(folder)).filter(
      (name) => name.endsWith(CANDIDATE) && name !== own,
    );
    // One that has got the folder meanwhile is found by its new name.
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
