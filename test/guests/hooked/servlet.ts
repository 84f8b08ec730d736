// Webhooks that do what a delivery says: by default they tell the world of it.
import { defineServlet, type Context, type WebhookRequest } from "edge-servlets/servlet";

const NAME = {
  type: "object",
  properties: { name: { type: "string" } },
  required: ["name"],
} as const;

/** What a delivery wants: `act` of its JSON. */
function actOf({ body }: WebhookRequest): string {
  try {
    return String((JSON.parse(body) as { act?: unknown }).act);
  } catch {
    return "tell";
  }
}

async function receive(request: WebhookRequest, context: Context): Promise<string> {
  const act = actOf(request);
  if (act === "fail") throw new Error("It fails.");
  if (act === "trap") for (;;);
  if (act === "ask") {
    const { action } = await context.elicit({
      message: `May ${request.id} go on?`,
      schema: { type: "object", properties: { why: { type: "string" } } },
    });
    return tell({ action }, context);
  }
  if (act === "url") return tell({ url: await context.webhook(request.name) }, context);
  const { client, meta } = context;
  const secrets = ["HOOK_SECRET", "HOOK_STANDARD"].map((name) => context.config(name) ?? null);
  return tell({ request, principal: client.principal, meta, secrets }, context);
}

async function tell(what: object, { fetch }: Context): Promise<string> {
  const body = JSON.stringify(what);
  const { status } = await fetch("https://world.example/effects", { method: "PUT", body });
  return `The world says ${status}.`;
}

const secret = "HOOK_SECRET";

export default defineServlet({
  tools: {
    hook_url: {
      description: "The address of a webhook of the caller",
      input: NAME,
      handler: ({ name }, context) => context.webhook(name),
    },
    hook_revoke: {
      description: "Revokes a webhook of the caller",
      input: NAME,
      handler: async ({ name }, context) => String(await context.revokeWebhook(name)),
    },
  },
  webhooks: {
    github: { description: "What GitHub tells", verify: { type: "github", secret }, receive },
    stripe: { verify: { type: "stripe", secret }, receive },
    slack: { verify: { type: "slack", secret }, receive },
    standard: { verify: { type: "standard", secret: "HOOK_STANDARD" }, receive },
    shop: {
      verify: {
        type: "hmac",
        secret,
        header: "X-Shop-Signature",
        algorithm: "sha512",
        encoding: "base64",
        prefix: "v9=",
        signed: "{id}|{timestamp}|{body}",
        timestamp: "X-Shop-Time",
        id: "X-Shop-Id",
        toleranceSeconds: 60,
      },
      receive,
    },
    bare: {
      verify: {
        type: "hmac",
        secret,
        header: "X-Bare",
        algorithm: "sha1",
        encoding: "hex",
        signed: "{body}",
      },
      receive,
    },
    linear: {
      verify: {
        type: "hmac",
        secret,
        header: "Linear-Signature",
        algorithm: "sha256",
        encoding: "hex",
        signed: "{body}",
        id: "Linear-Delivery",
        status: 200,
      },
      receive,
    },
    open: { verify: { type: "none", id: "X-Id" }, receive },
  },
});
