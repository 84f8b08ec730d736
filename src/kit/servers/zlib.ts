/** `node:zlib`, as far as servlets support it: whole values, synchronously, by a callback or promisified. */
import { Buffer, type Bytes } from "node:buffer";
import { deflateSync as deflate, gunzipSync as gunzip, gzipSync as gzip } from "fflate";
import { inflateSync as inflate, unzlibSync as unzlib, zlibSync as zlib } from "fflate";
import { decompressSync as decompress } from "fflate";

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

/** A packing function of Node; its default level is 6. */
const packed =
  (pack: (data: Uint8Array, options: { level: Level }) => Uint8Array) =>
  (data: Data, options?: Options | null): Bytes => {
    const { level = DEFAULT_LEVEL } = options ?? {};
    return Buffer.from(
      pack(bytesOf(data), { level: (level < 0 ? DEFAULT_LEVEL : level) as Level }),
    );
  };

/**
 * An unpacking function of Node. Unlike Node's it verifies no checksum and reads one member of a gzip file; for bad data, its
 * error has the code `Z_DATA_ERROR`.
 */
const unpacked =
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

export const gzipSync = packed(gzip);
export const gunzipSync = unpacked(gunzip);
export const deflateSync = packed(zlib);
export const inflateSync = unpacked(unzlib);
export const deflateRawSync = packed(deflate);
export const inflateRawSync = unpacked(inflate);
export const unzipSync = unpacked(decompress);

/** The form with a callback, which is called later. */
const called =
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

const gzip_ = called(gzipSync);
const gunzip_ = called(gunzipSync);
const deflate_ = called(deflateSync);
const inflate_ = called(inflateSync);
export const deflateRaw = called(deflateRawSync);
export const inflateRaw = called(inflateRawSync);
export const unzip = called(unzipSync);
export { gzip_ as gzip, gunzip_ as gunzip, deflate_ as deflate, inflate_ as inflate };

/** Streams are not supported. */
const lacking = (name: string, instead: string) => (): never => {
  throw new Error(
    `zlib.${name} is not available in a servlet: use zlib.${instead} with the whole value.`,
  );
};
export const createGzip = lacking("createGzip", "gzipSync");
export const createGunzip = lacking("createGunzip", "gunzipSync");
export const createDeflate = lacking("createDeflate", "deflateSync");
export const createInflate = lacking("createInflate", "inflateSync");

export const constants = {
  Z_NO_COMPRESSION: 0,
  Z_BEST_SPEED: 1,
  Z_BEST_COMPRESSION: 9,
  Z_DEFAULT_COMPRESSION: -1,
};
export default {
  ...{ gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, unzipSync },
  ...{
    gzip: gzip_,
    gunzip: gunzip_,
    deflate: deflate_,
    inflate: inflate_,
    deflateRaw,
    inflateRaw,
    unzip,
  },
  ...{ createGzip, createGunzip, createDeflate, createInflate, constants },
};
