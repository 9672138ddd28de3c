import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { anyId, anyTime, confirmedBody, unconfirmedBody } from '../../test/bodies.ts'
import { expectSession, expectUser } from '../../test/expect-user.ts'
import { openMailApp } from '../../test/mail-app.ts'

const app = await openMailApp()
afterAll(() => app.close())

describe('a mail server that is away', () => {
  // ASVS 16.5.2
  it('does not fail or delay a signup, whose mail is sent after the outage', async () => {
    app.refuseMails()
    // The signup is answered while no mail can be sent, so it does not wait for its mail.
    const answer = await app.post('/signup', { email: 'ada@example.com', password: 'correct horse' })
    expectUser(answer, unconfirmedBody('ada@example.com'))
    // Other tests of this file have sent mails of their own.
    const attempts = async () => {
      const query = sql`SELECT state::text, retry_count FROM auth_jobs.job WHERE name = 'mail' AND state <> 'completed'`
      return (await query.execute(app.deps.db)).rows
    }
    await expect.poll(attempts).toEqual([{ state: 'retry', retry_count: 0 }])
    app.takeMails()
    // The next attempt is due in seconds; a test need not wait for it.
    await sql`UPDATE auth_jobs.job SET start_after = now()`.execute(app.deps.db)
    const { token } = await app.readMail('ada@example.com')
    expectSession(
      await app.post('/verify', { type: 'signup', token_hash: token }),
      confirmedBody(anyId, 'ada@example.com', { confirmation_sent_at: anyTime }),
      { type: 'signup' },
    )
  })

  it('leaves no link and no code in the queue', async () => {
    await app.post('/signup', { email: 'grace@example.com', password: 'correct horse' })
    const { token, code } = await app.readMail('grace@example.com')
    const { rows } = await sql`SELECT data FROM auth_jobs.job`.execute(app.deps.db)
    const text = JSON.stringify(rows)
    for (const secret of [token, code, 'grace@example.com']) expect(text).not.toContain(secret)
  })
})
