package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// Settings that the driver passes to each client's program; see ../README.md.
var (
	url       = os.Getenv("CLIENT_URL")
	control   = os.Getenv("CLIENT_CONTROL")
	revision  = os.Getenv("CLIENT_REVISION")
	signedURL = os.Getenv("CLIENT_SIGNED_URL")
	key       = os.Getenv("CLIENT_KEY")
	teamURL   = os.Getenv("CLIENT_TEAM_URL")
)

// notOffered is the cell of what a client has no means for.
type notOffered struct{}

func (notOffered) Error() string { return "not offered" }

var cells = map[string]string{}

// cell fills one cell of the matrix; a step that takes too long has failed.
func cell(name string, limit time.Duration, step func() error) {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				done <- fmt.Errorf("panic: %v", fault)
			}
		}()
		done <- step()
	}()
	var err error
	select {
	case err = <-done:
	case <-time.After(limit):
		err = fmt.Errorf("nothing after %v", limit)
	}
	switch err.(type) {
	case nil:
		cells[name] = "ok"
	case notOffered:
		cells[name] = "not offered"
	default:
		cells[name] = "failed: " + err.Error()
	}
}

func report() {
	line, _ := json.Marshal(cells)
	fmt.Println(string(line))
}

// tell asks something of the driver: to break all streams, to end the session, to sign in.
func tell(what string, body string) (string, error) {
	response, err := http.Post(control+"/"+what, "text/plain", bytes.NewBufferString(body))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != 200 {
		err = fmt.Errorf("driver: %s", text)
	}
	return string(text), err
}

func stay() time.Duration {
	seconds, _ := strconv.ParseFloat(os.Getenv("CLIENT_STAY_SECONDS"), 64)
	return time.Duration(seconds * float64(time.Second))
}

// patience is how long a notification of the session's own may be on its way: the server has clients that
// are silent for long come back less often.
func patience() time.Duration {
	seconds, _ := strconv.ParseFloat(os.Getenv("CLIENT_PATIENCE_SECONDS"), 64)
	return time.Duration(seconds * float64(time.Second))
}

func expect(is bool, format string, args ...any) error {
	if is {
		return nil
	}
	return fmt.Errorf(format, args...)
}
