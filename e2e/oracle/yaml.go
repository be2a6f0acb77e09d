package main

import (
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/apache/yunikorn-core/pkg/common/configs"
)

type yamlQuestion struct {
	Text string `json:"text"`
	// "nodes": the first document as a tree; "config": configs.SchedulerConfig, "queue": configs.QueueConfig,
	// "typed": T, all decoded strictly and not validated.
	Into string `json:"into"`
}

type yamlAnswer struct {
	Error string `json:"error"`
	// There is no document.
	Empty bool `json:"empty"`
	Value any  `json:"value"`
}

func answerYAML(question yamlQuestion) yamlAnswer {
	decoder := yaml.NewDecoder(strings.NewReader(question.Text))
	decoder.KnownFields(true) // as yunikorn-core config.go:180
	var target any
	switch question.Into {
	case "nodes":
		target = &yaml.Node{}
	case "config":
		target = &configs.SchedulerConfig{}
	case "queue":
		target = &configs.QueueConfig{}
	case "typed":
		target = &T{}
	default:
		panic("unknown target " + question.Into)
	}
	err := decoder.Decode(target)
	result := yamlAnswer{Empty: errors.Is(err, io.EOF)}
	if err != nil && !result.Empty {
		result.Error = err.Error()
	}
	if err != nil {
		// A failed decode leaves what it got so far; YuniKorn throws that away.
		return result
	}
	if tree, isTree := target.(*yaml.Node); isTree {
		result.Value = describe(tree)
	} else {
		result.Value = speakable(target)
	}
	return result
}

// T has a field of each kind of type there is in YuniKorn's configuration. Its name is a part of error
// messages.
type T struct {
	Name    string             `yaml:",omitempty" json:"name,omitempty"`
	Acl     string             `yaml:",omitempty" json:"acl,omitempty"`
	Parent  bool               `yaml:",omitempty" json:"parent,omitempty"`
	Maxapps uint64             `yaml:",omitempty" json:"maxapps,omitempty"`
	Props   map[string]string  `yaml:",omitempty" json:"props,omitempty"`
	W       map[string]float64 `yaml:",omitempty" json:"w,omitempty"`
	L       []string           `yaml:",omitempty" json:"l,omitempty"`
	P       *bool              `yaml:",omitempty" json:"p,omitempty"`
	Q       []T                `yaml:",omitempty" json:"q,omitempty"`
	S       *T                 `yaml:",omitempty" json:"s,omitempty"`
}

type node struct {
	// document, mapping, sequence, scalar, alias
	Kind   string `json:"kind"`
	Value  string `json:"value,omitempty"`
	Anchor string `json:"anchor,omitempty"`
	// plain, single, double, literal, folded; flow for collections
	Style    string `json:"style,omitempty"`
	Children []node `json:"children,omitempty"`
}

var kinds = map[yaml.Kind]string{
	yaml.DocumentNode: "document", yaml.MappingNode: "mapping", yaml.SequenceNode: "sequence",
	yaml.ScalarNode: "scalar", yaml.AliasNode: "alias",
}

func describe(tree *yaml.Node) node {
	result := node{
		Kind: kinds[tree.Kind], Value: tree.Value, Anchor: tree.Anchor, Style: style(tree),
	}
	for _, child := range tree.Content {
		result.Children = append(result.Children, describe(child))
	}
	return result
}

func style(tree *yaml.Node) string {
	switch {
	case tree.Style&yaml.DoubleQuotedStyle != 0:
		return "double"
	case tree.Style&yaml.SingleQuotedStyle != 0:
		return "single"
	case tree.Style&yaml.LiteralStyle != 0:
		return "literal"
	case tree.Style&yaml.FoldedStyle != 0:
		return "folded"
	case tree.Style&yaml.FlowStyle != 0:
		return "flow"
	case tree.Kind == yaml.ScalarNode:
		return "plain"
	default:
		return ""
	}
}
