/** The official Kotlin SDK against the server: https://github.com/modelcontextprotocol/kotlin-sdk */

import io.ktor.client.HttpClient
import io.ktor.client.engine.cio.CIO
import io.ktor.client.plugins.HttpTimeout
import io.ktor.client.plugins.HttpTimeoutConfig
import io.ktor.client.plugins.sse.SSE
import io.ktor.client.request.header
import io.modelcontextprotocol.kotlin.sdk.client.Client
import io.modelcontextprotocol.kotlin.sdk.client.ClientOptions
import io.modelcontextprotocol.kotlin.sdk.client.StreamableHttpClientTransport
import io.modelcontextprotocol.kotlin.sdk.shared.RequestOptions
import io.modelcontextprotocol.kotlin.sdk.types.CallToolResult
import io.modelcontextprotocol.kotlin.sdk.types.ClientCapabilities
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequest
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.ElicitResult
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequest
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.ImageContent
import io.modelcontextprotocol.kotlin.sdk.types.Implementation
import io.modelcontextprotocol.kotlin.sdk.types.ListResourceTemplatesRequest
import io.modelcontextprotocol.kotlin.sdk.types.Method
import io.modelcontextprotocol.kotlin.sdk.types.PromptReference
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceRequest
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.TextContent
import io.modelcontextprotocol.kotlin.sdk.types.ToolListChangedNotification
import java.time.Duration
import java.util.concurrent.atomic.AtomicInteger
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.async
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

private val SHORT: Duration = Duration.ofSeconds(30)
private val PATIENCE: Duration = Cells.seconds("PATIENCE_SECONDS")
private val STAY: Duration = Cells.seconds("STAY_SECONDS")

private val progressed = AtomicInteger()
private val changed = AtomicInteger()

/** The user's answer when the server asks. */
@Volatile private var user: () -> ElicitResult = ::accept

private fun accept() =
    ElicitResult(ElicitResult.Action.Accept, JsonObject(mapOf("approve" to JsonPrimitive(true))))

private fun step(name: String, limit: Duration, run: suspend () -> Unit) =
    Cells.cell(name, limit) { runBlocking { run() } }

private suspend fun connect(url: String, key: String? = null): Client {
    val http = HttpClient(CIO) {
        install(SSE)
        install(HttpTimeout) { requestTimeoutMillis = HttpTimeoutConfig.INFINITE_TIMEOUT_MS }
    }
    val transport = StreamableHttpClientTransport(http, url) {
        if (key != null) header("authorization", "Bearer $key")
    }
    val capabilities = ClientCapabilities(elicitation = ClientCapabilities.Elicitation())
    val client = Client(Implementation("matrix-kotlin", "1.0.0"), ClientOptions(capabilities))
    client.setElicitationHandler { user() }
    client.setNotificationHandler<ToolListChangedNotification>(Method.Defined.NotificationsToolsListChanged) {
        changed.incrementAndGet()
        CompletableDeferred(Unit)
    }
    client.connect(transport)
    return client
}

private suspend fun call(client: Client, name: String, vararg arguments: Pair<String, Any>): CallToolResult =
    client.callTool(
        name,
        mapOf(*arguments),
        options = RequestOptions(onProgress = { progressed.incrementAndGet() }, timeout = 60.seconds),
    )

private suspend fun greets(client: Client) {
    val said = call(client, "greet", "name" to "Ada").content.first() as TextContent
    Cells.expect(said.text == "Hello, Ada!", said)
}

private suspend fun answered(client: Client, expected: String, answer: () -> ElicitResult) {
    user = answer
    val result = call(client, "request_approval", "what" to "Paint the bridge")
    Cells.expect(result.structuredContent?.get("outcome") == JsonPrimitive(expected), result)
}

private suspend fun hearsChange(client: Client) {
    val before = changed.get()
    call(client, "test_trigger_tool_change")
    Cells.expect(Cells.within(PATIENCE) { changed.get() > before }, "no tools/list_changed")
}

fun main() {
    var connected: Client? = null
    step("connect", SHORT) { connected = connect(Cells.setting("URL")) }
    connected?.let {
        use(it)
        hold(it)
        signIn()
    }
    Cells.report()
    exitProcess(0)
}

private fun use(client: Client) {
    step("lists", SHORT) {
        Cells.expect(client.listTools().tools.size >= 20, "few tools")
        Cells.expect(client.listResources().resources.size >= 3, "few resources")
        Cells.expect(client.listResourceTemplates(ListResourceTemplatesRequest()).resourceTemplates.size >= 2, "few templates")
        Cells.expect(client.listPrompts().prompts.size >= 3, "few prompts")
    }
    step("call", SHORT) { greets(client) }
    step("structured", SHORT) {
        val result = call(client, "lookup_status", "code" to 404)
        Cells.expect(result.structuredContent?.get("name") == JsonPrimitive("Not Found"), result)
    }
    step("image", SHORT) {
        val image = call(client, "draw_chart", "values" to listOf(1, 3, 2)).content.last() as ImageContent
        // The first bytes of a PNG in base64.
        Cells.expect(image.data.startsWith("iVBORw0KGgo"), "no PNG")
    }
    step("progress", SHORT) {
        val before = progressed.get()
        call(client, "wait", "seconds" to 2.2)
        Cells.expect(progressed.get() > before, "no progress")
    }
    step("read", SHORT) {
        val result = client.readResource(ReadResourceRequest(ReadResourceRequestParams("http-status://503")))
        Cells.expect("503" in result.toString(), result)
    }
    step("prompt", SHORT) {
        val params = GetPromptRequestParams("explain_status", mapOf("code" to "418"))
        val result = client.getPrompt(GetPromptRequest(params))
        Cells.expect("418" in result.toString(), result)
    }
    step("complete", SHORT) {
        val argument = CompleteRequestParams.Argument("code", "50")
        val params = CompleteRequestParams(argument, PromptReference("explain_status"))
        val result = client.complete(CompleteRequest(params))
        Cells.expect("503" in result.completion.values, result)
    }
    step("answer", SHORT) { answered(client, "approved", ::accept) }
    step("refuse", SHORT) { answered(client, "rejected") { ElicitResult(ElicitResult.Action.Decline) } }
    step("wrong", SHORT) {
        user = {
            val content = JsonObject(mapOf("approve" to JsonPrimitive("perhaps")))
            ElicitResult(ElicitResult.Action.Accept, content)
        }
        val told = runCatching { call(client, "request_approval", "what" to "Paint the bridge") }
        Cells.expect(told.isFailure || told.getOrThrow().isError == true, told)
        greets(client)
    }
    step("task", SHORT) { throw Cells.NotOffered() }
    step("cancel", SHORT) {
        val ended = withTimeoutOrNull(1000) { call(client, "wait", "seconds" to 20) }
        Cells.expect(ended == null, ended)
        greets(client)
    }
}

/** Keeps the session, over streams that break, and for as long as is wanted. */
private fun hold(client: Client) {
    step("changes", SHORT + PATIENCE) { hearsChange(client) }
    step("stay", STAY + PATIENCE.plusSeconds(90)) {
        delay(STAY.toMillis())
        greets(client)
        hearsChange(client)
    }
    step("late", SHORT) {
        answered(client, "approved") {
            Cells.tell("drop", "calls")
            Thread.sleep(5000)
            accept()
        }
    }
    Cells.cell("drops", PATIENCE.plusSeconds(60)) {
        runBlocking {
            val waiting = async { call(client, "wait", "seconds" to 3) }
            // The stream begins with the first progress, after a second.
            delay(1500)
            Cells.tell("drop", "")
            waiting.await()
            greets(client)
            delay(2000)
            hearsChange(client)
        }
    }
    step("gone", SHORT) {
        Cells.tell("end", "")
        val told = runCatching { greets(client) }.exceptionOrNull()
        Cells.expect("session" in told.toString().lowercase() || "404" in told.toString(), told)
    }
}

private fun signIn() {
    val url = Cells.setting("SIGNED_URL")
    step("key", SHORT) {
        Cells.expect(runCatching { connect(url) }.isFailure, "it connects without a key")
        greets(connect(url, Cells.setting("KEY")))
    }
    step("oauth", SHORT) { throw Cells.NotOffered() }
    val team = Cells.setting("TEAM_URL")
    step("team", SHORT) { greets(connect(team, SignIn.token(team))) }
}
