// The oracle gives Apache YuniKorn's answers to inputs on standard input: it is yunikorn-core and
// yunikorn-k8shim, called in the way YuniKorn calls itself. queuewarden's own model of YuniKorn is compared
// with it.
//
// One request per line, {"op": "acl", "in": [...]}; one answer per line, in order: {"out": [...]} with one
// element per element of "in", or {"error": "..."} when the request itself is wrong. The program ends with
// its input.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

type request struct {
	Op string          `json:"op"`
	In json.RawMessage `json:"in"`
}

type answer struct {
	Out   any    `json:"out,omitempty"`
	Error string `json:"error,omitempty"`
}

var operations = map[string]func(json.RawMessage) (any, error){
	"acl":       each(answerACL),
	"config":    each(answerConfig),
	"checksum":  each(answerChecksum),
	"access":    each(answerAccess),
	"regex":     each(answerRegex),
	"pattern":   each(answerPattern),
	"yaml":      each(answerYAML),
	"flatten":   each(answerFlatten),
	"admission": each(answerAdmission),
	"mutate":    each(answerMutate),
	"identity":  each(answerIdentity),
}

// each makes an operation on one input an operation on a list. A panic inside YuniKorn is an answer, too.
func each[In, Out any](one func(In) Out) func(json.RawMessage) (any, error) {
	return func(raw json.RawMessage) (any, error) {
		var inputs []In
		if err := json.Unmarshal(raw, &inputs); err != nil {
			return nil, err
		}
		outputs := make([]any, len(inputs))
		for i, input := range inputs {
			outputs[i] = guarded(func() any { return one(input) })
		}
		return outputs, nil
	}
}

func guarded(call func() any) (result any) {
	defer func() {
		if reason := recover(); reason != nil {
			result = map[string]string{"panic": fmt.Sprint(reason)}
		}
	}()
	return call()
}

func serve(in io.Reader, out io.Writer) error {
	reader := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := encoder.Encode(process(line)); err != nil {
			return err
		}
		if err := writer.Flush(); err != nil {
			return err
		}
	}
}

func process(line []byte) answer {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	operation, known := operations[asked.Op]
	if !known {
		return answer{Error: fmt.Sprintf("unknown op %q", asked.Op)}
	}
	out, err := operation(asked.In)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Out: out}
}

func main() {
	out := os.Stdout
	silence()
	if err := serve(os.Stdin, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// speakable is the value itself, unless it has no JSON: the floats .inf and .nan have none.
func speakable(value any) any {
	if _, err := json.Marshal(value); err != nil {
		return map[string]string{"unspeakable": err.Error()}
	}
	return value
}

// text is the message of an error, empty for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
