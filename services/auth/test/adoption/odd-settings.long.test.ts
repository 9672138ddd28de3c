import { expect, it } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { adopt, openAdopted, prepare, type Restored, restore, restoreAdopted } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

/** Sets a default of a database, as an administrator may do for all programs. */
async function setDefault({ database: { superuserUrl } }: Restored, setting: string): Promise<void> {
  await runSql(superuserUrl, `ALTER DATABASE ${new URL(superuserUrl).pathname.slice(1)} SET ${setting}`)
}

it.each(['German', 'SQL, DMY', 'Postgres'])(
  'knows that it has switched, and undoes all of it, where times have the form %s',
  async (style) => {
    const restored = await restore('v2.196.0')
    await setDefault(restored, `DateStyle TO '${style}'`)
    expect((await adopt(restored)).switchMs).toBeGreaterThan(0)
    expect((await adopt(restored)).switchMs).toBeUndefined()
    const app = await openAdopted(restored)
    const [session] = app.user('plain')?.sessions ?? []
    const refreshed = await app.post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token })
    const year = restored.database.manifest.made.slice(0, 4)
    expect(refreshed.json().user.email_confirmed_at.slice(0, 4)).toBe(year)
    await app.close()
    const costs: unknown[] = []
    expect(await undoAdoption(restored.deps, async (each) => costs.push(each) > 0)).toBe(true)
    expect(costs).toEqual([
      {
        hasSwitched: true,
        sessions: { all: 27, ended: 1 },
        passwords: 0,
        providers: [],
        factors: { phones: 0, keys: 0, bareUsers: 0 },
        passkeys: 0,
        recoveryCodes: 0,
        spoilt: [],
        operators: 0,
        phoneValueKeptBy: [],
      },
    ])
  },
)

it('names an index of others before undo drops it, where PostgreSQL quotes all names', async () => {
  const restored = await restoreAdopted('v2.196.0')
  await setDefault(restored, 'quote_all_identifiers = on')
  await runSql(restored.database.superuserUrl, 'CREATE INDEX mine ON auth.refresh_tokens (created_at)')
  await expect(undoAdoption(restored.deps, async () => true)).rejects.toThrow(
    new Error(
      'nothing changed: drop or revoke first what was added to the tables of this service, and would be lost with them\nindex auth.mine of table refresh_tokens',
    ),
  )
})

it('keeps backslashes as they are where a backslash begins an escape in texts', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const id = '11111111-1111-4111-8111-111111111111'
  // A backslash next to an escape that `jsonb` rejects.
  const payload = String.raw`{"action":"C:\\new","traits":{"refused":"\\u0000\u0000"}}`
  await runSql(
    superuserUrl,
    `INSERT INTO auth.audit_log_entries (id, payload, ip_address) VALUES ('${id}', $text$${payload}$text$, '')`,
  )
  const metadata = String.raw`{"path":"C:\\new"}`
  await runSql(superuserUrl, `UPDATE auth.users SET raw_user_meta_data = $text$${metadata}$text$`)
  await setDefault(restored, 'standard_conforming_strings = off')
  expect((await adopt(restored)).switchMs).toBeGreaterThan(0)
  expect([
    await runSql(superuserUrl, `SELECT payload, action FROM auth.audit_log_entries WHERE id = '${id}'`),
    await runSql(superuserUrl, 'SELECT DISTINCT raw_user_meta_data FROM auth.users'),
  ]).toEqual([
    [{ payload: { action: 'C:\\new', traits: { refused: '\\u0000\ufffd' } }, action: 'C:\\new' }],
    [{ raw_user_meta_data: { path: 'C:\\new' } }],
  ])
})

it('prepares where the owner of the tables has a time limit for statements', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const role = `ALTER ROLE supabase_auth_admin IN DATABASE ${new URL(superuserUrl).pathname.slice(1)}`
  await runSql(superuserUrl, `${role} SET statement_timeout = '1ms'`)
  expect(await prepare(restored)).toBe(true)
})
