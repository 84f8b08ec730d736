import type { ResourceSpec, ResourceTemplateSpec } from "edge-servlets/servlet";
import { PNG } from "./contents.ts";

export const resources: Record<string, ResourceSpec> = {
  "test://static-text": {
    name: "static-text",
    description: "A text",
    mimeType: "text/plain",
    read: () => "This is the content of the static text resource.",
  },
  "test://static-binary": {
    name: "static-binary",
    description: "An image",
    mimeType: "image/png",
    read: () => ({ blob: PNG }),
  },
  "test://watched-resource": {
    name: "watched-resource",
    description: "A resource to subscribe to",
    mimeType: "text/plain",
    read: () => "Watched resource content",
  },
};

export const resourceTemplates: Record<string, ResourceTemplateSpec> = {
  "test://template/{id}/data": {
    name: "template",
    description: "Data for an id",
    mimeType: "application/json",
    read: (_uri, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  },
};
