/**
 * The standard allows undefined, which the types of the platform lack: https://html.spec.whatwg.org/#dom-cleartimeout
 */
declare function clearTimeout(id: number | undefined): void;
declare function clearInterval(id: number | undefined): void;
