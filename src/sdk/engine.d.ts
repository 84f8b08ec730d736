/** Globals that the engine has beyond the language's. */
declare function atob(text: string): string;
declare function btoa(binary: string): string;
declare function queueMicrotask(callback: () => void): void;
declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
