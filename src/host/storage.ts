import { access, constants, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
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
const WORKERD = "workerd.pid";
export const CONFIG = "workerd.capnp";

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
    await mkdir(objects, { recursive: true });
    await access(folder, constants.W_OK);
    await access(objects, constants.W_OK);
  } catch (error) {
    throw new Refusal(
      `The storage folder ${folder} cannot be written (${(error as Error).message}). Give it to the user that runs the server, or name another: --storage DIR`,
    );
  }
  const socket = socketIn(folder);
  if (await isServed(socket))
    throw new Refusal(
      `The storage folder ${folder} is in use by another server. Stop that, or name another folder: --storage DIR`,
    );
  await rm(socket, { force: true });
  const server = await listen(socket, hold);
  await endOrphan(folder);
  return {
    path: folder,
    objects,
    config: join(folder, CONFIG),
    note: (pid) => writeFile(join(folder, WORKERD), String(pid)),
    async release() {
      await rm(join(folder, WORKERD), { force: true });
      await new Promise((done) => server.close(done));
    },
  };
}

/**
 * Pauses the server of a folder while `work` runs; if no server runs, locks the folder instead. The server also resumes
 * if this process dies.
 */
export async function whileHeld<T>(path: string, work: () => Promise<T>): Promise<T> {
  const socket = await connected(socketIn(resolve(path)));
  if (socket === undefined) {
    const taken = await takeStorage(path, () => Promise.reject(new Error("no server runs")));
    try {
      return await work();
    } finally {
      await taken.release();
    }
  }
  try {
    await new Promise<void>((held, fail) => {
      socket.once("data", () => held());
      socket.once("close", () => fail(new Refusal("The server ended: try again.")));
      socket.write("hold\n");
    });
    return await work();
  } finally {
    socket.destroy();
  }
}

export const isServed = async (socket: string): Promise<boolean> => {
  const other = await connected(socket);
  other?.destroy();
  return other !== undefined;
};

/** The path of the folder's socket, relative to the working directory where that is shorter. */
export function socketIn(folder: string): string {
  const whole = join(folder, SOCKET);
  const [short = whole] = [whole, relative("", whole)].toSorted((a, b) => a.length - b.length);
  if (Buffer.byteLength(short) <= SOCKET_PATH_BYTES) return short;
  throw new Refusal(
    `The path of the storage folder ${folder} is too long. Expected ${SOCKET_PATH_BYTES - SOCKET.length - 1} bytes at most.`,
  );
}

function connected(path: string): Promise<Socket | undefined> {
  return new Promise((done) => {
    const socket = connect(path, () => done(socket));
    socket.once("error", () => done(undefined));
  });
}

async function listen(path: string, hold: Hold): Promise<Server> {
  const server = createServer((socket) => {
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
  return server;
}

/** Pauses the server until the other process closes the connection. */
async function holdFor(socket: Socket, hold: Hold): Promise<void> {
  const release = await hold().catch(() => undefined);
  if (release === undefined) return void socket.destroy();
  socket.once("close", release);
  if (socket.destroyed) release();
  else socket.write("held\n");
}

/** Kills a workerd whose supervising process was killed: it still writes into the folder. */
async function endOrphan(folder: string): Promise<void> {
  const pid = Number(await readFile(join(folder, WORKERD), "utf8").catch(() => ""));
  if (!(pid > 0) || !(await commandOf(pid)).includes(join(folder, CONFIG))) return;
  process.kill(pid, "SIGKILL");
  while ((await commandOf(pid)) !== "") await new Promise((done) => setTimeout(done, 10));
}
