import { afterAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { enqueueJob } from '../../src/jobs/jobs.ts'
import {
  type Broker,
  isInstalled,
  type Stored,
  startNats,
  startRabbit,
  startUnwillingRabbit,
} from '../support/brokers.ts'
import { hasEmulatedKafka, startKafka, startSqs } from '../support/emulated-brokers.ts'
import { lengthOf } from '../support/random.ts'
import { addTestClient } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { findSandboxMerchant } from '../support/users.ts'
import { commitEvents, createTestMerchant, eventually, testEvent, testSecretKey } from '../support/webhooks.ts'

const brokers = [
  {
    name: 'NATS JetStream',
    isAvailable: isInstalled('nats-server'),
    needs: 'nats-server',
    start: startNats,
    restartsMax: 3,
    dropsRepetitions: true,
  },
  // Its start takes five seconds.
  {
    name: 'RabbitMQ',
    isAvailable: isInstalled('rabbitmqctl'),
    needs: 'rabbitmq-server',
    start: startRabbit,
    restartsMax: lengthOf({ short: 1, long: 3 }),
    dropsRepetitions: false,
  },
  {
    ...{ name: 'Kafka, emulated', isAvailable: hasEmulatedKafka(), needs: 'kcat with librdkafka 2.15 or later' },
    ...{ start: startKafka, restartsMax: 3, dropsRepetitions: false },
  },
  {
    ...{ name: 'SQS, emulated', isAvailable: true, needs: 'nothing' },
    ...{ start: startSqs, restartsMax: 3, dropsRepetitions: true },
  },
]

describe.each(brokers)('$name', ({ isAvailable, needs, start, restartsMax, dropsRepetitions }) => {
  let broker: Broker | undefined
  let service: TestService | undefined
  afterAll(async () => {
    await service?.stop()
    await broker?.stop()
  })

  it.skipIf(!isAvailable)(
    `gets every event in order per record, while it is restarted under load (needs ${needs})`,
    async () => {
      broker = await start()
      const failures: unknown[] = []
      const onLog = ({ reason }: Record<string, unknown>) => {
        if (reason === 'Broken invariant: the transaction of an event exists') failures.push(reason)
      }
      service = await startTestService({ environment: { EVENT_SINK: broker.address }, onLog })
      const { db, clock, call, sandbox } = service
      const [{ merchantId } = { merchantId: '' }] = await db.query<{ merchantId: string }>(sql`
        select merchant_id as "merchantId" from clients where client_id = ${sandbox.clientId}`)
      const created = await Promise.all(
        Array.from(
          { length: 10 },
          async () => (await call<{ id: string }>('/transaction', { body: smallestTransaction() })).body.id,
        ),
      )
      let isDone = false
      const writing = Promise.all(
        created.map(async (recordId) => {
          for (let sequence = 2; sequence <= 30; sequence += 1)
            await commitEvents(
              db,
              testEvent({ merchantId, recordId, sequence, status: 'PAID', occurredAt: clock.now() }),
            )
        }),
      ).finally(() => {
        isDone = true
      })
      const sent = async () =>
        (await db.query<{ number: number }>(sql`select number from event_sinks where merchant_id = ${merchantId}`))[0]
          ?.number ?? 0
      for (let restarts = 0, before = 0; restarts < restartsMax; restarts += 1) {
        await eventually(async () => isDone || (await sent()) > before)
        before = await sent()
        await broker.restart()
      }
      await writing
      await eventually(async () => (await sent()) === 300)
      expect((await call('/metrics', { token: null })).text).toMatch(/^guiche_event_sink_lag_seconds\{sink="\w+"\} 0$/m)

      // An event that cannot be sent delays the other events of its merchant, and those of no other merchant.
      const other = await createTestMerchant(db, { key: testSecretKey(), now: clock.now() })
      await commitEvents(db, testEvent({ merchantId: other.merchantId, occurredAt: clock.now() }))
      await eventually(async () => failures.length > 0)
      await commitEvents(
        db,
        testEvent({ merchantId, recordId: created[0] ?? '', sequence: 31, status: 'PAID', occurredAt: clock.now() }),
      )
      await eventually(async () => (await sent()) === 301)

      const stored = (await broker.read()).filter(({ body }) => !body.includes('"sequence":31'))
      // A consumer drops a repetition by its id.
      const seen = new Set<string>()
      const once = stored.filter(({ id }) => !seen.has(id) && seen.add(id))
      if (dropsRepetitions) expect(stored).toHaveLength(300)
      const ids = await db.query<{ id: string }>(sql`
        select id from events where merchant_id = ${merchantId} and sequence < 31 order by id`)
      expect(once.map(({ id }) => id).toSorted()).toEqual(ids.map(({ id }) => id))
      const sequenceOf = ({ body }: Stored) => (JSON.parse(body) as { data: { sequence: number } }).data.sequence
      for (const id of created)
        expect(once.filter(({ record }) => record === id).map(sequenceOf)).toEqual(
          Array.from({ length: 30 }, (_, index) => index + 1),
        )
      const [first] = once
      expect((await call(`/event/${first?.id}`)).text).toBe(first?.body)
      expect(first).toMatchObject({
        type: 'transaction.pix_qrcode_generated',
        position: expect.stringMatching(/^\d+-/),
      })
    },
    240_000,
  )
})

it('a process stops sending when another process has saved a later position, and the schedule starts the job again', async () => {
  const broker = await startSqs()
  const service = await startTestService({ environment: { EVENT_SINK: broker.address } })
  try {
    const { db } = service
    const create = async () => {
      const { body } = await service.call<{ id: string }>('/transaction', { body: smallestTransaction() })
      return body.id
    }
    const isSent = async (id: string) => (await broker.read()).some(({ record }) => record === id)
    const first = await create()
    await eventually(async () => await isSent(first))
    const jobs = async () => await db.query<{ id: number }>(sql`select id from jobs where key = 'sinks.follow'`)
    const [former] = await jobs()
    // Another process saves the position of what this one has just sent.
    await db.transaction(async (tx) => {
      await tx.query(sql`update event_sinks set number = number`)
      const second = await create()
      await eventually(async () => await isSent(second))
      await tx.query(sql`update event_sinks set number = number + 1`)
    })
    await eventually(async () => (await jobs()).some(({ id }) => id !== former?.id))
    const third = await create()
    await eventually(async () => await isSent(third))
  } finally {
    await service.stop()
    await broker.stop()
  }
})

it('sends the events of one merchant while another one has more than can be sent', async () => {
  const broker = await startSqs()
  const service = await startTestService({ environment: { EVENT_SINK: broker.address } })
  try {
    const { db, clock } = service
    const numberOf = async (merchantId: string) =>
      (await db.query<{ number: number }>(sql`select number from event_sinks where merchant_id = ${merchantId}`))[0]
        ?.number ?? 0
    const busy = await findSandboxMerchant(service)
    const { body } = await service.call<{ id: string }>('/transaction', { body: smallestTransaction() })
    let added = 1
    const addMore = async () => {
      const event = { merchantId: busy, recordId: body.id, status: 'PAID', occurredAt: clock.now() } as const
      // Each waits for the one before, because all are of one record.
      await commitEvents(db, ...Array.from({ length: 500 }, () => testEvent({ ...event, sequence: ++added })))
    }
    await addMore()
    await eventually(async () => (await numberOf(busy)) > 0)
    const other = await addTestClient(service)
    await service.call('/transaction', { token: other.token, body: smallestTransaction() })
    await eventually(async () => {
      if (added - (await numberOf(busy)) < 2_000) await addMore()
      return (await numberOf(other.merchantId)) > 0
    })
    expect(await numberOf(busy)).toBeLessThan(added)
  } finally {
    await service.stop()
    await broker.stop()
  }
})

it('a process without EVENT_SINK ends the job that a process with this setting has left behind', async () => {
  const service = await startTestService()
  try {
    await enqueueJob(service.db, { name: 'sinks.follow', key: 'sinks.follow', payload: {} })
    await eventually(
      async () => (await service.db.query(sql`select from jobs where name = 'sinks.follow'`)).length === 0,
    )
  } finally {
    await service.stop()
  }
})

it('closes each connection to RabbitMQ that was refused its exchange, or was opened too late', async () => {
  const broker = await startUnwillingRabbit()
  const service = await startTestService({ environment: { EVENT_SINK: `${broker.address}?exchange=guiche` } })
  try {
    await eventually(() => broker.counts.opened >= 4)
  } finally {
    await service.stop()
  }
  await eventually(() => broker.counts.open === 0)
  await broker.stop()
})
