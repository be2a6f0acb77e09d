package main

import (
	"maps"
	"regexp"

	v1 "k8s.io/api/core/v1"

	"github.com/apache/yunikorn-k8shim/pkg/admission/conf"
	"github.com/apache/yunikorn-k8shim/pkg/admission/metadata"
	schedulerconf "github.com/apache/yunikorn-k8shim/pkg/conf"
)

type regexQuestion struct {
	// As in an accessControl key: a comma-separated list.
	Patterns string   `json:"patterns"`
	Subjects []string `json:"subjects"`
}

type regexAnswer struct {
	Error string `json:"error"`
	// The patterns that are in force.
	Parts []string `json:"parts"`
	// One per subject: does any pattern match?
	Match []bool `json:"match"`
	// One list per pattern, one element per subject.
	Each [][]bool `json:"each"`
}

func answerRegex(question regexQuestion) regexAnswer {
	expressions, err := parseRegexes(question.Patterns)
	result := regexAnswer{
		Error: text(err),
		Parts: sources(expressions),
		Match: make([]bool, len(question.Subjects)),
		Each:  make([][]bool, len(expressions)),
	}
	for i, expression := range expressions {
		result.Each[i] = make([]bool, len(question.Subjects))
		for j, subject := range question.Subjects {
			result.Each[i][j] = expression.MatchString(subject)
			result.Match[j] = result.Match[j] || result.Each[i][j]
		}
	}
	return result
}

type patternQuestion struct {
	Pattern  string   `json:"pattern"`
	Subjects []string `json:"subjects"`
}

type patternAnswer struct {
	Error string `json:"error"`
	Match []bool `json:"match"`
}

// answerPattern evaluates one pattern in Go, whatever commas and spaces it holds.
func answerPattern(question patternQuestion) patternAnswer {
	expression, err := regexp.Compile(question.Pattern)
	if err != nil {
		return patternAnswer{Error: err.Error()}
	}
	result := patternAnswer{Match: make([]bool, len(question.Subjects))}
	for i, subject := range question.Subjects {
		result.Match[i] = expression.MatchString(subject)
	}
	return result
}

// configMap is the part of a ConfigMap YuniKorn reads; null for one that does not exist. Binary values are
// base64.
type configMap struct {
	Data       map[string]string `json:"data"`
	BinaryData map[string][]byte `json:"binaryData"`
}

func (m *configMap) object() *v1.ConfigMap {
	if m == nil {
		return nil
	}
	return &v1.ConfigMap{Data: m.Data, BinaryData: m.BinaryData}
}

type configMaps struct {
	Defaults *configMap `json:"defaults"`
	Configs  *configMap `json:"configs"`
}

func answerFlatten(maps configMaps) map[string]string {
	return schedulerconf.FlattenConfigMaps([]*v1.ConfigMap{maps.Defaults.object(), maps.Configs.object()})
}

type admissionQuestion struct {
	configMaps
	Subjects []subject `json:"subjects"`
}

type admissionAnswer struct {
	BypassAuth       bool     `json:"bypass_auth"`
	TrustControllers bool     `json:"trust_controllers"`
	SystemUsers      []string `json:"system_users"`
	ExternalUsers    []string `json:"external_users"`
	ExternalGroups   []string `json:"external_groups"`
	// One per subject: may it set another user's name?
	Allowed []bool `json:"allowed"`
}

func answerAdmission(question admissionQuestion) admissionAnswer {
	// The configuration sets the log levels as well; a last map with nothing else keeps them low.
	quiet := &v1.ConfigMap{Data: maps.Clone(quietLogs)}
	settings := conf.NewAdmissionControllerConf([]*v1.ConfigMap{
		question.Defaults.object(), question.Configs.object(), quiet,
	})
	result := admissionAnswer{
		BypassAuth:       settings.GetBypassAuth(),
		TrustControllers: settings.GetTrustControllers(),
		SystemUsers:      sources(settings.GetSystemUsers()),
		ExternalUsers:    sources(settings.GetExternalUsers()),
		ExternalGroups:   sources(settings.GetExternalGroups()),
		Allowed:          make([]bool, len(question.Subjects)),
	}
	handler := metadata.NewUserGroupAnnotationHandler(settings)
	for i, subject := range question.Subjects {
		result.Allowed[i] = handler.IsAnnotationAllowed(subject.User, subject.Groups)
	}
	return result
}

func sources(expressions []*regexp.Regexp) []string {
	result := make([]string, len(expressions))
	for i, expression := range expressions {
		result[i] = expression.String()
	}
	return result
}
