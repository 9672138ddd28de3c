import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { OPERATOR } from './forged-token.ts'
import { openMailApp } from './mail-app.ts'

const main = await openMailApp({ AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true', AUTH_RATE_LIMIT_EMAIL_SENT: 'off' })
const { app, deps } = main
afterAll(() => main.close())

const password = 'correct horse'
const LONG = 'n'.repeat(6_000)

/** Returns the length of the longest audit log entry. */
async function longestEntry(): Promise<number> {
  const { rows } = await sql<{ length: number }>`
    SELECT max(length(payload::text)) AS length FROM ${sql.table('audit_log_entries')}`.execute(deps.db)
  return rows[0]?.length ?? 0
}

describe('the data that strangers can add', () => {
  it('an audit entry keeps at most 120 characters of a name', async () => {
    const signUp = { email: 'long@example.com', password, data: { full_name: LONG } }
    await main.post('/signup', signUp)
    await main.post('/signup', signUp)
    const { code } = await main.readMail(signUp.email)
    const { access_token: token } = (
      await main.post('/verify', { type: 'signup', email: signUp.email, token: code })
    ).json()
    const { email } = signUp
    const session = (await main.post('/token?grant_type=password', { email, password })).json()
    await main.post('/token?grant_type=refresh_token', { refresh_token: session.refresh_token })
    const headers = { authorization: `Bearer ${token}` }
    await app.inject({ method: 'PUT', url: '/user', headers, payload: { data: { a: 1 } } })
    await main.post('/logout', {}, headers)
    await main.post('/recover', { email })
    await main.idle()
    const { rows } = await sql<{ action: string; name: string }>`
      SELECT action, payload ->> 'actor_name' AS name FROM ${sql.table('audit_log_entries')}
      WHERE payload ->> 'actor_username' = ${email}`.execute(deps.db)
    expect(new Set(rows.map(({ action }) => action))).toEqual(
      new Set([
        'user_confirmation_requested',
        'user_repeated_signup',
        'user_signedup',
        'login',
        'token_refreshed',
        'token_revoked',
        'user_modified',
        'logout',
        'user_recovery_requested',
      ]),
    )
    expect(new Set(rows.map(({ name }) => name))).toEqual(new Set([LONG.slice(0, 120)]))
    expect(await longestEntry()).toBeLessThan(1_000)
  })

  it('a session keeps 512 characters of a User-Agent', async () => {
    await main.post('/signup', {}, { 'user-agent': 'u'.repeat(8_000) })
    const { rows } = await sql<{ length: number }>`
      SELECT max(length(user_agent)) AS length FROM ${sql.table('sessions')}`.execute(deps.db)
    expect(rows).toEqual([{ length: 512 }])
  })

  it('only users who signed up themselves are cleaned up', async () => {
    await main.post('/signup', { email: 'self@example.com', password })
    const admin = (url: string, payload: object) => main.post(url, payload, OPERATOR)
    await admin('/admin/users', { email: 'admin@example.com' })
    await admin('/invite', { email: 'invited@example.com' })
    await admin('/admin/generate_link', { type: 'signup', email: 'linked@example.com', password })
    const { id } = (await main.post('/signup', { email: 'changed@example.com', password })).json()
    const changed = await deps.db
      .selectFrom('users')
      .select('id')
      .where('email', '=', 'changed@example.com')
      .executeTakeFirstOrThrow()
    expect(changed.id).toBe(id)
    const payload = { app_metadata: { plan: 'a' } }
    await app.inject({ method: 'PUT', url: `/admin/users/${id}`, headers: OPERATOR, payload })
    const users = deps.db
      .selectFrom('users')
      .select('email')
      .where('confirmed_at', 'is', null)
      .where('keep_unconfirmed', '=', false)
      .where('email', 'is not', null)
    expect(await users.execute()).toEqual([{ email: 'self@example.com' }])
  })
})
