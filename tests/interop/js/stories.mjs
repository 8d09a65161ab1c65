// The scenarios for the JavaScript clients. An adapter says how its client does a thing; `../scenarios.py` knows what
// is not asked of it. Neither client consumes without a group, so records are read through the request layer that
// their consumers stand on: `fetch(topic, partition, offset, how)` is one Fetch request.
//
//     node client.mjs plaintext=127.0.0.1:9092 ssl=... sasl=... sasl_ssl=... ca=ca.pem only=tls,tail,...
//
// One line per scenario: its name, ok or FAILED, the seconds it took, why it failed; with tabs between.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

export const USER = 'alice'
export const PASSWORD = 'alice-secret'
const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
const START = 1_600_000_000_000
const SECONDS_MAX = 10

export function whereFrom (given) {
  const pair = each => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]
  const where = Object.fromEntries(given.map(pair))
  return { ...where, caText: readFileSync(where.ca, 'utf8'), only: where.only.split(',') }
}

// What an adapter throws when it was refused: Kafka's name of the error.
export class Refused extends Error {}

async function refuses (name, action) {
  try {
    await action()
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    assert.equal(error.message, name)
    return
  }
  assert.fail(`${name} was expected`)
}

const some = (count = 200) =>
  Array.from({ length: count }, (_, n) => ({ key: `key ${n % 7}`, value: `value ${n} ${'x'.repeat(30)}` }))
const range = (from, to) => Array.from({ length: to - from }, (_, n) => from + n)

class Stories {
  constructor (client) {
    this.client = client
    this.scenario = '' // the one that is told now
  }

  // What the stories share

  async topic (partitions = 1, configs = {}) {
    const name = `${this.client.name}.${this.scenario}.${randomBytes(5).toString('hex')}`
    await this.client.createTopic(name, partitions, configs)
    await this.isServed(name, partitions)
    return name
  }

  // A new leader may refuse for a moment. These clients send all of a request again when one partition of it has
  // failed, so that a story about records must not begin before its partitions do.
  async isServed (topic, partitions) {
    const deadline = Date.now() + SECONDS_MAX * 1000
    for (let partition = 0; partition < partitions;) {
      try {
        await this.client.listOffset(topic, partition, 'latest')
        partition += 1
      } catch (error) {
        if (Date.now() > deadline) throw error
      }
    }
  }

  async filled (count = 200) {
    const topic = await this.topic(1, { 'retention.ms': '-1' })
    const record = n => ({ key: 'k', value: `${n}`, timestamp: START + 1000 * n })
    await this.client.produce(topic, range(0, count).map(record))
    return topic
  }

  async consume (topic, partition, start, count, how = {}) {
    const spec = start.timestamp ?? start
    let offset = typeof start === 'number' ? start : await this.client.listOffset(topic, partition, spec)
    const found = []
    const deadline = Date.now() + SECONDS_MAX * 1000
    while (found.length < count && Date.now() < deadline) {
      // Batches are answered whole, so that records before the offset may come along.
      const records = (await this.client.fetch(topic, partition, offset, how)).filter(each => each.offset >= offset)
      found.push(...records)
      if (records.length) offset = records.at(-1).offset + 1
    }
    return found
  }

  async thereAndBack (records, how = {}, configs = {}) {
    const topic = await this.topic(1, configs)
    await this.client.produce(topic, records, how)
    const found = await this.consume(topic, 0, 'earliest', records.length)
    assert.deepEqual(found.map(each => each.offset), range(0, records.length))
    assert.deepEqual(found.map(each => [each.key, each.value]), records.map(each => [each.key, each.value]))
    return found
  }

  // Producing

  async codec (codec) {
    await this.thereAndBack(some(), { codec })
    await this.thereAndBack([{ key: 'k', value: 'z'.repeat(200_000) }, ...some(20)], { codec })
  }

  async brokerRecompresses () {
    await this.thereAndBack(some(), { codec: 'gzip' }, { 'compression.type': 'snappy' })
    await this.thereAndBack(some(), { codec: 'gzip' }, { 'compression.type': 'uncompressed' })
  }

  async idempotent () {
    await this.thereAndBack(some(), { idempotent: true })
  }

  async headers () {
    const headers = { first: '1', second: '', third: 'ünïcode' }
    const found = await this.thereAndBack([{ key: 'k', value: 'v', headers }, { key: 'k', value: 'w' }])
    assert.deepEqual(found.map(each => each.headers), [headers, {}])
  }

  async timestamps () {
    const stamps = [START, START + 5000, START - 100_000_000]
    const records = stamps.map(timestamp => ({ key: 'k', value: 'v', timestamp }))
    const found = await this.thereAndBack(records, {}, { 'retention.ms': '-1' })
    assert.deepEqual(found.map(each => each.timestamp), stamps)
  }

  async logAppendTime () {
    const before = Date.now()
    const records = [{ key: 'k', value: 'v', timestamp: START }]
    const [found] = await this.thereAndBack(records, {}, { 'message.timestamp.type': 'LogAppendTime' })
    assert.ok(found.timestamp >= before && found.timestamp <= Date.now(), `${found.timestamp} is not now`)
  }

  async keys () {
    const topic = await this.topic(3)
    await this.client.produce(topic, some())
    const homes = new Set()
    const values = []
    for (const partition of range(0, 3)) {
      const end = await this.client.listOffset(topic, partition, 'latest')
      for (const each of await this.consume(topic, partition, 'earliest', end)) {
        homes.add(`${each.key} ${partition}`)
        values.push(each.value)
      }
    }
    assert.equal(homes.size, 7)
    assert.deepEqual(values.sort(), some().map(each => each.value).sort())
  }

  async nullValues () {
    const empty = { key: 'empty', value: '' }
    await this.thereAndBack([{ key: 'gone', value: null }, empty, { key: null, value: 'unkeyed' }])
  }

  async 'acks-0' () {
    const topic = await this.topic()
    await this.client.produce(topic, some(1))
    await this.client.produce(topic, some(20), { acks: 0 })
    assert.equal((await this.consume(topic, 0, 'earliest', 21)).length, 21)
  }

  async 'acks-1' () {
    await this.thereAndBack(some(20), { acks: 1 })
  }

  async acksAll () {
    await this.thereAndBack(some(20), { acks: -1 })
  }

  async largeRecord () {
    await this.thereAndBack([{ key: 'k', value: '0123456789'.repeat(100_000) }, ...some(5)])
  }

  async tooLarge () {
    const topic = await this.filled(1)
    await refuses('MESSAGE_TOO_LARGE', () => this.client.produce(topic, [{ key: 'k', value: 'x'.repeat(2_000_000) }]))
  }

  async manyPartitions () {
    const topic = await this.topic(100)
    await this.client.produce(topic, range(0, 100).map(partition => ({ key: 'k', value: `${partition}`, partition })))
    for (const partition of range(0, 100)) {
      const [found] = await this.consume(topic, partition, 0, 1)
      assert.equal(found.value, `${partition}`)
    }
  }

  // Consuming

  async fromBeginning () {
    const found = await this.consume(await this.filled(), 0, 'earliest', 200)
    assert.deepEqual(found.map(each => each.offset), range(0, 200))
  }

  async fromEnd () {
    const topic = await this.filled(10)
    const end = await this.client.listOffset(topic, 0, 'latest')
    await this.client.produce(topic, [{ key: 'k', value: 'new' }])
    assert.deepEqual((await this.consume(topic, 0, end, 1)).map(each => [each.offset, each.value]), [[10, 'new']])
  }

  async byOffset () {
    const found = await this.consume(await this.filled(), 0, 150, 50)
    assert.deepEqual(found.map(each => each.offset), range(150, 200))
  }

  async byTimestamp () {
    const found = await this.consume(await this.filled(), 0, { timestamp: START + 99_500 }, 10)
    assert.equal(found[0].offset, 100)
  }

  // A fetch that waits is answered when the record comes, not when its time is up.
  async tail () {
    const topic = await this.filled(1)
    const waiting = this.client.fetch(topic, 0, 1, { waitMs: 10_000 })
    await new Promise(resolve => setTimeout(resolve, 1000)) // by now it waits; nothing tells when it does
    const sent = Date.now()
    await this.client.produce(topic, [{ key: 'k', value: 'at last' }])
    const [found] = await waiting
    assert.equal(found.value, 'at last')
    assert.ok(Date.now() - sent < 4000, `the record was there after ${Date.now() - sent} ms`)
  }

  async readCommitted () {
    assert.equal((await this.consume(await this.filled(20), 0, 0, 20, { isolation: 1 })).length, 20)
  }

  async outOfRange () {
    const topic = await this.filled(5)
    await refuses('OFFSET_OUT_OF_RANGE', () => this.client.fetch(topic, 0, 1_000_000, {}))
  }

  // Administering

  async createTopic () {
    const topic = await this.topic(2)
    assert.equal((await this.client.describeTopic(topic)).length, 2)
    await refuses('TOPIC_ALREADY_EXISTS', () => this.client.createTopic(topic, 2, {}))
    await refuses('INVALID_TOPIC_EXCEPTION', () => this.client.createTopic('no spaces please', 1, {}))
    await refuses('INVALID_CONFIG', () => this.client.createTopic('bad-config', 1, { 'retention.ms': 'soon' }))
  }

  async describeTopic () {
    assert.deepEqual(await this.client.describeTopic(await this.topic(2)), [[0, 1, [1], [1]], [1, 1, [1], [1]]])
  }

  async deleteTopic () {
    const topic = await this.topic()
    await this.client.deleteTopic(topic)
    assert.ok(!(await this.client.topics()).includes(topic))
    await refuses('UNKNOWN_TOPIC_OR_PARTITION', () => this.client.deleteTopic(topic))
  }

  async createPartitions () {
    const topic = await this.topic()
    await this.client.createPartitions(topic, 4)
    assert.equal((await this.client.describeTopic(topic)).length, 4)
    await refuses('INVALID_PARTITIONS', () => this.client.createPartitions(topic, 2))
  }

  async describeConfigs () {
    const configs = await this.client.configs('topic', await this.topic(1, { 'retention.ms': '60000' }))
    assert.deepEqual([configs['retention.ms'], configs['cleanup.policy']], ['60000', 'delete'])
    assert.equal((await this.client.configs('broker', '1'))['node.id'], '1')
  }

  async alterConfigs () {
    const topic = await this.topic(1, { 'retention.ms': '60000' })
    await this.client.alterConfigs(topic, 'cleanup.policy', 'compact')
    const configs = await this.client.configs('topic', topic)
    assert.deepEqual([configs['retention.ms'], configs['cleanup.policy']], ['60000', 'compact'])
  }

  async replaceConfigs () {
    const topic = await this.topic(1, { 'retention.ms': '60000' })
    await this.client.replaceConfigs(topic, 'cleanup.policy', 'compact')
    const configs = await this.client.configs('topic', topic)
    assert.deepEqual([configs['retention.ms'], configs['cleanup.policy']], ['604800000', 'compact'])
  }

  async deleteRecords () {
    const topic = await this.filled(20)
    await this.client.deleteRecords(topic, 15)
    const found = await this.consume(topic, 0, 'earliest', 5)
    assert.deepEqual(found.map(each => each.offset), range(15, 20))
  }

  async listOffsets () {
    const topic = await this.filled(20)
    const found = []
    for (const spec of ['earliest', 'latest', START + 4500]) found.push(await this.client.listOffset(topic, 0, spec))
    assert.deepEqual(found, [0, 20, 5])
  }

  async describeCluster () {
    const { clusterId, nodes, controller } = await this.client.describeCluster()
    assert.equal(clusterId.length, 22)
    assert.deepEqual(nodes, [[1, this.client.where.plaintext]])
    assert.equal(controller, 1)
  }

  async logDirs () {
    assert.ok((await this.client.logSize(await this.filled(20))) > 0)
  }

  async acls () {
    const topic = `acl-${randomBytes(5).toString('hex')}`
    await this.client.createAcl(topic, 'User:bob')
    assert.deepEqual(await this.client.aclPrincipals(topic), ['User:bob'])
    await this.client.deleteAcls(topic)
    assert.deepEqual(await this.client.aclPrincipals(topic), [])
  }

  async quotas () {
    const user = `user-${randomBytes(5).toString('hex')}`
    await this.client.putQuota(user, 'producer_byte_rate', 1024)
    assert.deepEqual(await this.client.quotasOf(user), [['producer_byte_rate', 1024]])
  }

  async reassignments () {
    const topic = await this.topic()
    await this.client.reassign(topic, 1)
    assert.deepEqual(await this.client.reassignments(), [])
    await refuses('INVALID_REPLICA_ASSIGNMENT', () => this.client.reassign(topic, 9))
  }

  // Security

  async through (listener) {
    const topic = await this.topic()
    await this.client.produce(topic, some(50), { listener })
    assert.equal((await this.consume(topic, 0, 0, 50, { listener })).length, 50)
  }

  tls () {
    return this.through('ssl')
  }

  saslPlain () {
    return this.through('sasl')
  }

  saslPlainOverTls () {
    return this.through('sasl_ssl')
  }

  async saslPlainWrong () {
    const topic = await this.topic()
    const attempt = () => this.client.produce(topic, some(1), { listener: 'sasl', password: 'wrong' })
    await refuses('SASL_AUTHENTICATION_FAILED', attempt)
  }
}

const SHARED = ['constructor', 'topic', 'isServed', 'filled', 'consume', 'thereAndBack', 'codec', 'through']
const dashed = name => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

export async function run (client) {
  const stories = new Stories(client)
  const scenarios = CODECS.map(codec => [`codec-${codec}`, () => stories.codec(codec)])
  for (const name of Object.getOwnPropertyNames(Stories.prototype)) {
    if (!SHARED.includes(name)) scenarios.push([dashed(name), () => stories[name]()])
  }
  for (const [name, scenario] of scenarios) {
    if (!client.where.only.includes(name)) continue
    stories.scenario = name
    await runOne(name, scenario)
  }
  process.exit(0) // whatever a client has left open
}

async function runOne (name, scenario) {
  const started = performance.now()
  let [outcome, detail] = ['ok', '']
  try {
    await scenario()
  } catch (error) {
    console.error(name, error)
    outcome = 'FAILED'
    detail = `${error.name}: ${error.message}`.replaceAll(/\s+/g, ' ')
  }
  process.stdout.write(`${name}\t${outcome}\t${((performance.now() - started) / 1000).toFixed(2)}\t${detail}\n`)
}
