import { createNames } from '@trestle/database/names.ts'
import { anyTime } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../test/audit.ts'
import { deletedRows } from '../../test/bodies.ts'
import { operatorDeps, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { cleanUpCommand, tasksCommand } from './tasks.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const { run } = commandRunner([tasksCommand, cleanUpCommand], () => operatorDeps(payments))

describe('payments tasks', () => {
  const { jobSchema } = createNames('payments')
  /** Inserts a job in the state in which a worker leaves it. */
  const addJob = async (name: string, state: string, message = 'no room') => {
    await sql`
      INSERT INTO ${sql.id(jobSchema, 'job')} (name, state, source_name, source_output, data)
      VALUES (${name}, ${state}, 'clean_up', ${JSON.stringify({ message })}::jsonb, '{}')`.execute(payments.database.db)
  }

  beforeEach(() => sql`DELETE FROM ${sql.id(jobSchema, 'job')}`.execute(payments.database.db))

  const list = async () => JSON.parse((await run('tasks', 'list', '--json'))[0] ?? '')
  const retrying = { task: 'clean_up', state: 'retry', count: 1, oldest: expect.any(String) }
  const addOfEach = async () => {
    await addJob('clean_up', 'retry')
    await addJob('clean_up_dead', 'created')
  }

  it('list: counts waiting and dead-letter jobs', async () => {
    await addOfEach()
    const dead = { task: 'clean_up', state: 'dead', count: 1, last: expect.any(String), reason: 'no room' }
    expect(await list()).toEqual([retrying, dead])
  })

  it('retry: puts dead-letter jobs back', async () => {
    await addOfEach()
    expect(await run('tasks', 'retry', 'clean_up')).toEqual(['task     clean_up', 'retried  1'])
    expect(await lastAudit(payments)).toEqual(operatorAudit('tasks.retried', { task: 'clean_up', retried: 1 }))
    expect(await list()).toEqual([retrying, { ...retrying, state: 'waiting' }])
  })

  it('retry: refuses an unknown task, and names all of them', async () => {
    await expect(run('tasks', 'retry', 'none')).rejects.toHaveProperty(
      'message',
      'there is no task none; there are acquirer, acquirer_events, confirmation, rejection_mail, expiry, inquiry, invitation_mail, clean_up, webhook_delivery, payout, payout_run, simulated_dispute, snapshot',
    )
  })

  it('list: escapes control characters in texts of jobs', async () => {
    const message = '\u001b]0;title\u0007 \u009b31m \u202egpj'
    await addJob('clean_up_dead', 'created', message)
    const [text, json] = [await run('tasks', 'list'), await run('tasks', 'list', '--json')]
    expect(text.join()).toContain(String.raw`\u{1b}]0;title\u{7} \u{9b}31m \u{202e}gpj`)
    expect([...text, ...json].join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(JSON.parse(json[0] ?? '')).toEqual([
      { task: 'clean_up', state: 'dead', count: 1, last: anyTime, reason: message },
    ])
  })
})

describe('the command that deletes old rows', () => {
  it('prints how many rows it has deleted', async () => {
    const [line = ''] = await run('prune', '--json')
    expect(JSON.parse(line)).toEqual(deletedRows({ idempotency: 0, events: 0 }))
  })
})
