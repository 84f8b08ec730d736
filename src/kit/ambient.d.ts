/** Types of a servlet's globals, for the type check of `plugins/<name>/servlet.ts`. */
type Kit = typeof import("./globals.ts");

/** The global object, under the name that all web platforms have. */
declare var self: typeof globalThis;
declare var console: Kit["console"];
declare var crypto: Kit["crypto"];
declare var fetch: Kit["fetch"];
declare var performance: Kit["performance"];
declare var structuredClone: typeof import("./globals/clone.ts").structuredClone;
declare var setTimeout: Kit["setTimeout"];
declare var setInterval: Kit["setInterval"];
declare var clearTimeout: Kit["clearTimeout"];
declare var clearInterval: Kit["clearInterval"];

declare var AbortController: typeof import("./globals/abort.ts").AbortController;
type AbortController = import("./globals/abort.ts").AbortController;
declare var AbortSignal: typeof import("./globals/abort.ts").AbortSignal;
type AbortSignal = import("./globals/abort.ts").AbortSignal;
declare var EventSource: typeof import("./globals/absent.ts").EventSource;
type EventSource = InstanceType<typeof import("./globals/absent.ts").EventSource>;
declare var SharedWorker: typeof import("./globals/absent.ts").SharedWorker;
type SharedWorker = InstanceType<typeof import("./globals/absent.ts").SharedWorker>;
declare var WebSocket: typeof import("./globals/absent.ts").WebSocket;
type WebSocket = InstanceType<typeof import("./globals/absent.ts").WebSocket>;
declare var Worker: typeof import("./globals/absent.ts").Worker;
type Worker = InstanceType<typeof import("./globals/absent.ts").Worker>;
declare var XMLHttpRequest: typeof import("./globals/absent.ts").XMLHttpRequest;
type XMLHttpRequest = InstanceType<typeof import("./globals/absent.ts").XMLHttpRequest>;
declare var Blob: typeof import("./globals/blob.ts").Blob;
type Blob = import("./globals/blob.ts").Blob;
declare var File: typeof import("./globals/blob.ts").File;
type File = import("./globals/blob.ts").File;
declare var CustomEvent: typeof import("./globals/events.ts").CustomEvent;
type CustomEvent<T = unknown> = import("./globals/events.ts").CustomEvent<T>;
declare var ErrorEvent: typeof import("./globals/events.ts").ErrorEvent;
type ErrorEvent = import("./globals/events.ts").ErrorEvent;
declare var Event: typeof import("./globals/events.ts").Event;
type Event = import("./globals/events.ts").Event;
declare var EventTarget: typeof import("./globals/events.ts").EventTarget;
type EventTarget = import("./globals/events.ts").EventTarget;
declare var MessageEvent: typeof import("./globals/events.ts").MessageEvent;
type MessageEvent<T = unknown> = import("./globals/events.ts").MessageEvent<T>;
declare var FormData: typeof import("./globals/forms.ts").FormData;
type FormData = import("./globals/forms.ts").FormData;
declare var ByteLengthQueuingStrategy: typeof import("./globals/streams.ts").ByteLengthQueuingStrategy;
type ByteLengthQueuingStrategy = import("./globals/streams.ts").ByteLengthQueuingStrategy;
declare var CountQueuingStrategy: typeof import("./globals/streams.ts").CountQueuingStrategy;
type CountQueuingStrategy = import("./globals/streams.ts").CountQueuingStrategy;
declare var ReadableStream: typeof import("./globals/streams.ts").ReadableStream;
type ReadableStream<T = unknown> = import("./globals/streams.ts").ReadableStream<T>;
declare var ReadableStreamDefaultReader: typeof import("./globals/streams.ts").ReadableStreamDefaultReader;
type ReadableStreamDefaultReader<T = unknown> =
  import("./globals/streams.ts").ReadableStreamDefaultReader<T>;
declare var TextDecoderStream: typeof import("./globals/streams.ts").TextDecoderStream;
type TextDecoderStream = import("./globals/streams.ts").TextDecoderStream;
declare var TextEncoderStream: typeof import("./globals/streams.ts").TextEncoderStream;
type TextEncoderStream = import("./globals/streams.ts").TextEncoderStream;
declare var TransformStream: typeof import("./globals/streams.ts").TransformStream;
type TransformStream<I = unknown, O = I> = import("./globals/streams.ts").TransformStream<I, O>;
declare var WritableStream: typeof import("./globals/streams.ts").WritableStream;
type WritableStream<T = unknown> = import("./globals/streams.ts").WritableStream<T>;
declare var CryptoKey: typeof import("./globals/subtle.ts").CryptoKey;
type CryptoKey = import("./globals/subtle.ts").CryptoKey;
declare var SubtleCrypto: typeof import("./globals/subtle.ts").SubtleCrypto;
type SubtleCrypto = import("./globals/subtle.ts").SubtleCrypto;
declare var Headers: Kit["Headers"];
type Headers = import("./globals.ts").Headers;
declare var Request: Kit["Request"];
type Request = import("./globals.ts").Request;
declare var Response: Kit["Response"];
type Response = import("./globals.ts").Response;
declare var TextDecoder: Kit["TextDecoder"];
type TextDecoder = import("./globals.ts").TextDecoder;
declare var TextEncoder: Kit["TextEncoder"];
type TextEncoder = import("./globals.ts").TextEncoder;
declare var URL: Kit["URL"];
type URL = import("./globals.ts").URL;
declare var URLSearchParams: Kit["URLSearchParams"];
type URLSearchParams = import("./globals.ts").URLSearchParams;

/* Types of the globals' parameters, under the names of TypeScript's DOM library. */
type RequestInit = import("./globals/fetch.ts").RequestInit;
type RequestInfo = import("./globals/fetch.ts").RequestInfo;
type ResponseInit = import("./globals/response.ts").ResponseInit;
type BodyInit = import("./globals/response.ts").BodyInit;
type HeadersInit = import("./globals/headers.ts").HeadersInit;
type BlobPart = import("./globals/blob.ts").BlobPart;
type BlobPropertyBag = import("./globals/blob.ts").BlobInit;
type FilePropertyBag = import("./globals/blob.ts").FileInit;
type FormDataEntryValue = import("./globals/forms.ts").Value;
type EventInit = import("./globals/events.ts").EventInit;
type EventListener = (event: Event) => void;
type EventListenerOrEventListenerObject = import("./globals/events.ts").Callback<Event>;
type AddEventListenerOptions = import("./globals/events.ts").ListenerOptions;
type BufferSource = import("./globals/subtle.ts").Source;
type AlgorithmIdentifier = import("./globals/subtle.ts").Name;
type KeyUsage = import("./globals/subtle.ts").Usage;

/* Globals of the interpreter that are not part of ECMAScript. */
declare function atob(text: string): string;
declare function btoa(binary: string): string;
declare function queueMicrotask(callback: () => void): void;
declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
