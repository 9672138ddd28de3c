import { randomUUID } from 'node:crypto'
import { createMetrics } from '@trestle/common/telemetry/metrics.ts'
import { listDeadLetterJobs } from '@trestle/jobs/list-jobs.ts'
import { observeJobs } from '@trestle/jobs/observe-jobs.ts'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { mailTask, queueMail } from '../src/messages/mail-job.ts'
import { smsTask } from '../src/messages/sms-job.ts'
import { tasks } from '../src/migrations.ts'
import { errorBody, statusAndBody } from './bodies.ts'
import { openMailApp } from './mail-app.ts'

const metrics = await createMetrics({ enabled: true, exporter: 'prometheus', host: '127.0.0.1', port: 0, resource: {} })
const port = await metrics.listen()
// The limit refuses every request. Messages that a test queues directly are not counted.
const app = await openMailApp({ AUTH_RATE_LIMIT_EMAIL_SENT: '0' }, metrics)
const { db, names } = app.deps
const dead = { db, schema: names.jobSchema, tasks }
observeJobs(metrics.meter, dead)
afterAll(async () => {
  await app.close()
  await metrics.close()
})

/** Returns the lines of some metrics, as Prometheus reads them. */
async function read(...prefixes: readonly string[]): Promise<readonly string[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return text.split('\n').filter((line) => prefixes.some((prefix) => line.startsWith(prefix)))
}

/** Makes the next attempt the last one, instead of a day of attempts. @returns the number of changed jobs */
async function makeNextTheLast(): Promise<bigint | undefined> {
  const query = sql`UPDATE auth_jobs.job SET start_after = now(), retry_limit = retry_count + 1 WHERE state = 'retry'`
  return (await query.execute(db)).numAffectedRows
}

const mail = {
  kind: 'REAUTHENTICATION',
  to: 'ada@example.com',
  userId: randomUUID(),
  variables: { Token: '123456' },
} as const

describe('the metrics of messages', () => {
  it('count messages that were sent, late, refused, tried again and dropped', async () => {
    await queueMail(db, app.deps, { ...mail, expiresAt: null })
    await app.readMail('ada@example.com')
    await queueMail(db, app.deps, { ...mail, expiresAt: app.clock.now().toISOString() })
    const counts = (done: number, retry: number, dead: number) =>
      Object.entries({ done, dropped: 0, retry, dead }).map(
        ([outcome, count]) => `jobs_total{task="mail",outcome="${outcome}"} ${count}`,
      )
    await expect.poll(() => read('jobs_total{task="mail"')).toEqual(counts(1, 0, 1))
    app.refuseMails()
    await queueMail(db, app.deps, { ...mail, expiresAt: null })
    await expect.poll(makeNextTheLast).toBe(1n)
    await expect.poll(() => read('jobs_dead')).toContain('jobs_dead{task="mail"} 2')
    expect(await read('jobs_total{task="mail"')).toEqual(counts(1, 1, 2))
    expect((await read('auth_email_send')).filter((line) => !line.endsWith(' 0'))).toEqual([
      'auth_email_send_operations_total{type="REAUTHENTICATION"} 3',
      'auth_email_send_errors_total{type="REAUTHENTICATION"} 2',
    ])
    expect(await read(`jobs_dead{task="${smsTask.name}"`)).toEqual(['jobs_dead{task="sms"} 0'])
    expect(await read('jobs_queued{task="mail"', 'jobs_oldest_due_seconds{task="mail"')).toEqual([
      'jobs_queued{task="mail"} 0',
      'jobs_oldest_due_seconds{task="mail"} 0',
    ])
    const [one, other] = ['SMTP EMESSAGE 451', 'its link has expired'].map((reason) => ({
      ...{ task: mailTask.name, reason, count: 1, lastAt: expect.any(Date) },
    }))
    expect(new Set(await listDeadLetterJobs(dead))).toEqual(new Set([one, other]))
  })

  it('count the requests that exceed the limit of mails', async () => {
    expect(statusAndBody(await app.post('/signup', { email: 'ada@example.com', password: 'correct horse' }))).toEqual([
      429,
      errorBody(429, 'over_email_send_rate_limit', 'email rate limit exceeded'),
    ])
    expect(await read('auth_email_rate_limit_total')).toEqual(['auth_email_rate_limit_total{path="/signup"} 1'])
  })
})
