// The official Go SDK against the server: https://github.com/modelcontextprotocol/go-sdk
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	neturl "net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

var ctx = context.Background()

// user answers the server's questions.
var user func() (*mcp.ElicitResult, error)

// isNewer is true in the revisions that have elicitation and structured content.
var isNewer = revision >= "2025-06-18"

var progressed, changed atomic.Int32

func connect(url string, revision string, http *http.Client, oauth auth.OAuthHandler) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "matrix-go", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return user()
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			progressed.Add(1)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed.Add(1) },
	})
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: http, OAuthHandler: oauth}
	return client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
}

func call(session *mcp.ClientSession, name string, args map[string]any) (*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Name: name, Arguments: args}
	params.SetProgressToken("progress")
	return session.CallTool(ctx, params)
}

func greets(session *mcp.ClientSession) error {
	result, err := call(session, "greet", map[string]any{"name": "Ada"})
	if err != nil {
		return err
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	return expect(text != nil && text.Text == "Hello, Ada!", "greet says %v", result.Content)
}

func outcome(session *mcp.ClientSession) (string, error) {
	result, err := call(session, "request_approval", map[string]any{"what": "Paint the bridge"})
	if err != nil {
		return "", err
	}
	if result.IsError {
		return "error", nil
	}
	structured, _ := result.StructuredContent.(map[string]any)
	return fmt.Sprint(structured["outcome"]), nil
}

func answered(session *mcp.ClientSession, expected string, answer func() (*mcp.ElicitResult, error)) error {
	user = answer
	got, err := outcome(session)
	if err != nil {
		return err
	}
	return expect(got == expected, "the outcome is %s, expected %s", got, expected)
}

func accept() (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
}

func within(limit time.Duration, holds func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return holds()
}

func hearsChange(session *mcp.ClientSession) error {
	before := changed.Load()
	if _, err := call(session, "test_trigger_tool_change", nil); err != nil {
		return err
	}
	heard := within(patience(), func() bool { return changed.Load() > before })
	return expect(heard, "tools/list_changed did not come")
}

func main() {
	defer report()
	var session *mcp.ClientSession
	cell("connect", 30*time.Second, func() (err error) {
		session, err = connect(url, revision, nil, nil)
		if err != nil {
			return err
		}
		got := session.InitializeResult().ProtocolVersion
		return expect(got == revision, "the revision is %s", got)
	})
	if session == nil {
		return
	}
	use(session)
	hold(session)
	leave(session)
	signIn()
}

// use is what every client does.
func use(session *mcp.ClientSession) {
	short := 30 * time.Second
	cell("lists", short, func() error {
		tools, err := session.ListTools(ctx, nil)
		if err != nil {
			return err
		}
		resources, err := session.ListResources(ctx, nil)
		if err != nil {
			return err
		}
		templates, err := session.ListResourceTemplates(ctx, nil)
		if err != nil {
			return err
		}
		prompts, err := session.ListPrompts(ctx, nil)
		if err != nil {
			return err
		}
		all := len(tools.Tools) > 20 && len(resources.Resources) > 2 && len(templates.ResourceTemplates) > 1 && len(prompts.Prompts) > 2
		return expect(all, "%d tools, %d resources, %d prompts", len(tools.Tools), len(resources.Resources), len(prompts.Prompts))
	})
	cell("call", short, func() error { return greets(session) })
	cell("structured", short, func() error {
		if !isNewer {
			return notOffered{}
		}
		result, err := call(session, "lookup_status", map[string]any{"code": 404})
		if err != nil {
			return err
		}
		structured, _ := result.StructuredContent.(map[string]any)
		return expect(structured["name"] == "Not Found", "it is %v", structured)
	})
	cell("image", short, func() error {
		result, err := call(session, "draw_chart", map[string]any{"values": []int{1, 3, 2}})
		if err != nil {
			return err
		}
		image, _ := result.Content[len(result.Content)-1].(*mcp.ImageContent)
		return expect(image != nil && strings.HasPrefix(string(image.Data), "\x89PNG"), "no PNG")
	})
	cell("progress", short, func() error {
		before := progressed.Load()
		if _, err := call(session, "wait", map[string]any{"seconds": 2.2}); err != nil {
			return err
		}
		return expect(progressed.Load() > before, "no progress came")
	})
	cell("read", short, func() error {
		result, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "http-status://503"})
		if err != nil {
			return err
		}
		return expect(strings.Contains(result.Contents[0].Text, "503"), "it is %s", result.Contents[0].Text)
	})
	cell("prompt", short, func() error {
		result, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "explain_status", Arguments: map[string]string{"code": "418"}})
		if err != nil {
			return err
		}
		text, _ := result.Messages[0].Content.(*mcp.TextContent)
		return expect(text != nil && strings.Contains(text.Text, "418"), "it is %v", result.Messages)
	})
	cell("complete", short, func() error {
		result, err := session.Complete(ctx, &mcp.CompleteParams{
			Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "explain_status"},
			Argument: mcp.CompleteParamsArgument{Name: "code", Value: "50"},
		})
		if err != nil {
			return err
		}
		return expect(strings.Contains(fmt.Sprint(result.Completion.Values), "503"), "it is %v", result.Completion.Values)
	})
	ask(session, short)
	cell("task", short, func() error { return notOffered{} })
	cell("cancel", short, func() error {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := session.CallTool(limited, &mcp.CallToolParams{Name: "wait", Arguments: map[string]any{"seconds": 20}})
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("a cancelled call gives %v", err)
		}
		return greets(session)
	})
}

func ask(session *mcp.ClientSession, short time.Duration) {
	if !isNewer {
		for _, name := range []string{"answer", "refuse", "wrong"} {
			cell(name, short, func() error { return notOffered{} })
		}
		return
	}
	cell("answer", short, func() error { return answered(session, "approved", accept) })
	cell("refuse", short, func() error {
		return answered(session, "rejected", func() (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: "decline"}, nil })
	})
	cell("wrong", short, func() error {
		user = func() (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": "perhaps"}}, nil
		}
		got, err := outcome(session)
		if err == nil && got != "error" {
			return fmt.Errorf("the outcome is %s", got)
		}
		return greets(session)
	})
}

// hold keeps the session, over streams that break, and for as long as is wanted.
func hold(session *mcp.ClientSession) {
	cell("changes", 30*time.Second+patience(), func() error { return hearsChange(session) })
	cell("stay", stay()+90*time.Second+patience(), func() error {
		time.Sleep(stay())
		if err := greets(session); err != nil {
			return err
		}
		return hearsChange(session)
	})
	cell("late", 30*time.Second, func() error {
		if !isNewer {
			return notOffered{}
		}
		return answered(session, "approved", func() (*mcp.ElicitResult, error) {
			if _, err := tell("drop", "calls"); err != nil {
				return nil, err
			}
			time.Sleep(5 * time.Second)
			return accept()
		})
	})
	cell("drops", 60*time.Second+patience(), func() error {
		ended := make(chan error, 1)
		go func() {
			_, err := call(session, "wait", map[string]any{"seconds": 3})
			ended <- err
		}()
		// The stream begins with the first progress, after a second.
		time.Sleep(1500 * time.Millisecond)
		if _, err := tell("drop", ""); err != nil {
			return err
		}
		// Without a session a call ends with its stream.
		if err := <-ended; err != nil && session.ID() != "" {
			return fmt.Errorf("the call that lost its stream: %w", err)
		}
		if err := greets(session); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		return hearsChange(session)
	})
}

// leave looks at a session that the server has ended.
func leave(session *mcp.ClientSession) {
	defer session.Close()
	cell("gone", 30*time.Second, func() error {
		if session.ID() == "" {
			return notOffered{}
		}
		if _, err := tell("end", ""); err != nil {
			return err
		}
		err := greets(session)
		return expect(errors.Is(err, mcp.ErrSessionMissing), "a call says %v", err)
	})
}

type bearer string

func (key bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(request)
}

func signIn() {
	cell("key", 30*time.Second, func() error {
		if session, err := connect(signedURL, revision, nil, nil); err == nil {
			session.Close()
			return errors.New("it connects without a key")
		}
		session, err := connect(signedURL, revision, &http.Client{Transport: bearer(key)}, nil)
		if err != nil {
			return err
		}
		defer session.Close()
		return greets(session)
	})
	cell("oauth", 60*time.Second, func() error { return withOAuth(signedURL) })
	cell("team", 60*time.Second, func() error { return withOAuth(teamURL) })
}

// withOAuth signs in with the client's own OAuth code, and calls.
func withOAuth(url string) error {
	callback := "http://127.0.0.1:8899/callback"
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL: callback,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "matrix-go", RedirectURIs: []string{callback}},
		},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			text, err := tell("browse", args.URL)
			if err != nil {
				return nil, err
			}
			back, err := neturl.Parse(text)
			if err != nil {
				return nil, err
			}
			query := back.Query()
			return &auth.AuthorizationResult{Code: query.Get("code"), State: query.Get("state"), Iss: query.Get("iss")}, nil
		},
	})
	if err != nil {
		return err
	}
	session, err := connect(url, revision, nil, handler)
	if err != nil {
		return err
	}
	defer session.Close()
	return greets(session)
}
