package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/common/security"
)

type subject struct {
	User   string   `json:"user"`
	Groups []string `json:"groups"`
}

type aclQuestion struct {
	ACL      string    `json:"acl"`
	Subjects []subject `json:"subjects"`
}

type aclAnswer struct {
	// The error of /ws/v1/validate-conf and the admission webhook for a configuration with this ACL.
	ValidateError string `json:"validate_error"`
	// The error of activation.
	NewACLError string   `json:"newacl_error"`
	Users       []string `json:"users"`
	Groups      []string `json:"groups"`
	AllAllowed  bool     `json:"all_allowed"`
	// One per subject, with the groups as given: no resolution.
	Access []bool `json:"access"`
}

func answerACL(question aclQuestion) aclAnswer {
	acl, err := security.NewACL(question.ACL, true)
	result := aclAnswer{
		ValidateError: validateACL(question.ACL),
		NewACLError:   text(err),
		Users:         keys(acl, "users"),
		Groups:        keys(acl, "groups"),
		AllAllowed:    reflect.ValueOf(acl).FieldByName("allAllowed").Bool(),
		Access:        make([]bool, len(question.Subjects)),
	}
	for i, subject := range question.Subjects {
		result.Access[i] = acl.CheckAccess(security.UserGroup{User: subject.User, Groups: subject.Groups})
	}
	return result
}

func validateACL(acl string) string {
	config := "partitions: [{name: default, queues: [{name: root, submitacl: " + quoted(acl) + "}]}]\n"
	parsed, err := configs.ParseAndValidateConfig([]byte(config))
	if err != nil {
		return err.Error()
	}
	if carried := parsed.Partitions[0].Queues[0].SubmitACL; carried != acl {
		panic(fmt.Sprintf("YAML did not carry the ACL: %q became %q", acl, carried))
	}
	return ""
}

// quoted is a YAML double-quoted scalar in ASCII.
func quoted(value string) string {
	var scalar strings.Builder
	scalar.WriteByte('"')
	for _, char := range value {
		switch {
		case char == '"' || char == '\\':
			scalar.WriteByte('\\')
			scalar.WriteRune(char)
		case char >= ' ' && char <= '~':
			scalar.WriteRune(char)
		default:
			fmt.Fprintf(&scalar, "\\U%08X", char)
		}
	}
	scalar.WriteByte('"')
	return scalar.String()
}

// keys reads one of the ACL's private sets, sorted.
func keys(acl security.ACL, field string) []string {
	names := make([]string, 0)
	for _, key := range reflect.ValueOf(acl).FieldByName(field).MapKeys() {
		names = append(names, key.String())
	}
	sort.Strings(names)
	return names
}
