import io.modelcontextprotocol.client.McpAsyncClient;
import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.ClientCapabilities;
import io.modelcontextprotocol.spec.McpSchema.CompleteRequest;
import io.modelcontextprotocol.spec.McpSchema.ElicitResult;
import io.modelcontextprotocol.spec.McpSchema.GetPromptRequest;
import io.modelcontextprotocol.spec.McpSchema.ImageContent;
import io.modelcontextprotocol.spec.McpSchema.Implementation;
import io.modelcontextprotocol.spec.McpSchema.PromptReference;
import io.modelcontextprotocol.spec.McpSchema.ReadResourceRequest;
import io.modelcontextprotocol.spec.McpSchema.TextContent;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The official Java SDK against the server: https://github.com/modelcontextprotocol/java-sdk */
public final class Matrix {
    private static final Duration SHORT = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Cells.seconds("PATIENCE_SECONDS");
    private static final Duration STAY = Cells.seconds("STAY_SECONDS");
    private static final String REVISION = Cells.setting("REVISION");

    private static final AtomicInteger progressed = new AtomicInteger();
    private static final AtomicInteger changed = new AtomicInteger();
    /** The user's answer when the server asks. */
    private static volatile Callable<ElicitResult> user;

    private Matrix() {}

    private static McpAsyncClient connect(String url, String key) {
        var origin = URI.create(url).resolve("/").toString();
        var transport = HttpClientStreamableHttpTransport.builder(origin)
            .endpoint("/mcp")
            .openConnectionOnStartup(true)
            .resumableStreams(true);
        if (key != null) {
            transport.httpRequestCustomizer((request, method, uri, body, context) ->
                request.header("authorization", "Bearer " + key));
        }
        var client = McpClient.async(transport.build())
            .clientInfo(new Implementation("matrix-java", "1.0.0"))
            .requestTimeout(Duration.ofSeconds(60))
            .capabilities(ClientCapabilities.builder().elicitation().build())
            .elicitation(asked -> Mono.fromCallable(() -> user.call()).subscribeOn(Schedulers.boundedElastic()))
            .progressConsumer(told -> Mono.fromRunnable(progressed::incrementAndGet))
            .toolsChangeConsumer(tools -> Mono.fromRunnable(changed::incrementAndGet))
            .build();
        var agreed = client.initialize().block();
        Cells.expect(REVISION.equals(agreed.protocolVersion()), agreed.protocolVersion());
        return client;
    }

    private static Mono<CallToolResult> call(McpAsyncClient client, String name, Map<String, Object> arguments) {
        return client.callTool(
            CallToolRequest.builder(name).arguments(arguments).progressToken("progress").build());
    }

    private static void greets(McpAsyncClient client) {
        var result = call(client, "greet", Map.of("name", "Ada")).block();
        var said = ((TextContent) result.content().get(0)).text();
        Cells.expect("Hello, Ada!".equals(said), said);
    }

    private static void answered(McpAsyncClient client, String expected, Callable<ElicitResult> answer) {
        user = answer;
        var result = call(client, "request_approval", Map.of("what", "Paint the bridge")).block();
        Cells.expect(result.structuredContent() instanceof Map<?, ?> found && expected.equals(found.get("outcome")), result);
    }

    private static ElicitResult accept() {
        return new ElicitResult(ElicitResult.Action.ACCEPT, Map.of("approve", true));
    }

    private static void hearsChange(McpAsyncClient client) throws InterruptedException {
        var before = changed.get();
        call(client, "test_trigger_tool_change", Map.of()).block();
        Cells.expect(Cells.within(PATIENCE, () -> changed.get() > before), "no tools/list_changed");
    }

    public static void main(String[] args) {
        var connected = new McpAsyncClient[1];
        Cells.cell("connect", SHORT, () -> connected[0] = connect(Cells.setting("URL"), null));
        if (connected[0] != null) {
            use(connected[0]);
            hold(connected[0]);
            signIn();
        }
        Cells.report();
        System.exit(0);
    }

    private static void use(McpAsyncClient client) {
        Cells.cell("lists", SHORT, () -> {
            Cells.expect(client.listTools().block().tools().size() >= 20, "few tools");
            Cells.expect(client.listResources().block().resources().size() >= 3, "few resources");
            Cells.expect(client.listResourceTemplates().block().resourceTemplates().size() >= 2, "few templates");
            Cells.expect(client.listPrompts().block().prompts().size() >= 3, "few prompts");
        });
        Cells.cell("call", SHORT, () -> greets(client));
        Cells.cell("structured", SHORT, () -> {
            var result = call(client, "lookup_status", Map.of("code", 404)).block();
            Cells.expect(String.valueOf(result.structuredContent()).contains("Not Found"), result);
        });
        Cells.cell("image", SHORT, () -> {
            var result = call(client, "draw_chart", Map.of("values", new int[] {1, 3, 2})).block();
            var image = (ImageContent) result.content().get(1);
            // The first bytes of a PNG in base64.
            Cells.expect(image.data().startsWith("iVBORw0KGgo"), "no PNG");
        });
        Cells.cell("progress", SHORT, () -> {
            var before = progressed.get();
            call(client, "wait", Map.of("seconds", 2.2)).block();
            Cells.expect(progressed.get() > before, "no progress");
        });
        Cells.cell("read", SHORT, () -> {
            var result = client.readResource(new ReadResourceRequest("http-status://503")).block();
            Cells.expect(result.toString().contains("503"), result);
        });
        Cells.cell("prompt", SHORT, () -> {
            var result = client.getPrompt(new GetPromptRequest("explain_status", Map.of("code", "418"))).block();
            Cells.expect(result.toString().contains("418"), result);
        });
        Cells.cell("complete", SHORT, () -> {
            var argument = new CompleteRequest.CompleteArgument("code", "50");
            var request = new CompleteRequest(new PromptReference("explain_status"), argument);
            var result = client.completeCompletion(request).block();
            Cells.expect(result.completion().values().contains("503"), result);
        });
        Cells.cell("answer", SHORT, () -> answered(client, "approved", Matrix::accept));
        Cells.cell("refuse", SHORT, () ->
            answered(client, "rejected", () -> new ElicitResult(ElicitResult.Action.DECLINE, null)));
        Cells.cell("wrong", SHORT, () -> {
            user = () -> new ElicitResult(ElicitResult.Action.ACCEPT, Map.of("approve", "perhaps"));
            var failed = call(client, "request_approval", Map.of("what", "Paint the bridge"))
                .map(CallToolResult::isError)
                .onErrorReturn(true)
                .block();
            Cells.expect(failed, "it was taken");
            greets(client);
        });
        Cells.cell("task", SHORT, () -> { throw new Cells.NotOffered(); });
        Cells.cell("cancel", SHORT, () -> {
            var ended = call(client, "wait", Map.of("seconds", 20))
                .map(result -> "answered")
                .timeout(Duration.ofSeconds(1), Mono.just("cancelled"))
                .block();
            Cells.expect("cancelled".equals(ended), ended);
            greets(client);
        });
    }

    /** Keeps the session, over streams that break, and for as long as is wanted. */
    private static void hold(McpAsyncClient client) {
        Cells.cell("changes", SHORT.plus(PATIENCE), () -> hearsChange(client));
        Cells.cell("stay", STAY.plus(PATIENCE).plusSeconds(90), () -> {
            Thread.sleep(STAY.toMillis());
            greets(client);
            hearsChange(client);
        });
        Cells.cell("late", SHORT, () -> answered(client, "approved", () -> {
            Cells.tell("drop", "calls");
            Thread.sleep(5000);
            return accept();
        }));
        Cells.cell("drops", PATIENCE.plusSeconds(60), () -> {
            var waiting = call(client, "wait", Map.of("seconds", 3)).toFuture();
            // The stream begins with the first progress, after a second.
            Thread.sleep(1500);
            Cells.tell("drop", "");
            waiting.get();
            greets(client);
            Thread.sleep(2000);
            hearsChange(client);
        });
        Cells.cell("gone", SHORT, () -> {
            Cells.tell("end", "");
            // It begins another session by itself, or says that this one is missing.
            try {
                greets(client);
            } catch (RuntimeException error) {
                Cells.expect(error.toString().toLowerCase().contains("session"), error);
            }
        });
    }

    private static void signIn() {
        var url = Cells.setting("SIGNED_URL");
        Cells.cell("key", SHORT, () -> {
            var refused = false;
            try {
                connect(url, null);
            } catch (RuntimeException error) {
                refused = true;
            }
            Cells.expect(refused, "it connects without a key");
            greets(connect(url, Cells.setting("KEY")));
        });
        Cells.cell("oauth", SHORT, () -> { throw new Cells.NotOffered(); });
        var team = Cells.setting("TEAM_URL");
        Cells.cell("team", SHORT, () -> greets(connect(team, SignIn.token(team))));
    }
}
