// The client library KafkaJS for the tests: one operation on standard input, its result on standard output, as JSON.
// tests/support/clients_of_other_languages.py says what is in them. An operation that goes on for ever, until the process is
// killed, is the only argument (tests/support/mortal/mortal_client.py).
"use strict";

const { readFileSync, writeSync } = require("fs");
const { Kafka, logLevel } = require("kafkajs");

const order = JSON.parse(process.argv[2] || readFileSync(0, "utf8"));
const kafka = new Kafka({
  brokers: order.bootstrap.split(","),
  sasl: { mechanism: order.mechanism.toLowerCase(), username: order.username, password: order.password },
  logLevel: logLevel.NOTHING,
});

// Send all records, a batch for each partition, and wait until all are acknowledged.
async function produce() {
  const producer = kafka.producer({
    idempotent: order.isIdempotent || order.transactionalID !== "",
    transactionalId: order.transactionalID || undefined,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const messages = order.records.map(({ partition, value }) => ({ partition, value }));
  if (order.transactionalID) {
    const transaction = await producer.transaction();
    await transaction.send({ topic: order.topic, messages });
    await transaction.commit();
  } else {
    await producer.send({ topic: order.topic, messages });
  }
  await producer.disconnect();
  return [];
}

// Read so many records as a member of a group, and commit.
async function consume() {
  const consumer = kafka.consumer({ groupId: order.group });
  const found = [];
  const next = new Map();
  await consumer.connect();
  await consumer.subscribe({ topics: [order.topic], fromBeginning: true });
  await new Promise((done, failed) => {
    setTimeout(() => failed(new Error(`${found.length} of ${order.count} records came in time`)), order.timeoutMs).unref();
    consumer.on(consumer.events.CRASH, ({ payload }) => failed(payload.error));
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        found.push({ partition, offset: Number(message.offset), value: message.value.toString() });
        next.set(partition, String(Number(message.offset) + 1));
        if (found.length >= order.count) {
          done();
        }
      },
    });
  });
  const committed = [...next].map(([partition, offset]) => ({ topic: order.topic, partition, offset }));
  await consumer.commitOffsets(committed);
  await consumer.disconnect();
  return found;
}

// As in tests/support/mortal/life.py.
const AT_ONCE = 20;
const PAUSE_MS = 20;
const SESSION_TIMEOUT_MS = 6000;

// Say that these are acknowledged, or read, at once.
function tell(values) {
  if (values.length > 0) {
    writeSync(1, `>${values.join("\n>")}\n`);
  }
}

let number = order.first;

function nextMessages() {
  return Array.from({ length: AT_ONCE }, () => {
    const value = `${order.kind} ${number}`;
    return { partition: number++ % order.partitions, value };
  });
}

// Send to one partition after the other. KafkaJS 2.2 divides what is for several by their leaders; when one of these fails
// and leaders or connections have changed, it leaves out or sends twice what was for others (sendMessages.js).
async function sendOneByOne(sender, messages) {
  for (const partition of new Set(messages.map((one) => one.partition))) {
    await sender.send({ topic: order.topic, messages: messages.filter((one) => one.partition === partition) });
  }
}

// Write, or write in transactions, until that fails: then its application makes a new producer.
async function writeFor(transactionalId) {
  const producer = kafka.producer({ idempotent: true, transactionalId, maxInFlightRequests: 1 });
  try {
    await producer.connect();
    for (;;) {
      const messages = nextMessages();
      if (transactionalId === undefined) {
        await sendOneByOne(producer, messages);
      } else {
        const transaction = await producer.transaction();
        try {
          await sendOneByOne(transaction, messages);
        } catch (error) {
          await transaction.abort();
          continue;
        }
        await transaction.commit();
      }
      tell(messages.map(({ value }) => value));
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  } catch (error) {
    process.stderr.write(`${error.stack}\n`);
    await producer.disconnect().catch(() => {});
  }
}

async function writeForEver(transactionalId) {
  for (;;) {
    await writeFor(transactionalId);
  }
}

async function readForEver() {
  const consumer = kafka.consumer({
    groupId: order.group,
    sessionTimeout: SESSION_TIMEOUT_MS,
    heartbeatInterval: SESSION_TIMEOUT_MS / 3,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [order.topic], fromBeginning: true });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) {
      process.stderr.write(`${payload.error.stack}\n`);
      process.exit(1);
    }
  });
  await consumer.run({
    autoCommitInterval: 200,
    eachMessage: async ({ message }) => tell([message.value.toString()]),
  });
  await new Promise(() => {});
}

const operations = {
  produce,
  consume,
  write: () => writeForEver(undefined),
  transact: () => writeForEver(order.transactionalID),
  read: readForEver,
};

operations[order.operation]().then(
  (found) => process.stdout.write(JSON.stringify(found), () => process.exit(0)),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
