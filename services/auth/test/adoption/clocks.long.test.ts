import { expect, it } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { openAdopted, type Restored, restoreAdopted } from './adopted-app.ts'
import { runSql, type Version } from './restored-database.ts'

/** Simulates a database clock that was set back by a day right after the switch. */
async function setClockBack({ database }: Restored): Promise<void> {
  await runSql(
    database.superuserUrl,
    `UPDATE auth_before_trestle.adoption SET switched_at = switched_at + interval '1 day'`,
  )
}

const undo = ({ deps }: Restored) => undoAdoption(deps, async () => true)

it.each<Version>(['v2.196.0', 'v2.196.0-encrypted'])(
  'a spent refresh token of %s fetches nothing after adopt --undo, though the clock was set back after the switch',
  async (version) => {
    const restored = await restoreAdopted(version)
    await setClockBack(restored)
    const app = await openAdopted(restored)
    const [used] = app.user('plain')?.sessions ?? []
    const refreshed = await app.post('/token?grant_type=refresh_token', { refresh_token: used?.refresh_token })
    expect(refreshed.statusCode).toBe(200)
    await app.close()
    const url = restored.database.superuserUrl
    const read = async () => {
      const [row] = await runSql<{ counter: string | null; tokens: string }>(
        url,
        `SELECT s.refresh_token_counter AS counter,
           (SELECT count(*) FROM auth.refresh_tokens t WHERE t.session_id = s.id AND NOT t.revoked) AS tokens
         FROM auth.sessions s WHERE id = '${used?.session_id}'`,
      )
      return row
    }
    const before = (await read())?.counter
    const ended: number[] = []
    await undoAdoption(restored.deps, async ({ sessions }) => ended.push(sessions.ended) > 0)
    expect(ended).toEqual([1])
    const isForm2 = version === 'v2.196.0-encrypted'
    expect(await read()).toEqual({ counter: isForm2 ? `${Number(before) + 2}` : null, tokens: '0' })
  },
)

it('adopt --undo gives back the entries of the audit log that were made while the clock was behind', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const url = restored.database.superuserUrl
  const count = async (table: string) => {
    const [row] = await runSql<{ count: number }>(url, `SELECT count(*)::int AS count FROM ${table}`)
    return row?.count ?? 0
  }
  const before = await count('auth.audit_log_entries')
  await setClockBack(restored)
  await runSql(
    url,
    `INSERT INTO auth.audit_log_entries (id, action, log_type, ip_address, created_at, payload)
       VALUES (gen_random_uuid(), 'login', 'account', '192.0.2.1', now(), '{"action": "login"}')`,
  )
  await undo(restored)
  expect(await count('auth.audit_log_entries')).toBe(before + 1)
})
