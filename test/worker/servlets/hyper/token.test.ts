import { describe, expect, test } from "vitest";
import { GuestError } from "../../../../src/server/kernel/wasm/guest.ts";
import { accessToken } from "../../../../src/server/kernel/servlets/hyper/token.ts";
import { TOKEN_URL, SECRET, client, granted, ok, no, scripted } from "./token-script.ts";

/** `get_access_token` where the servlet has what is needed, and what it may be asked with. */
describe("client credentials", () => {
  test.each([
    [
      "Basic by default, each part form-encoded",
      { client_id: "pro be", client_secret: SECRET },
      "grant_type=client_credentials",
      `Basic ${btoa("pro+be:s3cr%3At%2F%C3%BC")}`,
    ],
    [
      "Basic where it is asked for",
      { auth_type: "basicAuth", client_secret: "s" },
      "grant_type=client_credentials",
      `Basic ${btoa("probe:s")}`,
    ],
    [
      "the body where it is asked for",
      { auth_type: "requestBody", client_secret: SECRET },
      "grant_type=client_credentials&client_id=probe&client_secret=s3cr%3At%2F%C3%BC",
      undefined,
    ],
    [
      "no secret",
      { auth_type: "basicAuth", client_secret: null },
      "grant_type=client_credentials&client_id=probe",
      undefined,
    ],
    [
      "an empty secret, which is one",
      { client_secret: "" },
      "grant_type=client_credentials",
      `Basic ${btoa("probe:")}`,
    ],
    [
      "scopes",
      { scopes: ["read", "a&b"] },
      "scope=read+a%26b&grant_type=client_credentials&client_id=probe",
      undefined,
    ],
    [
      "no scopes",
      { scopes: [], extra_params: null },
      "grant_type=client_credentials&client_id=probe",
      undefined,
    ],
    [
      "extra parameters, none of which takes the place of the grant's own",
      { extra_params: { audience: "https://api.example/", grant_type: "password" } },
      "audience=https%3A%2F%2Fapi.example%2F&grant_type=client_credentials&client_id=probe",
      undefined,
    ],
  ])("with %s", async (_case, more, form, authorization) => {
    const { does, seen } = scripted([ok(granted)]);
    expect(await accessToken({ ...client, ...more }, does)).toEqual({
      access_token: "t0ken",
      expires_at: null,
      scopes: null,
    });
    expect(seen).toEqual({
      requests: [{ url: TOKEN_URL, form, authorization, at: 0 }],
      asked: [],
    });
  });

  test("the expiry is Rust's SystemTime, the scopes are a list", async () => {
    const { does } = scripted([ok({ ...granted, expires_in: 3600, scope: "read write" })]);
    expect(await accessToken(client, does)).toEqual({
      access_token: "t0ken",
      expires_at: { secs_since_epoch: 1_700_003_600, nanos_since_epoch: 250_000_000 },
      scopes: ["read", "write"],
    });
  });

  test.each([
    ["an error", no("invalid_client")],
    ["an error with the status of a success", ok({ error: "invalid_scope" })],
    ["a token with the status of an error", { status: 500, body: granted }],
    ["text that is not JSON", ok("<html>")],
    ["nothing", ok("")],
    ["JSON that is no object", ok([granted])],
    ["no access_token", ok({ token_type: "Bearer" })],
    ["no token_type", ok({ access_token: "t0ken" })],
    ["an expiry that is no number", ok({ ...granted, expires_in: "3600" })],
  ])("null where the server answers %s", async (_case, reply) => {
    expect(await accessToken(client, scripted([reply]).does)).toBeNull();
  });

  test("a host that is refused ends the call", async () => {
    const refusal = new GuestError("The servlet may not make HTTP requests to auth.example.");
    await expect(accessToken(client, scripted([refusal]).does)).rejects.toBe(refusal);
  });
});

describe("input that is wrong", () => {
  test.each([
    [{ client_id: undefined }, "client_id must be a string"],
    [{ client_id: 1 }, "client_id must be a string"],
    [{ client_secret: { of: SECRET } }, "client_secret must be a string"],
    [{ auth_type: "basic_auth" }, "auth_type must be basicAuth or requestBody"],
    [{ token_endpoint_url: undefined }, "token_endpoint_url must be an http or https URL"],
    [{ token_endpoint_url: "/token" }, "token_endpoint_url must be an http or https URL"],
    [
      { device_authorization_url: "file:///etc" },
      "device_authorization_url must be an http or https URL",
    ],
    [{ device_auth_timeout_secs: -1 }, "device_auth_timeout_secs must not be negative"],
    [{ device_auth_timeout_secs: 1.5 }, "device_auth_timeout_secs must be a whole number"],
    [{ extra_params: ["a"] }, "extra_params must be an object of strings"],
    [{ extra_params: { audience: 1 } }, "extra_params.audience must be a string"],
    [{ scopes: "read" }, "scopes must be an array of strings"],
    [{ scopes: ["read", 2] }, "scopes.1 must be a string"],
  ])("%j", async (more, message) => {
    const { does, seen } = scripted([ok(granted)]);
    const failing = accessToken({ client_secret: SECRET, ...client, ...more }, does);
    await expect(failing).rejects.toThrow(GuestError);
    await expect(failing).rejects.toThrow(new GuestError(`get_access_token: ${message}.`));
    expect(seen.requests).toEqual([]);
  });
});
