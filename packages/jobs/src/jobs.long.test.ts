import { createNoopMeter, type Meter } from '@opentelemetry/api'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import { createQueueDatabase } from '@trestle/testing/queue-database.ts'
import { type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { encryptPayload } from './attempt.ts'
import { installJobs } from './install.ts'
import { createJobs, type Jobs, type JobsConfig } from './jobs.ts'
import { listDeadLetterJobs, listWaitingJobs } from './list-jobs.ts'
import { observeJobs } from './observe-jobs.ts'
import { openQueue } from './queue.ts'
import { type AnyTask, defineEncryptedTask, defineTask } from './task.ts'

interface Greeting {
  readonly to: string
}

const readGreeting = (json: unknown): Greeting => {
  if (typeof json !== 'object' || json === null || !('to' in json)) throw new Error('this is no greeting')
  return { to: String(json.to) }
}

const options = { retryLimit: 1, firstDelaySeconds: 1, delaySecondsMax: 1, timeoutSeconds: 30 }
const greet = defineEncryptedTask('greet', readGreeting, options)
/** A task without retries. */
const once = defineTask<Greeting>('greet_once', { ...options, retryLimit: 0 })
const fail = defineTask<Greeting>('fail', { ...options, retryLimit: 0 })
const hang = defineTask<Greeting>('hang', { ...options, timeoutSeconds: 1 })
const slow = defineTask<Greeting>('slow', { ...options })
/** A task of which a process does two jobs of a group at the same time. */
const shared = defineTask<Greeting>('shared', { ...options, groups: { jobsMax: 8, groupJobsMax: 2 } })
/** A task of which a process does only one job of a group at a time. */
const fair = defineTask<Greeting>('fair', { ...options, groups: { jobsMax: 2, groupJobsMax: 1 } })
const noting = defineTask<Greeting>('noting', { ...options })
/** A task of which a process may do more jobs at the same time than it starts together. */
const wide = defineTask<Greeting>('wide', { ...options, groups: { jobsMax: 64, groupJobsMax: 40 } })
/** A task whose worker ends while a job is running. */
const left = defineTask<Greeting>('left', { ...options, groups: { jobsMax: 1, groupJobsMax: 1 } })
/** A task that no worker takes. */
const nobody = defineTask<Greeting>('nobody', { ...options })
const tasks: readonly AnyTask[] = [greet, once, fail, hang, slow, shared, fair, wide, left, noting, nobody]
const names = createNames('example')

const database = await createQueueDatabase({ names, tasks })
const greeted: { payload: Greeting; attempt: number }[] = []
let refusals = 0
let whenRefused = () => {}
let mayWork = true
const config: JobsConfig = { ...database.config, mayWork: () => mayWork }
let jobs: Jobs

beforeAll(async () => {
  jobs = createJobs(config)
  await jobs.open()
  for (const task of [greet, once]) {
    await jobs.work(task, async (payload, { attempt }) => {
      if (refusals > 0) {
        refusals -= 1
        whenRefused()
        throw new Error('not now')
      }
      greeted.push({ payload, attempt })
      return 'done'
    })
  }
  await jobs.work(fail, async () => {
    throw new Error('never')
  })
})

beforeEach(async () => {
  greeted.length = 0
  refusals = 0
  await sql`DELETE FROM example_jobs.job`.execute(database.db)
})

afterAll(async () => {
  await jobs.close()
  await database.drop()
})

describe('jobs', () => {
  it('runs committed jobs, and none that was rolled back', async () => {
    await database.db
      .transaction()
      .execute(async (trx) => {
        await jobs.send(trx, greet, { to: 'nobody' })
        throw new Error('roll back')
      })
      .catch(() => {})
    await database.db.transaction().execute((trx) => jobs.send(trx, greet, { to: 'Ada' }))
    await expect.poll(() => greeted).toEqual([{ payload: { to: 'Ada' }, attempt: 1 }])
  })

  it('works through a backlog faster than it polls', async () => {
    // Polling takes eight jobs in two seconds, far fewer than 100 within the time limit of `poll`.
    await database.db.transaction().execute(async (trx) => {
      for (let i = 0; i < 100; i += 1) await jobs.send(trx, greet, { to: `guest ${i}` })
    })
    await expect.poll(() => greeted.length).toBe(100)
  })

  it('runs other jobs beside a job that hangs', async () => {
    const release = Promise.withResolvers<void>()
    const done: string[] = []
    await jobs.work(slow, async ({ to }) => {
      if (to === 'nobody') await release.promise
      done.push(to)
      return 'done'
    })
    await jobs.send(database.db, slow, { to: 'nobody' })
    const guests = Array.from({ length: 12 }, (_, index) => `guest ${index}`)
    await database.db.transaction().execute(async (trx) => {
      for (const to of guests) await jobs.send(trx, slow, { to })
    })
    await expect.poll(() => done.length).toBe(12)
    release.resolve()
    await expect.poll(() => done.at(-1)).toBe('nobody')
  })

  it('leaves workers to others while slow jobs of one group keep coming', async () => {
    const running: string[] = []
    const end = Promise.withResolvers<void>()
    await jobs.work(shared, async ({ to }) => {
      running.push(to)
      if (to.startsWith('slow')) await end.promise
      return 'done'
    })
    const send = (to: string, group: string) => jobs.send(database.db, shared, { to }, { group })
    for (const to of ['slow 0', 'slow 1']) {
      await send(to, 'a')
      await expect.poll(() => running).toContain(to)
    }
    for (let count = 2; count < 12; count += 1) await send(`slow ${count}`, 'a')
    await database.db.transaction().execute(async (trx) => {
      await jobs.insert(trx, shared.name, [{ data: { to: 'quick' }, group: 'b' }, { data: { to: 'alone' } }])
    })
    await expect.poll(() => running.toSorted()).toEqual(['alone', 'quick', 'slow 0', 'slow 1'])
    end.resolve()
    await expect.poll(() => running.length).toBe(14)
  })

  it('takes the job whose share ends first when slow jobs of other groups have all slots', async () => {
    const running: string[] = []
    const [first, others] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await jobs.work(fair, async ({ to }) => {
      running.push(to)
      if (to !== 'quick') await (to === 'slow a' ? first : others).promise
      return 'done'
    })
    const send = (to: string, group: string, shareSeconds = 60) =>
      jobs.send(database.db, fair, { to }, { group, shareSeconds: shareSeconds })
    for (const group of ['a', 'b']) {
      await send(`slow ${group}`, group)
      await expect.poll(() => running).toContain(`slow ${group}`)
    }
    for (let count = 0; count < 4; count += 1) for (const group of ['a', 'b']) await send(`more of ${group}`, group)
    await send('quick', 'c', 8)
    first.resolve()
    await expect.poll(() => running.length).toBe(4)
    const next = running.slice(2)
    others.resolve()
    expect(next).toEqual(['quick', 'more of a'])
    await expect.poll(() => running.length).toBe(11)
  })

  it('begins more jobs of a task with groups while those before wait', async () => {
    const end = Promise.withResolvers<void>()
    let running = 0
    await jobs.work(wide, async () => {
      running += 1
      await end.promise
      return 'done'
    })
    await database.db.transaction().execute(async (trx) => {
      const entries = Array.from({ length: 40 }, () => ({ data: { to: 'nobody' }, group: 'a' }))
      await jobs.insert(trx, wide.name, entries)
    })
    await expect.poll(() => running).toBe(40)
    end.resolve()
    const states = sql<{ state: string; count: number }>`
      SELECT state::text AS state, count(*)::int AS count FROM example_jobs.job WHERE name = 'wide' GROUP BY state`
    await expect.poll(async () => (await states.execute(database.db)).rows).toEqual([{ state: 'completed', count: 40 }])
  })

  it('gives a job of a task with groups up that does not end in time when the process ends', async () => {
    const ending = createJobs(config)
    await ending.open()
    const begun = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    await ending.work(left, async () => {
      begun.resolve()
      await end.promise
      return 'done'
    })
    await jobs.send(database.db, left, { to: 'nobody' }, { group: 'a' })
    await begun.promise
    await ending.close(2_100)
    const job = sql<object>`
      SELECT state::text AS state, output ->> 'message' AS message FROM example_jobs.job WHERE name = 'left'`
    expect((await job.execute(database.db)).rows).toEqual([{ state: 'retry', message: 'the process ends' }])
    end.resolve()
  })

  it('keeps the payload of an encrypted task out of the database', async () => {
    for (let count = 0; count < 10; count += 1) await jobs.send(database.db, greet, { to: 'guest 7' })
    const { rows } = await sql<{ data: string }>`SELECT data::text FROM example_jobs.job WHERE name = 'greet'`.execute(
      database.db,
    )
    expect(rows).toHaveLength(10)
    // Ciphertext is base64url and contains no space, so it cannot contain this text by chance.
    expect(rows.map(({ data }) => data).join()).not.toContain('guest 7')
    await expect.poll(() => greeted.length).toBe(10)
  })

  it.each([
    ['has another form', () => encryptPayload(config.payloadKeys, { name: 'Ada' }), 'this is no greeting'],
    [
      'is not encrypted',
      async () => ({ to: 'Ada' }),
      'the payload of a job of task greet is not encrypted as the task says',
    ],
  ])('calls no handler with the payload of an encrypted task that %s', async (_what, makeData, message) => {
    const data = await makeData()
    await database.db.transaction().execute((trx) => jobs.insert(trx, 'greet', [{ data }]))
    const job = sql<{ message: string | null }>`
      SELECT output ->> 'message' AS message FROM example_jobs.job WHERE name = 'greet'`
    await expect.poll(async () => (await job.execute(database.db)).rows).toEqual([{ message }])
    expect(greeted).toEqual([])
  })

  it('tries a job again whose attempt has failed', async () => {
    refusals = 1
    await jobs.send(database.db, greet, { to: 'Grace' })
    await expect.poll(() => greeted.at(-1)).toEqual({ payload: { to: 'Grace' }, attempt: 2 })
  })

  it('begins no attempt while the service may not work, and counts none', async () => {
    mayWork = false
    await jobs.send(database.db, once, { to: 'Ada' })
    await jobs.send(database.db, greet, { to: 'Grace' })
    const heldBack = sql<{ name: string }>`
      SELECT name FROM example_jobs.job WHERE state = 'created' AND start_after > created_on ORDER BY name`
    await expect
      .poll(async () => (await heldBack.execute(database.db)).rows)
      .toEqual([{ name: 'greet' }, { name: 'greet_once' }])
    mayWork = true
    await expect.poll(() => greeted).toHaveLength(2)
    expect(greeted.toSorted((one, other) => one.payload.to.localeCompare(other.payload.to))).toEqual([
      { payload: { to: 'Ada' }, attempt: 1 },
      { payload: { to: 'Grace' }, attempt: 1 },
    ])
  })

  it('does not count an attempt that fails while the service may not work', async () => {
    refusals = 1
    whenRefused = () => {
      mayWork = false
    }
    await jobs.send(database.db, once, { to: 'Ada' })
    await expect.poll(() => mayWork).toBe(false)
    mayWork = true
    await expect.poll(() => greeted).toEqual([{ payload: { to: 'Ada' }, attempt: 1 }])
    whenRefused = () => {}
  })

  it('runs a job in this process, and leaves a failed one to the queue', async () => {
    const send = (to: string) => jobs.send(database.db, greet, { to }, { startAfterSeconds: 60 })
    const [own, failed] = [await send('Radia'), await send('Sophie')]
    expect(await jobs.run(greet, own, async () => 'done')).toBe('done')
    await expect(jobs.run(greet, failed, () => Promise.reject(new Error('not now')))).rejects.toThrow('not now')
    await sql`UPDATE example_jobs.job SET start_after = now() WHERE name = 'greet'`.execute(database.db)
    await expect.poll(() => greeted.at(-1)).toEqual({ payload: { to: 'Sophie' }, attempt: 1 })
    expect(greeted.map(({ payload }) => payload.to)).not.toContain('Radia')
  })

  it('keeps the outcome of a job in the queue', async () => {
    const own = await jobs.send(database.db, greet, { to: 'nobody' }, { startAfterSeconds: 60 })
    await jobs.run(greet, own, async () => 'dropped')
    const taken = await jobs.send(database.db, greet, { to: 'Ada' })
    const outcomes = async () =>
      (await sql<object>`SELECT id::text AS id, output FROM example_jobs.job ORDER BY created_on`.execute(database.db))
        .rows
    await expect.poll(outcomes).toEqual([
      { id: own, output: { outcome: 'dropped' } },
      { id: taken, output: { outcome: 'done' } },
    ])
  })

  it('repeats a job that hangs, and not the jobs that were done beside it', async () => {
    const attempts: string[] = []
    await database.db.transaction().execute(async (trx) => {
      await jobs.send(trx, hang, { to: 'Edsger' })
      await jobs.send(trx, hang, { to: 'Barbara' })
    })
    await jobs.work(hang, async ({ to }, { attempt }) => {
      attempts.push(`${to} ${attempt}`)
      return to === 'Edsger' && attempt === 1 ? new Promise(() => {}) : 'done'
    })
    await expect.poll(() => attempts).toContain('Edsger 2')
    expect(attempts.toSorted()).toEqual(['Barbara 1', 'Edsger 1', 'Edsger 2'])
  })

  it('runs the jobs of a killed worker again soon', async () => {
    const id = await jobs.send(database.db, greet, { to: 'Margaret' }, { startAfterSeconds: 3_600 })
    // Create the state that remains after a process was killed shortly after it began the job.
    await sql`
      UPDATE example_jobs.job SET state = 'active', start_after = now(), started_on = now() - interval '11 s',
        heartbeat_on = now() - interval '11 s' WHERE id = ${id}`.execute(database.db)
    await expect.poll(() => greeted.at(-1)?.payload.to, { timeout: 18_000 }).toBe('Margaret')
  })

  it('keeps dead-letter jobs for the operator', async () => {
    await jobs.send(database.db, fail, { to: 'Alan' })
    const list = () => listDeadLetterJobs({ db: database.db, schema: names.jobSchema, tasks })
    await expect.poll(list).toEqual([{ task: 'fail', reason: 'never', count: 1, lastAt: expect.any(Date) }])
    expect(await jobs.retryDeadLetterJobs(fail)).toBe(1)
    expect(await jobs.retryDeadLetterJobs(fail)).toBe(0)
    await expect.poll(list).toEqual([{ task: 'fail', reason: 'never', count: 1, lastAt: expect.any(Date) }])
  })

  it('keeps the notes of all attempts of a job, each beside its outcome', async () => {
    const outputs = async () => {
      const { rows } = await sql<{ output: unknown }>`
        SELECT output FROM example_jobs.job WHERE name = ${noting.name} AND output IS NOT NULL`.execute(database.db)
      return rows.map(({ output }) => output)
    }
    await jobs.work(noting, async ({ to }, { attempt, addNote }) => {
      addNote({ to, attempt })
      if (attempt === 1) throw new Error('not yet')
      return 'done'
    })
    await jobs.send(database.db, noting, { to: 'Ada' })
    await expect.poll(outputs).toEqual([{ message: 'not yet', notes: [{ to: 'Ada', attempt: 1 }] }])
    const notes = [1, 2].map((attempt) => ({ to: 'Ada', attempt }))
    await expect.poll(outputs, { timeout: 60_000 }).toEqual([{ outcome: 'done', notes }])
  })

  it('counts waiting jobs by task and state', async () => {
    await jobs.send(database.db, greet, { to: 'Annie' }, { startAfterSeconds: 3_600 })
    expect(await listWaitingJobs({ db: database.db, schema: names.jobSchema, tasks })).toContainEqual({
      task: 'greet',
      state: 'waiting',
      count: 1,
      oldest: expect.any(Date),
    })
  })

  it('takes back a retry of dead-letter jobs with its transaction', async () => {
    const list = () => listDeadLetterJobs({ db: database.db, schema: names.jobSchema, tasks })
    await jobs.send(database.db, fail, { to: 'Alan' })
    const dead = [{ task: 'fail', reason: 'never', count: 1, lastAt: expect.any(Date) }]
    await expect.poll(list).toEqual(dead)
    const rolledBack = database.db.transaction().execute(async (trx) => {
      expect(await jobs.retryDeadLetterJobs(fail, trx)).toBe(1)
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await list()).toEqual(dead)
  })

  it('measures waiting, due and dead-letter jobs by task', async () => {
    const seen = new Map<string, number>()
    let observe: (() => void | Promise<void>) | undefined
    const meter: Meter = {
      ...createNoopMeter(),
      createObservableGauge: (name) => ({ name, addCallback: () => {}, removeCallback: () => {} }),
      addBatchObservableCallback: (callback) => {
        observe = () =>
          callback({
            observe: (gauge, value, attributes) => seen.set(`${Reflect.get(gauge, 'name')} ${attributes?.task}`, value),
          })
      },
    }
    observeJobs(meter, { db: database.db, schema: names.jobSchema, tasks: [nobody, slow] })
    const look = async () => {
      await observe?.()
      return Object.fromEntries(seen)
    }
    const none = { 'jobs_queued slow': 0, 'jobs_oldest_due_seconds slow': 0, 'jobs_dead slow': 0 }
    const idle = { 'jobs_queued nobody': 0, 'jobs_oldest_due_seconds nobody': 0, 'jobs_dead nobody': 0 }
    expect(await look()).toEqual({ ...none, ...idle })
    await jobs.send(database.db, nobody, { to: 'Grace' }, { startAfterSeconds: 3_600 })
    expect(await look()).toEqual({ ...none, ...idle, 'jobs_queued nobody': 1 })
    const id = await jobs.send(database.db, nobody, { to: 'Hedy' })
    await sql`UPDATE example_jobs.job SET start_after = now() - interval '90 s' WHERE id = ${id}`.execute(database.db)
    await sql`INSERT INTO example_jobs.job (name, data) VALUES ('nobody_dead', '{}')`.execute(database.db)
    expect(await look()).toEqual({
      ...none,
      'jobs_queued nobody': 2,
      'jobs_oldest_due_seconds nobody': expect.closeTo(90, -1),
      'jobs_dead nobody': 1,
    })
  })

  it('reports a worker that cannot fetch jobs, until it can', async () => {
    const stuck = createJobs({ ...config, silentMs: 2_500 })
    onTestFinished(() => stuck.close())
    await expect(stuck.check()).rejects.toThrow('the job worker does not run')
    await stuck.open()
    await stuck.work(slow, async () => 'done')
    await stuck.check()
    const check = () => stuck.check().catch(({ message }: Error) => message)
    await database.db.transaction().execute(async (trx) => {
      await sql`LOCK TABLE ${sql.id(names.jobSchema, 'job')}`.execute(trx)
      await expect.poll(check, { timeout: 60_000 }).toBe('no worker has fetched jobs of slow lately')
    })
    await expect.poll(check, { timeout: 60_000 }).toBeUndefined()
    await stuck.close()
    await expect(stuck.check()).rejects.toThrow('the job worker does not run')
  })

  it('looks for names without a schema in pg_catalog alone', async () => {
    const { boss } = await openQueue(config)
    onTestFinished(() => boss.stop({ graceful: false }))
    expect((await boss.getDb().executeSql('SHOW search_path')).rows).toEqual([{ search_path: 'pg_catalog' }])
  })

  it('changes nothing when it installs again', async () => {
    const install = (db: Kysely<unknown>) => installJobs(db, { url: database.url, schema: names.jobSchema, tasks })
    await expect(withDatabase(database, install)).resolves.toBeUndefined()
  })

  it('replaces the priorities of an older queue when it installs again', async () => {
    const setTurn = sql.id(names.jobSchema, 'set_turn')
    const readSource = async (db: Kysely<unknown>) => {
      const { rows } = await sql`
        SELECT prosrc FROM pg_proc WHERE oid = ${`${names.jobSchema}.set_turn()`}::regprocedure`.execute(db)
      return rows
    }
    const [before, after] = await withDatabase(database, async (db) => {
      const source = await readSource(db)
      await sql`
        CREATE OR REPLACE FUNCTION ${setTurn}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`.execute(db)
      await installJobs(db, { url: database.url, schema: names.jobSchema, tasks })
      return [source, await readSource(db)]
    })
    expect(before).toHaveLength(1)
    expect(after).toEqual(before)
  })
})
