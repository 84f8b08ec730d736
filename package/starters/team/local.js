// An OpenID provider for this machine, at which the people below sign in with any password: npm run local
import Provider from "oidc-provider";

const SERVER = "http://localhost:8787";
const PEOPLE = {
  ada: { name: "Ada", groups: ["team", "operators"] },
  bob: { name: "Bob", groups: ["team"] },
};

const provider = new Provider("http://localhost:8788", {
  clients: [
    {
      client_id: "{{name}}",
      token_endpoint_auth_method: "none",
      redirect_uris: [`${SERVER}/account/callback/local`],
      grant_types: ["authorization_code", "refresh_token"],
    },
  ],
  claims: { openid: ["sub", "groups"], profile: ["name"] },
  conformIdTokenClaims: false,
  // Others can sign in here, but have no groups, and so are not let in there.
  findAccount: (_context, sub) => ({
    accountId: sub,
    claims: () => ({ sub, name: sub, groups: [], ...PEOPLE[sub] }),
  }),
});

provider.listen(8788, "localhost", () => console.log(`People sign in at ${provider.issuer}`));
