import { createNames } from '@trestle/database/names.ts'
import { createQueueDatabase } from '@trestle/testing/queue-database.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listJobs } from './list-jobs.ts'
import { defineTask } from './task.ts'

const JOBS = 150
const LISTED = 100
/** The number of pieces in which PostgreSQL stores the output of a job. */
const PIECES = 3

const nobody = defineTask<object>('nobody', {
  retryLimit: 1,
  firstDelaySeconds: 600,
  delaySecondsMax: 600,
  timeoutSeconds: 30,
})
const names = createNames('listing')
const database = await createQueueDatabase({ names, tasks: [nobody] })
const jobs = sql.id(names.jobSchema, 'job_common')

beforeAll(async () => {
  const noted = sql`jsonb_build_object('message', 'answered ' || i, 'notes',
    (SELECT string_agg(md5((i * 1000 + n)::text), '') FROM generate_series(1, 130) n))`
  await sql`
    INSERT INTO ${jobs} (name, state, created_on, output)
    SELECT 'nobody', 'retry', now() - i * interval '1 s', ${noted} FROM generate_series(1, ${JOBS}::int) i`.execute(
    database.db,
  )
})
afterAll(() => database.drop())

describe('listJobs', () => {
  it('lists the newest jobs, and reads of no other what it has left behind', async () => {
    const { listed, pieces } = await database.db.transaction().execute(async (trx) => {
      const waiting = await listJobs({ db: trx, schema: names.jobSchema, tasks: [nobody] }, 'waiting')
      const { rows } = await sql<{ pieces: number }>`
        SELECT coalesce(idx_tup_fetch, 0)::int AS pieces FROM pg_stat_xact_all_tables
        WHERE relid = (SELECT reltoastrelid FROM pg_class WHERE oid = ${`${names.jobSchema}.job_common`}::regclass)`.execute(
        trx,
      )
      return { listed: waiting, pieces: rows[0]?.pieces }
    })
    expect(listed.map(({ error }) => error)).toEqual(Array.from({ length: LISTED }, (_, i) => `answered ${i + 1}`))
    expect(pieces).toBe(LISTED * PIECES)
  })
})
