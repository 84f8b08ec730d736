/** Resources and templates of each form. */
import { defineServlet, RpcError, type ResourceOutput } from "edge-servlets/servlet";

export default defineServlet({
  resources: {
    "notes://index": {
      name: "index",
      title: "Index",
      description: "All notes",
      mimeType: "text/plain",
      size: 9,
      annotations: { audience: ["user"], priority: 0.5 },
      read: () => "the index",
    },
    "notes://bytes": { name: "bytes", read: async () => new Uint8Array([1, 2, 3]) },
    "notes://one": {
      name: "one",
      mimeType: "text/a",
      read: () => ({ text: "t", mimeType: "text/b" }),
    },
    "notes://many": {
      name: "many",
      mimeType: "text/a",
      read: (uri) => [{ uri: `${uri}/1`, text: "1" }, { blob: new Uint8Array([9]) }],
    },
    "notes://whole": {
      name: "whole",
      read: (uri) => ({ contents: [{ uri, text: "w" }], _meta: { a: 1 } }),
    },
    "notes://told": {
      name: "told",
      read(_uri, { log }) {
        log("info", "read");
        return "";
      },
    },
    "notes://throws": {
      name: "throws",
      read() {
        throw new Error("no read");
      },
    },
    "notes://gone": {
      name: "gone",
      async read(uri) {
        throw new RpcError(-32002, "gone", { uri });
      },
    },
    "notes://wrong": { name: "wrong", read: () => ({}) as ResourceOutput },
  },
  resourceTemplates: {
    "notes://{id}": {
      name: "note",
      description: "One note",
      mimeType: "text/x",
      read: (uri, { id }, context) => `${id} of ${uri} in ${context.id}`,
      complete: {
        id: (value, { arguments: settled }) => [
          ...["one", "two"].filter((one) => one.startsWith(value)),
          ...Object.keys(settled),
        ],
      },
    },
    "files:///{+path}{?rev,q}": { name: "file", read: (_uri, values) => JSON.stringify(values) },
  },
});
