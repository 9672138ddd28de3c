import { createNames } from '@trestle/database/names.ts'
import { createQueueDatabase } from '@trestle/testing/queue-database.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createJobs, type Jobs } from './jobs.ts'
import { type AnyTask, defineTask } from './task.ts'

interface Letter {
  readonly to: string
}

const options = { retryLimit: 1, firstDelaySeconds: 600, delaySecondsMax: 600, timeoutSeconds: 30 }
/** A task that no worker handles. */
const nobody = defineTask<Letter>('nobody', options)
/** Tasks whose jobs wait for a long time after a failure. */
const failing = defineTask<Letter>('failing', options)
const stopped = defineTask<Letter>('stopped', options)
const names = createNames('turns')

const database = await createQueueDatabase({ names, tasks: [nobody, failing, stopped] })
let jobs: Jobs

beforeAll(async () => {
  jobs = createJobs(database.config)
  await jobs.open()
})

beforeEach(async () => {
  await sql`DELETE FROM turns_jobs.job`.execute(database.db)
})

afterAll(async () => {
  await jobs.close()
  await database.drop()
})

/** Returns the jobs of a task in the order of their shares, and the end of each share in seconds after the end of the first. */
const readOrder = async (task: AnyTask, state: string) => {
  const { rows } = await sql<{ to: string; seconds: number }>`
    SELECT data ->> 'to' AS "to", max(priority) OVER () - priority AS seconds FROM turns_jobs.job
    WHERE name = ${task.name} AND state::text = ${state} ORDER BY seconds, "to"`.execute(database.db)
  return rows
}
/** Returns the shares of a task's jobs with a group, in order: their lengths, earliest starts and ends. */
const readShares = async (task: AnyTask, state: string) => {
  const { rows } = await sql<{ to: string; place: number; length: number; mayBegin: number; ends: number }>`
    SELECT data ->> 'to' AS "to", row_number() OVER (ORDER BY priority DESC)::int AS place,
      coalesce(group_tier::int, 60) AS length,
      floor(extract(epoch FROM start_after))::int - extract(epoch FROM timestamptz '2026-01-01Z')::int AS "mayBegin",
      -priority AS ends
    FROM turns_jobs.job WHERE name = ${task.name} AND state::text = ${state} ORDER BY place`.execute(database.db)
  return rows
}

describe('fair share', () => {
  it('puts each job behind those of its group that wait as it does', async () => {
    await jobs.work(failing, () => Promise.reject(new Error('not now')))
    // A share begins when the job may be tried again, or when the previous job's share ends.
    const due = async () => (await readShares(failing, 'retry')).toSorted((one, other) => one.ends - other.ends)
    // Jobs that fail at the same time may get the same share, so fail them one after the other.
    for (const failed of [1, 2, 3]) {
      await jobs.send(database.db, failing, { to: 'a' }, { group: 'a' })
      await expect.poll(due).toHaveLength(failed)
    }
    let ends = 0
    for (const share of await due()) {
      expect(share.ends).toBe(Math.max(share.mayBegin, ends) + 60)
      ends = share.ends
    }
    await database.db.transaction().execute(async (trx) => {
      const entries = ['a', 'a', 'b'].map((to) => ({ data: { to }, group: to }))
      await jobs.insert(trx, nobody.name, entries)
      await jobs.send(trx, nobody, { to: 'a' }, { group: 'a' })
      for (const to of ['slow', 'slow']) await jobs.send(trx, nobody, { to }, { group: 'a', shareSeconds: 100 })
      await jobs.insert(trx, nobody.name, [{ data: { to: 'quick' }, group: 'a', shareSeconds: 8 }])
    })
    expect(await readOrder(nobody, 'created')).toEqual([
      { to: 'quick', seconds: 0 },
      { to: 'a', seconds: 52 },
      { to: 'b', seconds: 52 },
      { to: 'slow', seconds: 92 },
      { to: 'a', seconds: 112 },
      { to: 'a', seconds: 172 },
      { to: 'slow', seconds: 192 },
    ])
  })

  it('gives the jobs of a group shares of another length, and leaves long ones and those of others', async () => {
    const send = (to: string, group: string, shareSeconds?: number) =>
      jobs.send(database.db, nobody, { to }, { group, ...(shareSeconds && { shareSeconds: shareSeconds }) })
    for (const to of ['first', 'second']) await send(to, 'a', 8)
    await send('third', 'a')
    await send('replay', 'a', 9_000)
    await send('other', 'b', 8)
    const renew = (shareSeconds: number) =>
      jobs.reprioritize({ task: nobody, group: 'a', shareSeconds: shareSeconds, below: 9_000 })
    const lengths = async () =>
      (await readShares(nobody, 'created')).map(({ to, length, place }) => `${place}. ${to} ${length}`)
    await renew(1_000)
    expect(await lengths()).toEqual([
      '1. other 8',
      '2. first 1000',
      '3. second 1000',
      '4. third 1000',
      '5. replay 9000',
    ])
    await renew(1)
    expect(await lengths()).toEqual(['1. first 1', '2. second 1', '3. third 1', '4. other 8', '5. replay 9000'])
  })

  it('keeps the length of a share for the next attempt of a job that runs', async () => {
    const end = Promise.withResolvers<void>()
    const running: string[] = []
    await jobs.work(stopped, async ({ to }) => {
      running.push(to)
      await end.promise
      throw new Error('not now')
    })
    await jobs.send(database.db, stopped, { to: 'slow' }, { group: 'a', shareSeconds: 8 })
    await expect.poll(() => running).toEqual(['slow'])
    await jobs.reprioritize({ task: stopped, group: 'a', shareSeconds: 1_000, below: 9_000 })
    end.resolve()
    await expect
      .poll(async () =>
        (await readShares(stopped, 'retry')).map(({ length, ends, mayBegin }) => [length, ends - mayBegin]),
      )
      .toEqual([[1_000, 1_000]])
  })
})
