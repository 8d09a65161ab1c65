// kafkajs through every scenario that it has.

import { createRequire } from 'node:module'
import zlib from 'node:zlib'
import { lz4Compress, lz4Decompress } from '@platformatic/wasm-utils'
import kafkajs from 'kafkajs'
import { PASSWORD, Refused, run, USER, whereFrom } from './stories.mjs'

const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, Partitioners, logLevel } = kafkajs
const snappy = createRequire(import.meta.url)('kafkajs-snappy')
const CODECS = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 }

// kafkajs has gzip alone; it takes the others as functions over a buffer.
CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async encoder => lz4Compress(encoder.buffer),
  decompress: async buffer => lz4Decompress(buffer)
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => zlib.zstdCompressSync(encoder.buffer),
  decompress: async buffer => zlib.zstdDecompressSync(buffer)
})

const NAMES = { KafkaJSSASLAuthenticationError: 'SASL_AUTHENTICATION_FAILED', INVALID_CONFIG: 'INVALID_CONFIG' }

async function refusals (action) {
  try {
    return await action
  } catch (error) {
    const causes = [error, ...(error.errors ?? []), error.cause].filter(Boolean)
    const known = causes.find(each => NAMES[each.name] || each.type)
    if (!known) throw error
    throw new Refused(NAMES[known.name] ?? known.type)
  }
}

const text = bytes => (bytes === null || bytes === undefined ? null : bytes.toString())
const record = each => ({
  key: text(each.key),
  value: text(each.value),
  headers: Object.fromEntries(Object.entries(each.headers).map(([name, value]) => [name, text(value)])),
  timestamp: Number(each.timestamp),
  offset: Number(each.offset)
})

class KafkaJS {
  name = 'kafkajs'

  constructor (where) {
    this.where = where
    this.kafka = this.at('plaintext')
    this.admin = this.kafka.admin({ retry: { retries: 1 } })
  }

  at (listener, password = PASSWORD) {
    return new Kafka({
      brokers: [this.where[listener]],
      logLevel: logLevel.NOTHING,
      retry: { retries: 3 },
      ssl: listener.includes('ssl') ? { ca: [this.where.caText] } : undefined,
      sasl: listener.includes('sasl') ? { mechanism: 'plain', username: USER, password } : undefined
    })
  }

  // Records

  async produce (topic, messages, how = {}) {
    const { codec = 'none', idempotent = false, acks = -1, listener = 'plaintext', password } = how
    const createPartitioner = Partitioners.DefaultPartitioner
    const producer = this.at(listener, password).producer({ idempotent, createPartitioner })
    await refusals(producer.connect())
    try {
      const stamped = messages.map(each => ({ ...each, timestamp: each.timestamp && `${each.timestamp}` }))
      return await refusals(producer.send({ topic, messages: stamped, acks, compression: CODECS[codec] }))
    } finally {
      await producer.disconnect()
    }
  }

  // The layer that its consumer stands on: without a group it has no public way to read.
  async broker (topic, listener, isolation) {
    const kafka = this.at(listener)
    const make = Object.getOwnPropertySymbols(kafka).find(each => each.description.endsWith('createCluster'))
    const cluster = kafka[make]({ isolationLevel: isolation, metadataMaxAge: 300_000 })
    await cluster.connect()
    await cluster.addTargetTopic(topic)
    return { cluster, broker: await cluster.findBroker({ nodeId: '1' }) }
  }

  async fetch (topic, partition, fetchOffset, { waitMs = 500, isolation = 0, listener = 'plaintext' }) {
    const { cluster, broker } = await this.broker(topic, listener, isolation)
    try {
      const partitions = [{ partition, fetchOffset: `${fetchOffset}`, maxBytes: 1_048_576 }]
      const asked = { maxWaitTime: waitMs, isolationLevel: isolation, topics: [{ topic, partitions }] }
      const { responses } = await refusals(broker.fetch(asked))
      return responses[0].partitions[0].messages.map(record)
    } finally {
      await cluster.disconnect()
    }
  }

  // Admin

  async createTopic (topic, numPartitions, configs) {
    const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
    const topics = [{ topic, numPartitions, replicationFactor: 1, configEntries }]
    if (!(await refusals(this.admin.createTopics({ topics })))) throw new Refused('TOPIC_ALREADY_EXISTS')
  }

  deleteTopic (topic) {
    return refusals(this.admin.deleteTopics({ topics: [topic] }))
  }

  topics () {
    return this.admin.listTopics()
  }

  createPartitions (topic, count) {
    return refusals(this.admin.createPartitions({ topicPartitions: [{ topic, count }] }))
  }

  async describeTopic (topic) {
    const { topics } = await this.admin.fetchTopicMetadata({ topics: [topic] })
    const found = topics[0].partitions.map(each => [each.partitionId, each.leader, each.replicas, each.isr])
    return found.sort((one, other) => one[0] - other[0])
  }

  async configs (kind, name) {
    const type = { topic: ConfigResourceTypes.TOPIC, broker: ConfigResourceTypes.BROKER }[kind]
    const { resources } = await this.admin.describeConfigs({ resources: [{ type, name }], includeSynonyms: false })
    return Object.fromEntries(resources[0].configEntries.map(each => [each.configName, each.configValue]))
  }

  replaceConfigs (name, config, value) {
    const configEntries = [{ name: config, value }]
    return this.admin.alterConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name, configEntries }] })
  }

  // It looks for the leader before it asks for the topic's metadata, so that somebody else must have asked.
  async deleteRecords (topic, offset) {
    await this.admin.fetchTopicOffsets(topic)
    return this.admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: `${offset}` }] })
  }

  async listOffset (topic, partition, spec) {
    const named = { earliest: 'low', latest: 'high' }[spec]
    const offsets = named
      ? await this.admin.fetchTopicOffsets(topic)
      : await this.admin.fetchTopicOffsetsByTimestamp(topic, spec)
    return Number(offsets.find(each => each.partition === partition)[named ?? 'offset'])
  }

  async describeCluster () {
    const { clusterId, brokers, controller } = await this.admin.describeCluster()
    return { clusterId, nodes: brokers.map(each => [each.nodeId, `${each.host}:${each.port}`]), controller }
  }

  // kafkajs numbers what it asks for: topic 2, literal 3; any 1, read 3; allow 3.

  createAcl (resourceName, principal) {
    const rule = { resourceType: 2, resourceName, resourcePatternType: 3, principal, host: '*' }
    return this.admin.createAcls({ acl: [{ ...rule, operation: 3, permissionType: 3 }] })
  }

  async aclPrincipals (resourceName) {
    const { resources } = await this.admin.describeAcls(this.any(resourceName))
    return resources.flatMap(each => each.acls.map(acl => acl.principal))
  }

  deleteAcls (resourceName) {
    return this.admin.deleteAcls({ filters: [this.any(resourceName)] })
  }

  reassign (topic, node) {
    const partitionAssignment = [{ partition: 0, replicas: [node] }]
    return refusals(this.admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] }))
  }

  async reassignments () {
    return (await this.admin.listPartitionReassignments({})).topics
  }

  any (resourceName) {
    return { resourceType: 2, resourceName, resourcePatternType: 3, operation: 1, permissionType: 1 }
  }
}

const client = new KafkaJS(whereFrom(process.argv.slice(2)))
await client.admin.connect()
await run(client)
