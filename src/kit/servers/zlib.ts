/** `node:zlib`, as far as servlets support it: whole values, synchronously, by a callback or promisified. */
import { Buffer, type Bytes } from "node:buffer";
import {
  decompressSync,
  deflateSync as packRaw,
  gunzipSync as unpackGzip,
  gzipSync as packGzip,
  inflateSync as unpackRaw,
  unzlibSync as unpackZlib,
  zlibSync as packZlib,
} from "fflate";

type Data = string | ArrayBufferView | ArrayBuffer;
interface Options {
  level?: number;
  maxOutputLength?: number;
}
const DEFAULT_LEVEL = 6;
type Level = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9;
type Done = (error: Error | null, result?: Bytes) => void;

const bytesOf = (data: Data): Uint8Array =>
  ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(Buffer.from(data));

/** A compression function of Node. */
const compressor =
  (pack: (data: Uint8Array, options: { level: Level }) => Uint8Array) =>
  (data: Data, options?: Options | null): Bytes => {
    const { level = DEFAULT_LEVEL } = options ?? {};
    return Buffer.from(
      pack(bytesOf(data), { level: (level < 0 ? DEFAULT_LEVEL : level) as Level }),
    );
  };

/**
 * A decompression function of Node. Unlike Node's it verifies no checksum and reads one member of a gzip file; for bad data, its
 * error has the code `Z_DATA_ERROR`.
 */
const decompressor =
  (unpack: (data: Uint8Array) => Uint8Array) =>
  (data: Data, options?: Options | null): Bytes => {
    let result: Uint8Array;
    try {
      result = unpack(bytesOf(data));
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw Object.assign(new Error(message, { cause }), { code: "Z_DATA_ERROR", errno: -3 });
    }
    const { maxOutputLength = Infinity } = options ?? {};
    if (result.length <= maxOutputLength) return Buffer.from(result);
    const message = `Cannot create a Buffer larger than ${maxOutputLength} bytes`;
    throw Object.assign(new RangeError(message), { code: "ERR_BUFFER_TOO_LARGE" });
  };

export const gzipSync = compressor(packGzip);
export const gunzipSync = decompressor(unpackGzip);
export const deflateSync = compressor(packZlib);
export const inflateSync = decompressor(unpackZlib);
export const deflateRawSync = compressor(packRaw);
export const inflateRawSync = decompressor(unpackRaw);
export const unzipSync = decompressor(decompressSync);

/** Node's callback form of a synchronous function. */
const withCallback =
  (work: (data: Data, options?: Options | null) => Bytes) =>
  (data: Data, ...rest: [Done] | [Options, Done]): void => {
    const done = rest.at(-1) as Done;
    if (typeof done !== "function") throw new TypeError("The callback must be a function");
    const options = rest.length > 1 ? (rest[0] as Options) : undefined;
    queueMicrotask(() => {
      let result: Bytes;
      try {
        result = work(data, options);
      } catch (error) {
        return done(error as Error);
      }
      return done(null, result);
    });
  };

export const gzip = withCallback(gzipSync);
export const gunzip = withCallback(gunzipSync);
export const deflate = withCallback(deflateSync);
export const inflate = withCallback(inflateSync);
export const deflateRaw = withCallback(deflateRawSync);
export const inflateRaw = withCallback(inflateRawSync);
export const unzip = withCallback(unzipSync);

/** The constructor of a stream, which servlets do not have. */
const unsupported = (name: string, instead: string) => (): never => {
  throw new Error(
    `zlib.${name} is not available in a servlet: use zlib.${instead} with the whole value.`,
  );
};
export const createGzip = unsupported("createGzip", "gzipSync");
export const createGunzip = unsupported("createGunzip", "gunzipSync");
export const createDeflate = unsupported("createDeflate", "deflateSync");
export const createInflate = unsupported("createInflate", "inflateSync");

export const constants = {
  Z_NO_COMPRESSION: 0,
  Z_BEST_SPEED: 1,
  Z_BEST_COMPRESSION: 9,
  Z_DEFAULT_COMPRESSION: -1,
};
export default {
  gzipSync,
  gunzipSync,
  deflateSync,
  inflateSync,
  deflateRawSync,
  inflateRawSync,
  unzipSync,
  gzip,
  gunzip,
  deflate,
  inflate,
  deflateRaw,
  inflateRaw,
  unzip,
  createGzip,
  createGunzip,
  createDeflate,
  createInflate,
  constants,
};
