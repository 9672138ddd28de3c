import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusedField, statusAndBody } from '../../../test/bodies.ts'
import { operatorHeaders, testOperators } from '../../../test/operators.ts'
import { startPayments, type TestPayments } from '../../../test/payments-app.ts'
import { tasks } from '../../migrations.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
})
afterAll(() => payments.close())

const get = (query = '') => payments.app.inject({ url: `/operator/tasks?${query}`, headers: operatorHeaders('viewer') })

/** Adds a job in a state that a worker may leave. Returns its id. */
async function addJob(name: string, columns: Readonly<Record<string, string | number>>): Promise<string> {
  const id = randomUUID()
  const row = { id, name, data: '{"secret":"s3cret"}', ...columns }
  const table = sql.id(payments.deps.names.jobSchema, 'job')
  await sql`
    INSERT INTO ${table} (${sql.join(Object.keys(row).map(sql.ref))}) VALUES (${sql.join(Object.values(row))})`.execute(
    payments.database.db,
  )
  return id
}

const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 12, minute)).toISOString()

describe('GET /operator/tasks', () => {
  let ids: readonly string[]
  const original = randomUUID()
  beforeAll(async () => {
    const failed = { source_name: 'payout', source_created_on: at(0), source_retry_count: 12 }
    ids = [
      await addJob('payout', { state: 'created', created_on: at(1) }),
      await addJob('clean_up', {
        ...{ state: 'retry', created_on: at(2), started_on: at(2), retry_count: 1 },
        output: '{"message":"no room"}',
      }),
      await addJob('payout', { state: 'active', created_on: at(3), started_on: at(3) }),
      await addJob('payout_dead', { ...failed, created_on: at(4), source_output: '{"message":"no bank"}' }),
      await addJob('payout_dead', { ...failed, created_on: at(5), source_root_id: original }),
      await addJob('payout', { state: 'completed', created_on: at(6) }),
      await addJob('payout', { state: 'failed', created_on: at(7) }),
    ]
  })

  it('200: counts the jobs of each task, and lists dead ones, newest first, without payloads', async () => {
    const counts = {
      clean_up: { waiting: 1, running: 0, failed: 0 },
      payout: { waiting: 1, running: 1, failed: 2 },
    }
    const none = { waiting: 0, running: 0, failed: 0 }
    const job = { task: 'payout', created: at(0), attempts: 13 }
    const answer = await get()
    expect(statusAndBody(answer)).toEqual([
      200,
      {
        tasks: tasks.map(({ name }) => ({ name, ...none, ...new Map(Object.entries(counts)).get(name) })),
        jobs: [
          { id: original, ...job },
          { id: ids[3], ...job, error: 'no bank' },
        ],
      },
    ])
    expect(answer.body).not.toContain('s3cret')
  })

  it('200: lists the jobs that wait', async () => {
    expect(expectBody(200, await get('state=waiting')).jobs).toEqual([
      { id: ids[1], task: 'clean_up', created: at(2), attempts: 2, error: 'no room' },
      { id: ids[0], task: 'payout', created: at(1), attempts: 0 },
    ])
  })

  it('200: lists the jobs that run', async () => {
    expect(expectBody(200, await get('state=running')).jobs).toEqual([
      { id: ids[2], task: 'payout', created: at(3), attempts: 1 },
    ])
  })

  it('400: refuses an unknown state', async () => {
    expect(statusAndBody(await get('state=done'))).toEqual(refusedField('state', 'is not valid', 'FORMAT'))
  })
})
