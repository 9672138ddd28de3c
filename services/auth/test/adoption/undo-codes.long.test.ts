import { expect, it } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { forge, hmac } from '../forged-token.ts'
import { type AdoptedApp, adopt, openAdopted, type Restored, restore } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

interface Act {
  readonly method: 'POST' | 'PUT'
  readonly url: string
  readonly payload: object
}

async function asAdmin({ app, restored }: AdoptedApp, act: Act): Promise<void> {
  const token = forge({ alg: 'HS256' }, { role: 'service_role' }, hmac(restored.database.manifest.jwt_secret))
  const answer = await app.inject({ ...act, headers: { authorization: `Bearer ${token}` } })
  expect(answer.statusCode).toBe(200)
}

/** The open codes of supabase/auth, by the names of users and columns. */
async function readCodes({ database }: Restored): Promise<readonly string[]> {
  const rows = await runSql<{ code: string }>(
    database.superuserUrl,
    `SELECT concat_ws(' ', split_part(email, '.', 1), c.name) AS code FROM auth.users CROSS JOIN LATERAL (VALUES
       ('confirmation_token', confirmation_token), ('recovery_token', recovery_token),
       ('email_change_token_new', email_change_token_new), ('email_change_token_current', email_change_token_current)) c (name, token)
     WHERE c.token <> ''
     UNION ALL SELECT concat_ws(' ', split_part(u.email, '.', 1), t.token_type, 'of its table')
       FROM auth.one_time_tokens t JOIN auth.users u ON u.id = t.user_id ORDER BY 1`,
  )
  return rows.map(({ code }) => code)
}

const userOf = (app: AdoptedApp, name: string) => app.user(name) ?? expect.fail(name)
const change = (name: string, payload: object) => (app: AdoptedApp) =>
  asAdmin(app, { method: 'PUT', url: `/admin/users/${userOf(app, name).id}`, payload })
const mail = (name: string, type: string) => (app: AdoptedApp) =>
  asAdmin(app, { method: 'POST', url: '/admin/generate_link', payload: { type, email: userOf(app, name).email } })

const NOTHING = 'SELECT'
const EXPIRED = `UPDATE auth.users SET recovery_sent_at = recovery_sent_at - interval '3 days'`

it.each([
  ['a user whom an admin has confirmed', NOTHING, change('unconfirmed', { email_confirm: true }), 'unconfirmed'],
  ['a user who has another address', NOTHING, change('recovering', { email: 'other@example.com' }), 'recovering'],
  ['a user who was mailed another', NOTHING, mail('recovering', 'recovery'), 'recovering'],
  [
    'a user who has another password, where it had expired',
    EXPIRED,
    change('recovering', { password: 'x9-Horse of mine' }),
    'recovering',
  ],
  ['a user who was mailed another after it had expired', EXPIRED, mail('recovering', 'recovery'), 'recovering'],
] as const)('adopt --undo gives no code back of %s', async (_user, before, act, ended) => {
  const restored = await restore('v2.196.0')
  await runSql(restored.database.superuserUrl, before)
  const codes = await readCodes(restored)
  await adopt(restored)
  const app = await openAdopted(restored)
  await act(app)
  await undoAdoption(restored.deps, async () => true)
  expect(await readCodes(restored)).toEqual(codes.filter((code) => !code.startsWith(ended)))
})

it('adopt --undo gives expired codes back as they were, where nothing was mailed since', async () => {
  const restored = await restore('v2.196.0')
  await runSql(restored.database.superuserUrl, EXPIRED)
  const codes = await readCodes(restored)
  await adopt(restored)
  await undoAdoption(restored.deps, async () => true)
  expect(await readCodes(restored)).toEqual(codes)
})
