// @platformatic/kafka through every scenario that it has.

import { Admin, Consumer, Producer, ProduceAcks } from '@platformatic/kafka'
import { PASSWORD, Refused, run, USER, whereFrom } from './stories.mjs'

const NAMES = {
  INVALID_TOPIC: 'INVALID_TOPIC_EXCEPTION',
  SASL_AUTHENTICATION_FAILED: 'SASL_AUTHENTICATION_FAILED'
}

// Errors hold each other; the innermost one that knows its Kafka name is the reason.
function* causes (error) {
  if (!error) return
  yield error
  yield* causes(error.cause)
  for (const each of error.errors ?? []) yield* causes(each)
}

async function refusals (action) {
  try {
    return await action
  } catch (error) {
    for (const each of causes(error)) {
      if (each.apiId) throw new Refused(NAMES[each.apiId] ?? each.apiId)
      if (each.code === 'PLT_KFK_AUTHENTICATION') throw new Refused('SASL_AUTHENTICATION_FAILED')
    }
    throw error
  }
}

const text = bytes => (bytes === null || bytes === undefined ? null : bytes.toString())

class Platformatic {
  name = 'platformatic'

  constructor (where) {
    this.where = where
    this.admin = new Admin(this.at('plaintext'))
  }

  at (listener, password = PASSWORD) {
    const options = { clientId: 'interop', bootstrapBrokers: [this.where[listener]], retries: 3, retryDelay: 100 }
    if (listener.includes('ssl')) options.tls = { ca: [this.where.caText] }
    if (listener.includes('sasl')) options.sasl = { mechanism: 'PLAIN', username: USER, password }
    return options
  }

  // Records

  async produce (topic, records, how = {}) {
    const { codec = 'none', idempotent = false, acks = -1, listener = 'plaintext', password } = how
    const producer = new Producer(this.at(listener, password))
    const known = { '-1': ProduceAcks.ALL, 0: ProduceAcks.NO_RESPONSE, 1: ProduceAcks.LEADER }
    try {
      const messages = records.map(each => this.message(topic, each))
      return await refusals(producer.send({ messages, idempotent, acks: known[acks], compression: codec }))
    } finally {
      await producer.close()
    }
  }

  message (topic, { key, value, headers, timestamp, partition }) {
    const bytes = part => (part === null ? null : Buffer.from(part))
    const pairs = Object.entries(headers ?? {}).map(([name, each]) => [Buffer.from(name), Buffer.from(each)])
    const message = { topic, key: bytes(key), value: bytes(value), headers: new Map(pairs), partition }
    return timestamp === undefined ? message : { ...message, timestamp: BigInt(timestamp) }
  }

  // The request that its consumer's streams are made of: those join a group first.
  async fetch (topic, partition, offset, { waitMs = 500, isolation = 0, listener = 'plaintext' }) {
    const consumer = new Consumer({ ...this.at(listener), groupId: 'unused' })
    try {
      const metadata = await consumer.metadata({ topics: [topic] })
      const epochs = { currentLeaderEpoch: -1, lastFetchedEpoch: -1 }
      const asked = { partition, fetchOffset: BigInt(offset), partitionMaxBytes: 1_048_576, ...epochs }
      const topics = [{ topicId: metadata.topics.get(topic).id, partitions: [asked] }]
      const limits = { maxWaitTime: waitMs, minBytes: 1, maxBytes: 10_485_760, isolationLevel: isolation }
      const { responses } = await refusals(consumer.fetch({ node: 1, topics, ...limits }))
      return (responses[0]?.partitions[0].records ?? []).flatMap(records)
    } finally {
      await consumer.close()
    }
  }

  // Admin

  createTopic (topic, partitions, configs) {
    const pairs = Object.entries(configs).map(([name, value]) => ({ name, value }))
    return refusals(this.admin.createTopics({ topics: [topic], partitions, replicas: 1, configs: pairs }))
  }

  deleteTopic (topic) {
    return refusals(this.admin.deleteTopics({ topics: [topic] }))
  }

  topics () {
    return this.admin.listTopics()
  }

  createPartitions (name, count) {
    return refusals(this.admin.createPartitions({ topics: [{ name, count }] }))
  }

  async describeTopic (topic) {
    const metadata = await this.admin.metadata({ topics: [topic], forceUpdate: true })
    const partitions = metadata.topics.get(topic).partitions
    return partitions.map((each, index) => [index, each.leader, each.replicas, each.isr])
  }

  async configs (kind, resourceName) {
    const resourceType = { topic: 2, broker: 4 }[kind]
    const [found] = await this.admin.describeConfigs({ resources: [{ resourceType, resourceName }] })
    return Object.fromEntries(found.configs.map(each => [each.name, each.value]))
  }

  alterConfigs (resourceName, name, value) {
    const configs = [{ name, configOperation: 0, value }]
    return this.admin.incrementalAlterConfigs({ resources: [{ resourceType: 2, resourceName, configs }] })
  }

  replaceConfigs (resourceName, name, value) {
    return this.admin.alterConfigs({ resources: [{ resourceType: 2, resourceName, configs: [{ name, value }] }] })
  }

  deleteRecords (name, offset) {
    return this.admin.deleteRecords({ topics: [{ name, partitions: [{ partition: 0, offset: BigInt(offset) }] }] })
  }

  async listOffset (name, partitionIndex, spec) {
    const timestamp = BigInt({ earliest: -2, latest: -1 }[spec] ?? spec)
    const [topic] = await this.admin.listOffsets({ topics: [{ name, partitions: [{ partitionIndex, timestamp }] }] })
    return Number(topic.partitions[0].offset)
  }

  async describeCluster () {
    const found = await this.admin.metadata({ topics: [] })
    const nodes = [...found.brokers].map(([id, each]) => [id, `${each.host}:${each.port}`])
    return { clusterId: found.id, nodes, controller: found.controllerId }
  }

  async logSize (name) {
    const found = await this.admin.describeLogDirs({ topics: [{ name, partitions: [0] }] })
    const topics = found.flatMap(each => each.results.flatMap(one => one.topics))
    return topics.flatMap(each => each.partitions).reduce((sum, each) => sum + Number(each.partitionSize), 0)
  }

  // Kafka's numbers: topic 2, literal 3; any 1, read 3; allow 3.

  createAcl (resourceName, principal) {
    const rule = { resourceType: 2, resourceName, resourcePatternType: 3, principal, host: '*' }
    return this.admin.createAcls({ creations: [{ ...rule, operation: 3, permissionType: 3 }] })
  }

  async aclPrincipals (resourceName) {
    const found = await this.admin.describeAcls({ filter: this.any(resourceName) })
    return found.flatMap(each => each.acls.map(acl => acl.principal))
  }

  deleteAcls (resourceName) {
    return this.admin.deleteAcls({ filters: [this.any(resourceName)] })
  }

  any (resourceName) {
    const anyone = { principal: null, host: null, operation: 1, permissionType: 1 }
    return { resourceType: 2, resourceName, resourcePatternType: 3, ...anyone }
  }

  putQuota (entityName, key, value) {
    const entry = { entities: [{ entityType: 'user', entityName }], ops: [{ key, value, remove: false }] }
    return this.admin.alterClientQuotas({ entries: [entry] })
  }

  async quotasOf (match) {
    const found = await this.admin.describeClientQuotas({ components: [{ entityType: 'user', matchType: 0, match }] })
    return found.flatMap(each => each.values.map(value => [value.key, value.value]))
  }
}

function records (batch) {
  return batch.records.map(each => ({
    key: text(each.key),
    value: text(each.value),
    headers: Object.fromEntries([...each.headers].map(([name, value]) => [text(name), text(value)])),
    timestamp: Number(batch.firstTimestamp + each.timestampDelta),
    offset: Number(batch.firstOffset) + each.offsetDelta
  }))
}

await run(new Platformatic(whereFrom(process.argv.slice(2))))
