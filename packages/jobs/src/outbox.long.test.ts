import { createNoopMeter, type Meter, type ObservableCallback } from '@opentelemetry/api'
import { createNames } from '@trestle/database/names.ts'
import { createQueueDatabase } from '@trestle/testing/queue-database.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createJobs, type Jobs } from './jobs.ts'
import { observeOutbox } from './observe-jobs.ts'
import { createOutbox, type Outbox } from './outbox.ts'
import { defineEncryptedTask } from './task.ts'

interface Greeting {
  readonly to: string
}

const readGreeting = (json: unknown): Greeting => {
  if (typeof json !== 'object' || json === null || !('to' in json)) throw new Error('this is no greeting')
  return { to: String(json.to) }
}
const options = { retryLimit: 0, firstDelaySeconds: 1, delaySecondsMax: 1, timeoutSeconds: 30 }
const greet = defineEncryptedTask('greet', readGreeting, options)
const names = createNames('example', 'app')

const database = await createQueueDatabase({
  names,
  tasks: [greet],
  sources: {
    '0001-outbox': ({ id }) => ({
      up: (db) =>
        sql`CREATE TABLE ${id('outbox')} (
          id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task text NOT NULL, data jsonb NOT NULL,
          written timestamptz NOT NULL DEFAULT now())`
          .execute(db)
          .then(() => {}),
    }),
  },
})
const greeted: string[] = []
const troubles: string[] = []
let jobs: Jobs
let outbox: Outbox

function openOutbox(): Outbox {
  return createOutbox({ db: database.db, jobs, onError: ({ message }) => troubles.push(message) })
}

/** Writes greetings to the outbox, as an SQL function would. */
async function write(to: readonly string[]): Promise<void> {
  const entries = await Promise.all(to.map((name) => jobs.prepare(greet, { to: name })))
  for (const { task, data } of entries) {
    await sql`INSERT INTO ${sql.table('outbox')} (task, data) VALUES (${task}, ${JSON.stringify(data)})`.execute(
      database.db,
    )
  }
}

/** Writes jobs of a task without a queue. */
async function writeUnknown(count: number): Promise<void> {
  await sql`INSERT INTO ${sql.table('outbox')} (task, data)
    SELECT 'unheard-of', '{}' FROM generate_series(1, ${count})`.execute(database.db)
}

async function countRows(): Promise<number> {
  const { rows } = await sql<{ n: number }>`SELECT count(*)::int AS n FROM ${sql.table('outbox')}`.execute(database.db)
  return rows[0]?.n ?? 0
}

beforeAll(async () => {
  jobs = createJobs(database.config)
  await jobs.open()
  await jobs.work(greet, async ({ to }) => {
    greeted.push(to)
    return 'done'
  })
})

beforeEach(async () => {
  greeted.length = 0
  troubles.length = 0
  await sql`DELETE FROM ${sql.table('outbox')}`.execute(database.db)
  outbox = openOutbox()
})

afterEach(() => outbox.stop())

afterAll(async () => {
  await jobs.close()
  await database.drop()
})

describe('outbox', () => {
  it('moves no job before its start, then the waiting ones', async () => {
    await write(['Ada'])
    outbox.wake()
    expect(await countRows()).toBe(1)
    outbox.start()
    await expect.poll(() => greeted).toEqual(['Ada'])
    expect(await countRows()).toBe(0)
  })

  it('moves each row once, however many processes poll', async () => {
    const others = [openOutbox(), openOutbox()]
    const guests = Array.from({ length: 250 }, (_, index) => `guest ${index}`)
    await write(guests)
    for (const one of [outbox, ...others]) one.start()
    for (const one of [outbox, ...others]) one.wake()
    await expect.poll(countRows).toBe(0)
    await Promise.all(others.map((other) => other.stop()))
    await expect.poll(() => greeted.length, { timeout: 60_000 }).toBe(250)
    expect(new Set(greeted).size).toBe(250)
  })

  it('finds a row without a wake-up at its next poll', async () => {
    outbox.start()
    await write(['Grace'])
    await expect.poll(() => greeted.at(-1)).toBe('Grace')
  })

  it('keeps rows that the queue refuses, and reports them', async () => {
    await writeUnknown(1)
    outbox.start()
    await expect.poll(() => troubles.join()).toContain('unheard-of')
    expect(await countRows()).toBe(1)
  })

  it('moves other rows past more refused rows than a batch holds', async () => {
    await writeUnknown(151)
    await write(['Edsger'])
    outbox.start()
    await expect.poll(() => greeted.at(-1)).toBe('Edsger')
    expect(await countRows()).toBe(151)
  })
})

describe('observeOutbox', () => {
  it('reports how long the oldest row has waited', async () => {
    let look: ObservableCallback | undefined
    const gauge = {
      addCallback: (callback: ObservableCallback) => {
        look = callback
      },
      removeCallback: () => {},
    }
    const meter: Meter = { ...createNoopMeter(), createObservableGauge: () => gauge }
    observeOutbox(meter, { db: database.db, writtenAt: 'written' })
    const observed = async () => {
      const values: number[] = []
      await look?.({ observe: (value) => values.push(value) })
      return values
    }
    expect(await observed()).toEqual([0])
    await writeUnknown(3)
    await sql`UPDATE ${sql.table('outbox')} SET written = now() - interval '90 s'
      WHERE id = (SELECT max(id) FROM ${sql.table('outbox')})`.execute(database.db)
    expect(await observed()).toEqual([expect.closeTo(90, -1)])
  })
})
