package main

import (
	"fmt"
	"strings"

	"github.com/apache/yunikorn-core/pkg/common"
	"github.com/apache/yunikorn-core/pkg/scheduler/objects"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
)

type accessQuestion struct {
	Text    string        `json:"text"`
	Queries []accessQuery `json:"queries"`
}

type accessQuery struct {
	subject
	Queue string `json:"queue"`
	// "namespace" and others, as the shim sets them.
	Tags map[string]string `json:"tags"`
}

type accessAnswer struct {
	StartError string         `json:"start_error"`
	Decisions  []accessResult `json:"decisions"`
}

type accessResult struct {
	// The reason why the user cannot submit anywhere; then nothing else is reported.
	UserError string `json:"user_error"`
	// After resolution by a scheduler that has not seen the user before.
	Groups []string `json:"groups"`
	// The queue itself, or the nearest one above it that exists; empty if the path does not begin at root.
	Nearest string `json:"nearest"`
	Exists  bool   `json:"exists"`
	Leaf    bool   `json:"leaf"`
	// At the nearest queue.
	Submit bool `json:"submit"`
	Admin  bool `json:"admin"`
	// The outcome for an application that requests the queue: the queue in which it is placed, or the reason
	// why it is refused.
	Placed      string `json:"placed"`
	PlacedError string `json:"placed_error"`
}

func answerAccess(question accessQuestion) accessAnswer {
	context := fresh()
	defer dispose(context)
	result := accessAnswer{StartError: start(context, question.Text), Decisions: make([]accessResult, 0)}
	if result.StartError != "" {
		return result
	}
	partition := context.GetPartitionMapClone()[common.GetNormalizedPartitionName("default", rmID)]
	if partition == nil {
		result.StartError = "there is no partition default"
		return result
	}
	for i, query := range question.Queries {
		resetUserCache(userCache())
		result.Decisions = append(result.Decisions, decide(partition, i, query))
	}
	return result
}

type queues interface {
	GetQueue(name string) *objects.Queue
	AddApplication(app *objects.Application) error
}

func decide(partition queues, number int, query accessQuery) accessResult {
	user, err := userCache().ConvertUGI(&si.UserGroupInformation{User: query.User, Groups: query.Groups}, false)
	if err != nil {
		return accessResult{UserError: err.Error()}
	}
	result := accessResult{Groups: user.Groups}
	if queue, exact := nearest(partition, query.Queue); queue != nil {
		result.Nearest = queue.QueuePath
		result.Exists = exact
		result.Leaf = queue.IsLeafQueue()
		result.Submit = queue.CheckSubmitAccess(user)
		result.Admin = queue.CheckAdminAccess(user)
	}
	application := objects.NewApplication(&si.AddApplicationRequest{
		ApplicationID: fmt.Sprintf("application-%d", number),
		QueueName:     query.Queue,
		PartitionName: "default",
		Tags:          query.Tags,
	}, user, nil, rmID)
	result.PlacedError = text(partition.AddApplication(application))
	if result.PlacedError == "" {
		result.Placed = application.GetQueuePath()
	}
	return result
}

func nearest(partition queues, path string) (*objects.Queue, bool) {
	for exact := true; ; exact = false {
		if queue := partition.GetQueue(path); queue != nil {
			return queue, exact
		}
		end := strings.LastIndexByte(path, '.')
		if end < 0 {
			return nil, false
		}
		path = path[:end]
	}
}
