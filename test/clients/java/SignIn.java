import com.nimbusds.oauth2.sdk.AuthorizationCodeGrant;
import com.nimbusds.oauth2.sdk.AuthorizationRequest;
import com.nimbusds.oauth2.sdk.AuthorizationResponse;
import com.nimbusds.oauth2.sdk.ResponseType;
import com.nimbusds.oauth2.sdk.TokenRequest;
import com.nimbusds.oauth2.sdk.TokenResponse;
import com.nimbusds.oauth2.sdk.as.AuthorizationServerMetadata;
import com.nimbusds.oauth2.sdk.auth.ClientAuthenticationMethod;
import com.nimbusds.oauth2.sdk.client.ClientMetadata;
import com.nimbusds.oauth2.sdk.client.ClientRegistrationRequest;
import com.nimbusds.oauth2.sdk.client.ClientRegistrationResponse;
import com.nimbusds.oauth2.sdk.id.Issuer;
import com.nimbusds.oauth2.sdk.id.State;
import com.nimbusds.oauth2.sdk.pkce.CodeChallengeMethod;
import com.nimbusds.oauth2.sdk.pkce.CodeVerifier;
import java.net.URI;

/** A sign-in by a library for OAuth, for SDKs that have no code for it and take a token. */
final class SignIn {
    private static final URI CALLBACK = URI.create("http://127.0.0.1:8899/callback");

    private SignIn() {}

    /** The access token for a server that is its own authorization server. */
    static String token(String url) throws Exception {
        var resource = URI.create(url);
        var issuer = new Issuer(resource.getScheme() + "://" + resource.getAuthority());
        var metadata = AuthorizationServerMetadata.resolve(issuer);

        var app = new ClientMetadata();
        app.setName("matrix-java");
        app.setRedirectionURI(CALLBACK);
        app.setTokenEndpointAuthMethod(ClientAuthenticationMethod.NONE);
        var registration = new ClientRegistrationRequest(metadata.getRegistrationEndpointURI(), app, null);
        var client = ClientRegistrationResponse.parse(registration.toHTTPRequest().send())
            .toSuccessResponse().getClientInformation().getID();

        var verifier = new CodeVerifier();
        var state = new State();
        var page = new AuthorizationRequest.Builder(ResponseType.CODE, client)
            .endpointURI(metadata.getAuthorizationEndpointURI())
            .redirectionURI(CALLBACK)
            .codeChallenge(verifier, CodeChallengeMethod.S256)
            .resource(resource)
            .state(state)
            .build();
        var back = AuthorizationResponse.parse(URI.create(Cells.tell("browse", page.toURI().toString())));
        Cells.expect(state.equals(back.getState()), back.getState());

        var code = back.toSuccessResponse().getAuthorizationCode();
        var request = new TokenRequest.Builder(
                metadata.getTokenEndpointURI(), client, new AuthorizationCodeGrant(code, CALLBACK, verifier))
            .resource(resource)
            .build();
        return TokenResponse.parse(request.toHTTPRequest().send())
            .toSuccessResponse().getTokens().getAccessToken().getValue();
    }
}
