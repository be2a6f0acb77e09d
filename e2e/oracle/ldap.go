package main

import (
	"github.com/apache/yunikorn-core/pkg/common"
	"github.com/apache/yunikorn-core/pkg/common/security"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

type ldapQuestion struct {
	// A directory with the resolver's settings.
	Settings string `json:"settings"`
	// Each is resolved as in a request without groups.
	Users []string `json:"users"`
}

// answerLDAP answers once for each user. A scheduler that ends because of its settings is a panic here.
func answerLDAP(question ldapQuestion) []any {
	common.LdapMountPath = question.Settings
	cache := security.GetUserGroupCacheLdap(security.GetConfigReader(), security.GetLdapAccess())
	answers := make([]any, len(question.Users))
	for i, name := range question.Users {
		answers[i] = guarded(func() any {
			user, err := cache.ConvertUGI(&si.UserGroupInformation{User: name}, false)
			return identityAnswer{User: user.User, Groups: append([]string{}, user.Groups...), Error: text(err)}
		})
	}
	return answers
}
