package main

import (
	"time"

	"github.com/apache/yunikorn-core/pkg/common/security"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

type identityQuestion struct {
	// As in usergroupresolver.type: "test", "os", anything else is none.
	Resolver string `json:"resolver"`
	// Sent in order to one cache that has seen nobody before.
	Claims []claim `json:"claims"`
}

type claim struct {
	subject
	Force bool `json:"force"`
}

type identityAnswer struct {
	User   string   `json:"user"`
	Groups []string `json:"groups"`
	Error  string   `json:"error"`
}

func answerIdentity(question identityQuestion) []identityAnswer {
	// A cached failure reports its time in the local zone.
	time.Local = time.UTC
	cache := userCacheOf(question.Resolver)
	resetUserCache(cache)
	answers := make([]identityAnswer, len(question.Claims))
	for i, claim := range question.Claims {
		user, err := cache.ConvertUGI(&si.UserGroupInformation{User: claim.User, Groups: claim.Groups}, claim.Force)
		if err != nil {
			answers[i] = identityAnswer{Groups: []string{}, Error: err.Error()}
			continue
		}
		answers[i] = identityAnswer{User: user.User, Groups: append([]string{}, user.Groups...)}
	}
	return answers
}

// userCacheOf makes the cache as GetUserGroupCache does, which does so once in a process only.
func userCacheOf(resolver string) *security.UserGroupCache {
	switch resolver {
	case security.Test:
		return security.GetUserGroupCacheTest()
	case security.Os:
		return security.GetUserGroupCacheOS()
	default:
		return security.GetUserGroupNoResolve()
	}
}
