package main

import (
	"encoding/json"
	"fmt"

	"github.com/extism/go-pdk"
)

//go:wasmexport list_tools
func listTools() int32 {
	pdk.OutputString(`{"tools": [{
		"name": "my_servlet_greet",
		"description": "Greets a person by name.",
		"inputSchema": {
			"type": "object",
			"properties": {"name": {"type": "string", "description": "Whom to greet."}},
			"required": ["name"]
		}
	}]}`)
	return 0
}

type call struct {
	Request struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"request"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// The arguments fit the tool's schema: the host has checked them.
//
//go:wasmexport call_tool
func callTool() int32 {
	var input call
	if err := pdk.InputJSON(&input); err != nil {
		return failed(err)
	}
	text, err := answer(input.Request.Name, input.Request.Arguments)
	if err != nil {
		return failed(err)
	}
	if err := pdk.OutputJSON(map[string]any{"content": []content{{"text", text}}}); err != nil {
		return failed(err)
	}
	return 0
}

func answer(tool string, arguments json.RawMessage) (string, error) {
	switch tool {
	case "my_servlet_greet":
		var greet struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(arguments, &greet); err != nil {
			return "", err
		}
		return "Hello, " + greet.Name + "!", nil
	default:
		return "", fmt.Errorf("there is no tool %s", tool)
	}
}

func failed(err error) int32 {
	pdk.SetError(err)
	return 1
}

func main() {}
