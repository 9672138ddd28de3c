import { expect, it } from 'vitest'
import { adopt, type Restored, restore } from './adopted-app.ts'
import { openBeside } from './imported-app.ts'
import { runSql } from './restored-database.ts'

/** Columns that may contain future times, or that no copy writes. */
const AHEAD = ['banned_until', 'deleted_at', 'not_after', 'expires_at', 'last_challenged_at']
/** The tables that stay, without those of sessions. */
const USERS = ['users', 'identities', 'mfa_factors']
/** The tables with rows that are valid or kept for a limited time. */
const TABLES = ['sessions', 'mfa_amr_claims', 'refresh_tokens', 'flow_state', 'one_time_tokens', 'mfa_challenges']

/** Sets the times of all rows of the old service that are limited in time to the distant future. */
async function moveIntoFuture({ database }: Restored, time: string): Promise<void> {
  const rows = await runSql<{ statement: string }>(
    database.superuserUrl,
    `SELECT format('UPDATE auth.%I SET %I = %L WHERE %2$I IS NOT NULL', table_name, column_name, '${time}') AS statement
       FROM information_schema.columns
       WHERE table_schema = 'auth' AND data_type LIKE 'timestamp%' AND is_generated = 'NEVER'
         AND table_name = ANY ('{${[...TABLES, 'audit_log_entries', ...USERS]}}')
         AND NOT column_name = ANY ('{${AHEAD},verified_at}')`,
  )
  expect(rows.length).toBeGreaterThan(10)
  await runSql(database.superuserUrl, rows.map(({ statement }) => statement).join(';'))
}

/** Lists the columns with times after the current time of the database. */
async function listFuture(url: string, tables: readonly string[]): Promise<readonly string[]> {
  const columns = await runSql<{ table: string; column: string }>(
    url,
    `SELECT table_name AS table, column_name AS column FROM information_schema.columns
       WHERE table_schema = 'auth' AND data_type LIKE 'timestamp%' AND is_generated = 'NEVER'
         AND table_name = ANY ('{${tables}}') AND NOT column_name = ANY ('{${AHEAD}}')`,
  )
  const found: string[] = []
  for (const { table, column } of columns) {
    const rows = await runSql(
      url,
      `SELECT 1 FROM auth.${table} WHERE ${column} > now() AT TIME ZONE 'UTC' + interval '1 day'`,
    )
    if (rows.length > 0) found.push(`${table}.${column}`)
  }
  return found
}

/** Counts the codes with a lifetime of more than a day. */
const LASTING = `SELECT count(*)::int FROM auth.one_time_tokens WHERE expires_at > sent_at + interval '1 day'`

it.each(['2099-01-01 00:00:00Z', 'infinity'])(
  'adopt leaves no user, identity, factor, flow, code, token, session, authentication method, challenge or entry of the audit in the future: %s',
  async (time) => {
    const restored = await restore('v2.196.0')
    const url = restored.database.superuserUrl
    await moveIntoFuture(restored, time)
    await adopt(restored)
    expect(await listFuture(url, [...TABLES, ...USERS, 'audit_log_entries'])).toEqual([])
    expect(await runSql(url, LASTING)).toEqual([{ count: 0 }])
    expect(await runSql(url, 'SELECT count(*) > 0 AS "hasCodes" FROM auth.one_time_tokens')).toEqual([
      { hasCodes: true },
    ])
  },
)

it('an import takes no user, flow, code, token, session, authentication method or entry of the audit log with a time in the future', async () => {
  const restored = await restore('v2.196.0')
  await moveIntoFuture(restored, '2099-01-01 00:00:00Z')
  const app = await openBeside(restored)
  expect((await app.run()).heldBack).toEqual([])
  const url = app.database.directUrl
  expect(await listFuture(url, [...USERS, ...TABLES, 'audit_log_entries'])).toEqual([])
  expect(await runSql(url, LASTING)).toEqual([{ count: 0 }])
  expect(await runSql(url, 'SELECT count(*) > 0 AS "hasSessions" FROM auth.sessions')).toEqual([{ hasSessions: true }])
})
