import { isObject, type Json } from "../core/model.ts";
import { ORIGIN } from "./manifest.ts";

/** Features of the browser by the permissions of a view. */
const FEATURES = {
  camera: "camera",
  microphone: "microphone",
  geolocation: "geolocation",
  clipboardWrite: "clipboard-write",
};

/**
 * The headers of a view with this `_meta.ui`.
 * https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx#4-content-security-policy-enforcement
 */
export function viewHeaders(type: "text/html" | "text/plain", { csp, permissions }: Json) {
  const declared = isObject(csp) ? csp : {};
  const granted = isObject(permissions) ? permissions : {};
  // With an opaque origin, nothing is 'self'. A servlet that makes its views itself may declare anything.
  const of = (key: string, ...others: string[]): string => {
    const given = declared[key];
    const origins = Array.isArray(given)
      ? given.filter((one) => typeof one === "string" && ORIGIN.test(one))
      : [];
    return [...others, ...origins].join(" ") || "'none'";
  };
  const policy = [
    "sandbox allow-scripts",
    "default-src 'none'",
    `script-src ${of("resourceDomains", "'unsafe-inline'")}`,
    `style-src ${of("resourceDomains", "'unsafe-inline'")}`,
    `img-src ${of("resourceDomains", "data:")}`,
    `media-src ${of("resourceDomains", "data:")}`,
    `font-src ${of("resourceDomains", "data:")}`,
    `connect-src ${of("connectDomains")}`,
    `frame-src ${of("frameDomains")}`,
    `base-uri ${of("baseUriDomains")}`,
    "worker-src 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ];
  const denied = Object.entries(FEATURES).filter(([key]) => !isObject(granted[key]));
  return {
    "content-type": `${type}; charset=utf-8`,
    "content-security-policy": policy.join("; "),
    "permissions-policy": denied.map(([, feature]) => `${feature}=()`).join(", "),
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-dns-prefetch-control": "off",
  };
}
