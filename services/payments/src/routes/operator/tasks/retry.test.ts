import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../../../test/audit.ts'
import { expectBody, refusals, statusAndBody } from '../../../../test/bodies.ts'
import { actorOf, operatorHeaders, storedKey, testOperators } from '../../../../test/operators.ts'
import { startPayments, type TestPayments } from '../../../../test/payments-app.ts'

let payments: TestPayments
beforeAll(async () => {
  // A repeated request waits for the first request.
  payments = await startPayments({ operators: testOperators, lockTimeoutMs: 30_000 })
  await payments.deps.jobs.open()
})
afterAll(async () => {
  await payments.deps.jobs.close()
  await payments.close()
})

const jobs = () => sql.id(payments.deps.names.jobSchema, 'job')
beforeEach(() => sql`DELETE FROM ${jobs()}`.execute(payments.database.db))

const addDeadJobs = (task: string, count: number) =>
  sql`
  INSERT INTO ${jobs()} (name, source_name, data)
  SELECT ${`${task}_dead`}, ${task}, '{}' FROM generate_series(1, ${count}::int)`.execute(payments.database.db)
const queues = async () => {
  const { rows } = await sql<{ name: string; count: number }>`
    SELECT name, count(*)::int AS count FROM ${jobs()} GROUP BY 1 ORDER BY 1`.execute(payments.database.db)
  return rows
}
const retry = (task: string, key: string = randomUUID()) =>
  payments.app.inject({
    method: 'POST',
    url: `/operator/tasks/${task}/retry`,
    headers: { ...operatorHeaders('admin'), 'idempotency-key': key },
  })

describe('POST /operator/tasks/:task/retry', () => {
  it('201: puts the dead-letter jobs of one task back, and records who did it', async () => {
    await addDeadJobs('payout', 3)
    await addDeadJobs('clean_up', 1)
    expect(statusAndBody(await retry('payout', 'first'))).toEqual([201, { retried: 3 }])
    expect(await queues()).toEqual([
      { name: 'clean_up_dead', count: 1 },
      { name: 'payout', count: 3 },
    ])
    const { id, email } = actorOf('admin')
    expect(await lastAudit(payments)).toEqual(
      operatorAudit('operator.tasks.retry', {
        action: 'tasks.retry',
        actor: { id, email },
        key: 'desk-admin',
        role: 'admin',
        address: '127.0.0.1',
        object: { kind: 'task', id: 'payout' },
        idempotencyKey: storedKey('first'),
        changes: { retried: 3 },
      }),
    )
  })

  it('201: a double click puts them back once', async () => {
    await addDeadJobs('payout', 2)
    const key = randomUUID()
    const answers = await Promise.all([1, 2, 3].map(() => retry('payout', key)))
    expect(answers.map(statusAndBody)).toEqual([1, 2, 3].map(() => [201, { retried: 2 }]))
    expect(await queues()).toEqual([{ name: 'payout', count: 2 }])
  })

  it('201: two operators at once put each job back once', async () => {
    await addDeadJobs('payout', 4)
    const answers = await Promise.all([1, 2].map(() => retry('payout')))
    const counts: readonly number[] = answers.map((answer) => expectBody(201, answer).retried)
    expect([counts.reduce((sum, count) => sum + count, 0), await queues()]).toEqual([4, [{ name: 'payout', count: 4 }]])
  })

  it('404: refuses an unknown task', async () => {
    expect(statusAndBody(await retry('none'))).toEqual(refusals.notFound)
  })
})
