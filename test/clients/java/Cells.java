import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** Settings and reports that pass between the driver and each client's program; see ../README.md. */
final class Cells {
    interface Step {
        void run() throws Exception;
    }

    /** Thrown by a step that the client has no means for. */
    static final class NotOffered extends RuntimeException {}

    private static final List<String> FILLED = new ArrayList<>();

    private Cells() {}

    static String setting(String name) {
        return System.getenv("CLIENT_" + name);
    }

    static Duration seconds(String name) {
        return Duration.ofMillis((long) (Double.parseDouble(setting(name)) * 1000));
    }

    /** Fills one cell of the matrix; a step that takes too long has failed. */
    static void cell(String name, Duration limit, Step step) {
        var done = CompletableFuture.runAsync(() -> {
            try {
                step.run();
            } catch (RuntimeException error) {
                throw error;
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        });
        String cell;
        try {
            done.get(limit.toMillis(), TimeUnit.MILLISECONDS);
            cell = "ok";
        } catch (TimeoutException error) {
            cell = "failed: nothing after " + limit.toSeconds() + " s";
        } catch (Exception error) {
            var cause = error.getCause() == null ? error : error.getCause();
            cell = cause instanceof NotOffered ? "not offered" : "failed: " + cause;
        }
        FILLED.add(quoted(name) + ":" + quoted(cell));
    }

    static void report() {
        System.out.println("{" + String.join(",", FILLED) + "}");
    }

    private static String quoted(String text) {
        var plain = text.replaceAll("[\\x00-\\x1f]", " ").replace("\\", "\\\\").replace("\"", "\\\"");
        return "\"" + plain + "\"";
    }

    static void expect(boolean holds, Object found) {
        if (!holds) throw new IllegalStateException("found " + found);
    }

    static boolean within(Duration limit, BooleanSupplier holds) throws InterruptedException {
        for (long end = System.nanoTime() + limit.toNanos(); System.nanoTime() < end; Thread.sleep(50)) {
            if (holds.getAsBoolean()) return true;
        }
        return holds.getAsBoolean();
    }

    /** Asks something of the driver: to break streams, to end the session, to sign in. */
    static String tell(String what, String body) throws IOException, InterruptedException {
        var request = HttpRequest.newBuilder(URI.create(setting("CONTROL") + "/" + what))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        expect(response.statusCode() == 200, response.body());
        return response.body();
    }
}
