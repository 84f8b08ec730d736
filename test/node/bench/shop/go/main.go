// The shop with the official Go SDK, without sessions.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/redis/go-redis/v9"
)

type search struct {
	Category string  `json:"category"`
	MinPrice float64 `json:"min_price"`
	MaxPrice float64 `json:"max_price"`
	Limit    int     `json:"limit"`
}

type cart struct {
	UserID string `json:"user_id"`
}

type item struct {
	ProductID int `json:"product_id"`
	Quantity  int `json:"quantity"`
}

type order struct {
	UserID string `json:"user_id"`
	Items  []item `json:"items"`
}

type product struct {
	ID             int     `json:"id"`
	SKU            string  `json:"sku"`
	Name           string  `json:"name"`
	Price          float64 `json:"price"`
	Rating         float64 `json:"rating"`
	PopularityRank int     `json:"popularity_rank"`
}

type object = map[string]any

var (
	api    = os.Getenv("API")
	client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	store  = connect(os.Getenv("REDIS"))
)

// commands sends commands to Redis and returns their replies.
type commands func(context.Context, ...[]any) ([]any, error)

// connect speaks Redis's own protocol, or HTTP where the address is one of HTTP.
func connect(address string) commands {
	if strings.HasPrefix(address, "http") {
		return func(ctx context.Context, all ...[]any) (replies []any, err error) {
			err = fetch(ctx, http.MethodPost, address, all, &replies)
			return
		}
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		panic(err)
	}
	options.Protocol = 2
	server := redis.NewClient(options)
	return func(ctx context.Context, all ...[]any) ([]any, error) {
		pipeline := server.Pipeline()
		for _, one := range all {
			pipeline.Do(ctx, one...)
		}
		done, err := pipeline.Exec(ctx)
		replies := make([]any, len(done))
		for at, one := range done {
			replies[at] = one.(*redis.Cmd).Val()
		}
		return replies, err
	}
}

func fetch(ctx context.Context, method, address string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// A connection is used again only if its answer was read to the end.
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// together runs two things at the same time.
func together(one, other func() error) error {
	failed := make(chan error)
	go func() { failed <- one() }()
	err := other()
	return errors.Join(err, <-failed)
}

func strs(reply any) []string {
	all, _ := reply.([]any)
	texts := make([]string, len(all))
	for at, one := range all {
		texts[at], _ = one.(string)
	}
	return texts
}

func said(result object) (*mcp.CallToolResult, any, error) {
	text, err := json.Marshal(result)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, err
}

func searchProducts(ctx context.Context, _ *mcp.CallToolRequest, given search) (*mcp.CallToolResult, any, error) {
	var found struct {
		TotalFound int       `json:"total_found"`
		Products   []product `json:"products"`
	}
	var popular []any
	err := together(func() (err error) {
		popular, err = store(ctx, []any{"ZREVRANGE", "bench:popular", 0, 9})
		return
	}, func() error {
		query := url.Values{
			"category":  {given.Category},
			"min_price": {strconv.FormatFloat(given.MinPrice, 'f', -1, 64)},
			"max_price": {strconv.FormatFloat(given.MaxPrice, 'f', -1, 64)},
			"limit":     {strconv.Itoa(given.Limit)},
		}
		return fetch(ctx, http.MethodGet, api+"/products/search?"+query.Encode(), nil, &found)
	})
	if err != nil {
		return nil, nil, err
	}
	top := []int{}
	ranks := map[int]int{}
	for at, one := range strs(popular[0]) {
		id, _ := strconv.Atoi(strings.TrimPrefix(one, "product:"))
		top = append(top, id)
		ranks[id] = at + 1
	}
	for at := range found.Products {
		found.Products[at].PopularityRank = ranks[found.Products[at].ID]
	}
	return said(object{
		"category": given.Category, "total_found": found.TotalFound,
		"products": found.Products, "top10_popular_ids": top,
	})
}

func getUserCart(ctx context.Context, _ *mcp.CallToolRequest, given cart) (*mcp.CallToolResult, any, error) {
	replies, err := store(ctx, []any{"HGETALL", "bench:cart:" + given.UserID})
	if err != nil {
		return nil, nil, err
	}
	fields := map[string]string{}
	for pair := strs(replies[0]); len(pair) > 1; pair = pair[2:] {
		fields[pair[0]] = pair[1]
	}
	var items []struct {
		ProductID int `json:"product_id"`
		Quantity  int `json:"qty"`
	}
	if err := json.Unmarshal([]byte(fields["items"]), &items); err != nil || len(items) == 0 {
		return nil, nil, errors.New("no cart")
	}
	var lines []any
	err = together(func() (err error) {
		lines, err = store(ctx, []any{"LRANGE", "bench:history:" + given.UserID, 0, 4})
		return
	}, func() error {
		var first product
		return fetch(ctx, http.MethodGet, fmt.Sprintf("%s/products/%d", api, items[0].ProductID), nil, &first)
	})
	if err != nil {
		return nil, nil, err
	}
	history := []any{}
	for _, line := range strs(lines[0]) {
		var entry any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			return nil, nil, err
		}
		history = append(history, entry)
	}
	total, err := strconv.ParseFloat(fields["total"], 64)
	if err != nil {
		return nil, nil, err
	}
	return said(object{
		"user_id":        given.UserID,
		"cart":           object{"items": items, "item_count": len(items), "estimated_total": total},
		"recent_history": history,
	})
}

func checkout(ctx context.Context, _ *mcp.CallToolRequest, given order) (*mcp.CallToolResult, any, error) {
	if len(given.Items) == 0 {
		return nil, nil, errors.New("no items")
	}
	_, digits, _ := strings.Cut(given.UserID, "-")
	number, _ := strconv.Atoi(digits)
	now := time.Now()
	entry, err := json.Marshal(object{
		"order_id": fmt.Sprintf("ORD-%s-%d", given.UserID, now.UnixMilli()),
		"items":    given.Items, "ts": now.Unix(),
	})
	if err != nil {
		return nil, nil, err
	}
	var counted []any
	var bill struct {
		OrderID string  `json:"order_id"`
		Total   float64 `json:"total"`
	}
	err = together(func() (err error) {
		counted, err = store(ctx,
			[]any{"INCR", fmt.Sprintf("bench:ratelimit:user-%05d", number%100)},
			[]any{"RPUSH", "bench:history:" + given.UserID, string(entry)},
			[]any{"ZINCRBY", "bench:popular", 1, fmt.Sprintf("product:%d", given.Items[0].ProductID)},
		)
		return
	}, func() error { return fetch(ctx, http.MethodPost, api+"/cart/calculate", given, &bill) })
	if err != nil {
		return nil, nil, err
	}
	return said(object{
		"order_id": bill.OrderID, "user_id": given.UserID, "total": bill.Total,
		"items_count": len(given.Items), "rate_limit_count": counted[0], "status": "confirmed",
	})
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "search_products", Description: "Searches products by category and price, with their popularity."}, searchProducts)
	mcp.AddTool(server, &mcp.Tool{Name: "get_user_cart", Description: "Gets a user's cart and latest orders."}, getUserCart)
	mcp.AddTool(server, &mcp.Tool{Name: "checkout", Description: "Orders items: totals them, and records the order."}, checkout)
	options := &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}
	http.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options))
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
