// The client library franz-go for the tests: one operation on standard input, its result on standard output, as JSON.
// tests/support/clients_of_other_languages.py says what is in them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type order struct {
	Operation, Bootstrap, Username, Password, Mechanism string
	Topic, Group, TransactionalID                       string
	IsIdempotent                                        bool
	Records                                             []record
	Count, TimeoutMs                                    int
}

type record struct {
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Value     string `json:"value"`
}

func main() {
	var order order
	check(json.NewDecoder(os.Stdin).Decode(&order))
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(order.TimeoutMs)*time.Millisecond)
	defer cancel()
	found := []record{}
	if order.Operation == "produce" {
		produce(ctx, order)
	} else {
		found = consume(ctx, order)
	}
	check(json.NewEncoder(os.Stdout).Encode(found))
}

// Send all records, and wait until each is acknowledged.
func produce(ctx context.Context, order order) {
	options := append(common(order), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(order.Topic))
	if order.TransactionalID != "" {
		options = append(options, kgo.TransactionalID(order.TransactionalID))
	} else if !order.IsIdempotent {
		// One request at a time: without idempotence one that is sent again would come behind later ones.
		options = append(options, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	client := connect(ctx, options)
	defer client.Close()
	if order.TransactionalID != "" {
		check(client.BeginTransaction())
	}
	for _, one := range order.Records {
		client.Produce(ctx, &kgo.Record{Partition: one.Partition, Value: []byte(one.Value)}, func(_ *kgo.Record, err error) {
			check(err)
		})
	}
	check(client.Flush(ctx))
	if order.TransactionalID != "" {
		check(client.EndTransaction(ctx, kgo.TryCommit))
	}
}

// Read so many records as a member of a group, and commit.
func consume(ctx context.Context, order order) []record {
	client := connect(ctx, append(common(order),
		kgo.ConsumeTopics(order.Topic),
		kgo.ConsumerGroup(order.Group),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
	))
	defer client.Close()
	found := []record{}
	for len(found) < order.Count {
		fetches := client.PollFetches(ctx)
		for _, one := range fetches.Errors() {
			check(one.Err)
		}
		fetches.EachRecord(func(one *kgo.Record) {
			found = append(found, record{one.Partition, one.Offset, string(one.Value)})
		})
	}
	check(client.CommitUncommittedOffsets(ctx))
	return found
}

// Connect at once: producing and polling would go on trying with a wrong password until their time is over.
func connect(ctx context.Context, options []kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(options...)
	check(err)
	check(client.Ping(ctx))
	return client
}

func common(order order) []kgo.Opt {
	mechanism := plain.Auth{User: order.Username, Pass: order.Password}.AsMechanism()
	switch order.Mechanism {
	case "SCRAM-SHA-256":
		mechanism = scram.Auth{User: order.Username, Pass: order.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		mechanism = scram.Auth{User: order.Username, Pass: order.Password}.AsSha512Mechanism()
	}
	return []kgo.Opt{kgo.SeedBrokers(order.Bootstrap), kgo.SASL(mechanism)}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
