// mcp-go against the server: https://github.com/mark3labs/mcp-go
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	neturl "net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

var ctx = context.Background()

const callback = "http://127.0.0.1:8899/callback"

var isModern = revision >= "2026-07-28"

// user answers the server's questions.
type user struct {
	lock   sync.Mutex
	answer func() (*mcp.ElicitationResult, error)
}

func (user *user) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	user.lock.Lock()
	defer user.lock.Unlock()
	return user.answer()
}

var person = &user{}

var progressed, changed atomic.Int32

func connect(url string, options ...transport.StreamableHTTPCOption) (*client.Client, error) {
	if !isModern {
		options = append(options, transport.WithContinuousListening())
	}
	way, err := transport.NewStreamableHTTP(url, options...)
	if err != nil {
		return nil, err
	}
	version := client.WithProtocolVersion(revision)
	if !isModern {
		version = client.WithLegacyProtocolOnly()
	}
	made := client.NewClient(way, client.WithElicitationHandler(person), version)
	if err := made.Start(ctx); err != nil {
		return nil, err
	}
	made.OnNotification(func(notice mcp.JSONRPCNotification) {
		switch notice.Method {
		case "notifications/progress":
			progressed.Add(1)
		case "notifications/tools/list_changed":
			changed.Add(1)
		}
	})
	request := mcp.InitializeRequest{}
	request.Params.ProtocolVersion = revision
	request.Params.ClientInfo = mcp.Implementation{Name: "matrix-mcp-go", Version: "1.0.0"}
	agreed, err := made.Initialize(ctx, request)
	if err != nil {
		return nil, err
	}
	return made, expect(agreed.ProtocolVersion == revision, "the revision is %s", agreed.ProtocolVersion)
}

func call(ctx context.Context, peer *client.Client, name string, args map[string]any) (*mcp.CallToolResult, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name = name
	request.Params.Arguments = args
	request.Params.Meta = &mcp.Meta{ProgressToken: "progress"}
	return peer.CallTool(ctx, request)
}

func greets(peer *client.Client) error {
	result, err := call(ctx, peer, "greet", map[string]any{"name": "Ada"})
	if err != nil {
		return err
	}
	return expect(strings.Contains(written(result), "Hello, Ada!"), "greet says %s", written(result))
}

// written is any value as JSON.
func written(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func answered(peer *client.Client, expected string, answer func() (*mcp.ElicitationResult, error)) error {
	person.lock.Lock()
	person.answer = answer
	person.lock.Unlock()
	result, err := call(ctx, peer, "request_approval", map[string]any{"what": "Paint the bridge"})
	if err != nil {
		return err
	}
	structured, _ := result.StructuredContent.(map[string]any)
	return expect(structured["outcome"] == expected, "it is %s", written(result))
}

func answer(action mcp.ElicitationResponseAction, content any) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{
		ElicitationResponse: mcp.ElicitationResponse{Action: action, Content: content},
	}, nil
}

func accept() (*mcp.ElicitationResult, error) {
	return answer(mcp.ElicitationResponseActionAccept, map[string]any{"approve": true})
}

func within(limit time.Duration, holds func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	return holds()
}

var stop func()

// listen opens the stream of changes, which is open by itself in the revisions that have sessions.
func listen(peer *client.Client) (err error) {
	if !isModern {
		return nil
	}
	if stop != nil {
		stop()
	}
	isWanted := true
	stop, err = peer.ListenAsync(ctx, mcp.SubscriptionFilter{ToolsListChanged: isWanted}, func(error) {})
	time.Sleep(500 * time.Millisecond)
	return err
}

func hearsChange(peer *client.Client) error {
	if err := listen(peer); err != nil {
		return err
	}
	before := changed.Load()
	if _, err := call(ctx, peer, "test_trigger_tool_change", nil); err != nil {
		return err
	}
	heard := within(patience(), func() bool { return changed.Load() > before })
	return expect(heard, "tools/list_changed did not come")
}

func main() {
	defer report()
	var peer *client.Client
	cell("connect", 30*time.Second, func() (err error) {
		peer, err = connect(url)
		return err
	})
	if peer == nil {
		return
	}
	use(peer)
	hold(peer)
	signIn()
}

func use(peer *client.Client) {
	short := 30 * time.Second
	cell("lists", short, func() error {
		tools, err := peer.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return err
		}
		resources, err := peer.ListResources(ctx, mcp.ListResourcesRequest{})
		if err != nil {
			return err
		}
		templates, err := peer.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
		if err != nil {
			return err
		}
		prompts, err := peer.ListPrompts(ctx, mcp.ListPromptsRequest{})
		if err != nil {
			return err
		}
		all := len(tools.Tools) >= 20 && len(resources.Resources) >= 3 && len(templates.ResourceTemplates) >= 2 && len(prompts.Prompts) >= 3
		return expect(all, "%d tools, %d resources, %d prompts", len(tools.Tools), len(resources.Resources), len(prompts.Prompts))
	})
	cell("call", short, func() error { return greets(peer) })
	cell("structured", short, func() error {
		result, err := call(ctx, peer, "lookup_status", map[string]any{"code": 404})
		if err != nil {
			return err
		}
		structured, _ := result.StructuredContent.(map[string]any)
		return expect(structured["name"] == "Not Found", "it is %s", written(result))
	})
	cell("image", short, func() error {
		result, err := call(ctx, peer, "draw_chart", map[string]any{"values": []int{1, 3, 2}})
		if err != nil {
			return err
		}
		image, _ := result.Content[1].(mcp.ImageContent)
		data, err := base64.StdEncoding.DecodeString(image.Data)
		return errors.Join(err, expect(strings.HasPrefix(string(data), "\x89PNG"), "no PNG"))
	})
	cell("progress", short, func() error {
		before := progressed.Load()
		if _, err := call(ctx, peer, "wait", map[string]any{"seconds": 2.2}); err != nil {
			return err
		}
		return expect(progressed.Load() > before, "no progress came")
	})
	cell("read", short, func() error {
		request := mcp.ReadResourceRequest{}
		request.Params.URI = "http-status://503"
		result, err := peer.ReadResource(ctx, request)
		if err != nil {
			return err
		}
		return expect(strings.Contains(written(result), "503"), "it is %s", written(result))
	})
	cell("prompt", short, func() error {
		request := mcp.GetPromptRequest{}
		request.Params.Name = "explain_status"
		request.Params.Arguments = map[string]string{"code": "418"}
		result, err := peer.GetPrompt(ctx, request)
		if err != nil {
			return err
		}
		return expect(strings.Contains(written(result), "418"), "it is %s", written(result))
	})
	cell("complete", short, func() error {
		request := mcp.CompleteRequest{}
		request.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: "explain_status"}
		request.Params.Argument = mcp.CompleteArgument{Name: "code", Value: "50"}
		result, err := peer.Complete(ctx, request)
		if err != nil {
			return err
		}
		return expect(strings.Contains(written(result), "503"), "it is %s", written(result))
	})
	cell("answer", short, func() error { return answered(peer, "approved", accept) })
	cell("refuse", short, func() error {
		return answered(peer, "rejected", func() (*mcp.ElicitationResult, error) {
			return answer(mcp.ElicitationResponseActionDecline, nil)
		})
	})
	cell("wrong", short, func() error {
		err := answered(peer, "", func() (*mcp.ElicitationResult, error) {
			return answer(mcp.ElicitationResponseActionAccept, map[string]any{"approve": "perhaps"})
		})
		if err == nil || strings.Contains(err.Error(), `"outcome"`) {
			return fmt.Errorf("it was taken: %v", err)
		}
		return greets(peer)
	})
	cell("task", short, func() error { return notOffered{} })
	cell("cancel", short, func() error {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := call(limited, peer, "wait", map[string]any{"seconds": 20})
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("a cancelled call gives %v", err)
		}
		return greets(peer)
	})
}

// hold keeps the session, over streams that break, and for as long as is wanted.
func hold(peer *client.Client) {
	cell("changes", 30*time.Second+patience(), func() error { return hearsChange(peer) })
	cell("stay", stay()+90*time.Second+patience(), func() error {
		time.Sleep(stay())
		if err := greets(peer); err != nil {
			return err
		}
		return hearsChange(peer)
	})
	cell("late", 30*time.Second, func() error {
		return answered(peer, "approved", func() (*mcp.ElicitationResult, error) {
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
			_, err := call(ctx, peer, "wait", map[string]any{"seconds": 3})
			ended <- err
		}()
		// The stream begins with the first progress, after a second.
		time.Sleep(1500 * time.Millisecond)
		if _, err := tell("drop", ""); err != nil {
			return err
		}
		// Without a session a call ends with its stream.
		if err := <-ended; err != nil && !isModern {
			return fmt.Errorf("the call that lost its stream: %w", err)
		}
		if err := greets(peer); err != nil {
			return err
		}
		time.Sleep(2 * time.Second)
		return hearsChange(peer)
	})
	cell("gone", 30*time.Second, func() error {
		if isModern {
			return notOffered{}
		}
		if _, err := tell("end", ""); err != nil {
			return err
		}
		err := greets(peer)
		return expect(errors.Is(err, transport.ErrSessionTerminated), "a call says %v", err)
	})
}

func signIn() {
	cell("key", 30*time.Second, func() error {
		if _, err := connect(signedURL); err == nil {
			return errors.New("it connects without a key")
		}
		header := map[string]string{"Authorization": "Bearer " + key}
		peer, err := connect(signedURL, transport.WithHTTPHeaders(header))
		if err != nil {
			return err
		}
		return greets(peer)
	})
	cell("oauth", 60*time.Second, func() error { return withOAuth(signedURL) })
	cell("team", 60*time.Second, func() error { return withOAuth(teamURL) })
}

// withOAuth signs in with the client's own OAuth code, and calls.
func withOAuth(url string) error {
	config := transport.OAuthConfig{RedirectURI: callback, TokenStore: client.NewMemoryTokenStore(), PKCEEnabled: true}
	_, err := connect(url, transport.WithHTTPOAuth(config))
	handler := client.GetOAuthHandler(err)
	if handler == nil {
		return fmt.Errorf("connecting says %v", err)
	}
	verifier, err := client.GenerateCodeVerifier()
	if err != nil {
		return err
	}
	state, err := client.GenerateState()
	if err != nil {
		return err
	}
	if err := handler.RegisterClient(ctx, "matrix-mcp-go"); err != nil {
		return err
	}
	page, err := handler.GetAuthorizationURL(ctx, state, client.GenerateCodeChallenge(verifier))
	if err != nil {
		return err
	}
	text, err := tell("browse", page)
	if err != nil {
		return err
	}
	back, err := neturl.Parse(text)
	if err != nil {
		return err
	}
	query := back.Query()
	if err := handler.ProcessAuthorizationResponse(ctx, query.Get("code"), query.Get("state"), verifier); err != nil {
		return err
	}
	peer, err := connect(url, transport.WithHTTPOAuth(config))
	if err != nil {
		return err
	}
	return greets(peer)
}
