import { createPrivateKey } from "node:crypto";

/**
 * A self-signed certificate of localhost that ends in 2126, and its key, which is no secret. Made by
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=localhost -addext subjectAltName=DNS:localhost`.
 */
const KEY =
  "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4fHhOQtwpz+byfFC5Zxu47iE5Ztwkx9ap6RLtdIlhRKhRANCAASgZ3bNNn+JV5bPpZS5PxybmLEK9r+acQxEaZI7FsD1AtYQZgNg4eXhIMwpFh359SwGNH7q4PKJW4H0LDcA3JV0";
const CERTIFICATE =
  "MIIBljCCATugAwIBAgIUFoRbPzRutC7YGya5fAELvjspG/kwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyOTE4MDAwOFoYDzIxMjYxMTA1MTgwMDA4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASgZ3bNNn+JV5bPpZS5PxybmLEK9r+acQxEaZI7FsD1AtYQZgNg4eXhIMwpFh359SwGNH7q4PKJW4H0LDcA3JV0o2kwZzAdBgNVHQ4EFgQUY/sJF1HdfKgJALCYtZYXguWutnEwHwYDVR0jBBgwFoAUY/sJF1HdfKgJALCYtZYXguWutnEwDwYDVR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglsb2NhbGhvc3QwCgYIKoZIzj0EAwIDSQAwRgIhAO43gmqlJ7uzKpUkQjdEozSz96wcmRlUEp14E8+TL18ZAiEApWhvcz4ib9BkMHEAEDtt5fkYjUmpod8o7zOIm/v62YU=";

export const certificate = {
  key: createPrivateKey({ key: Buffer.from(KEY, "base64"), format: "der", type: "pkcs8" }).export({
    format: "pem",
    type: "pkcs8",
  }),
  cert: `-----BEGIN CERTIFICATE-----\n${CERTIFICATE}\n-----END CERTIFICATE-----\n`,
};
