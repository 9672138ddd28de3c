import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import pg from 'pg'
import { expect, it } from 'vitest'
import { adopt, prepare, type Restored, restore } from '../../test/adoption/adopted-app.ts'
import { openImporting } from '../../test/adoption/imported-app.ts'
import { runSql } from '../../test/adoption/restored-database.ts'
import { migrateOptions } from '../migrations.ts'

/** Possible grants of an installation on future tables. They have no effect while row level security hides the rows. */
const GRANTS = `
  GRANT USAGE ON SCHEMA auth TO anon;
  ALTER DEFAULT PRIVILEGES FOR ROLE supabase_auth_admin IN SCHEMA auth GRANT ALL ON TABLES TO anon`
const TOKEN = `
  INSERT INTO auth.one_time_tokens (user_id, kind, relates_to, link_hash, expires_at)
  SELECT $1, 'recovery', $2, sha256('aaaa'), now() + interval '1 hour'`

/** The same grants on all future schemas. */
const WIDE_GRANTS = `
  ALTER DEFAULT PRIVILEGES FOR ROLE OWNER GRANT ALL ON TABLES TO anon;
  ALTER DEFAULT PRIVILEGES FOR ROLE OWNER GRANT USAGE ON SCHEMAS TO anon;
  ALTER DEFAULT PRIVILEGES FOR ROLE OWNER GRANT USAGE ON SCHEMAS TO PUBLIC`

/** The schemas that a role of PostgREST may use, except the schema of the tables. */
async function listReached(url: string): Promise<readonly unknown[]> {
  return runSql(
    url,
    `SELECT nspname AS name FROM pg_namespace WHERE nspname ~ '^auth_' AND has_schema_privilege('anon', oid, 'USAGE')`,
  )
}

/** Runs a statement as a role of PostgREST. @returns the rows or the error */
async function runAsAnon({ database }: Restored, statement: string, values: readonly unknown[] = []) {
  const client = new pg.Client({ connectionString: database.superuserUrl })
  await client.connect()
  try {
    await client.query('SET ROLE anon')
    return (await client.query<Record<string, unknown>>(statement, [...values])).rows
  } catch (error) {
    return String(error)
  } finally {
    await client.end()
  }
}

/** The tables and views that a role of PostgREST may read and of which it sees at least one row. */
async function listSeen(restored: Restored): Promise<readonly string[]> {
  const tables = await runSql<{ name: string }>(
    restored.database.superuserUrl,
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'auth'::regnamespace AND relkind IN ('r', 'p', 'v')
       AND has_table_privilege('anon', oid, 'SELECT') ORDER BY 1`,
  )
  const seen: string[] = []
  for (const { name } of tables) {
    const rows = await runAsAnon(restored, `SELECT FROM auth."${name}" LIMIT 1`)
    if (typeof rows !== 'string' && rows.length > 0) seen.push(name)
  }
  return seen
}

it('a role of PostgREST reads and writes no table of this service that default privileges have granted to it', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl, manifest } = restored.database
  const [user] = manifest.users
  await runSql(superuserUrl, GRANTS)
  await adopt(restored)
  expect(
    await runSql(superuserUrl, "SELECT has_table_privilege('anon', 'auth.one_time_tokens', 'INSERT') AS granted"),
  ).toEqual([{ granted: true }])
  await runSql(superuserUrl, "INSERT INTO auth.rate_limits (key, points) VALUES ('sign-in', 30)")
  expect(await listSeen(restored)).toEqual([])
  expect(await runAsAnon(restored, 'DELETE FROM auth.rate_limits RETURNING key')).toEqual([])
  expect(await runAsAnon(restored, TOKEN, [user?.id, user?.email])).toBe(
    'error: new row violates row-level security policy for table "one_time_tokens"',
  )
})

it('a table that a later release makes in an adopted database is hidden too', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, GRANTS)
  await adopt(restored)
  // Simulates a table that a later migration has just created.
  await runSql(superuserUrl, 'ALTER TABLE auth.audit_log_entries DISABLE ROW LEVEL SECURITY')
  expect(await listSeen(restored)).toEqual(['audit_log_entries'])
  await migrateUp(migrateOptions(restored.deps.config))
  expect(await listSeen(restored)).toEqual([])
})

it('a role of PostgREST makes no trigger of a function of this service that default privileges have granted to it', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(
    superuserUrl,
    `GRANT USAGE ON SCHEMA auth TO anon;
     ALTER DEFAULT PRIVILEGES FOR ROLE supabase_auth_admin IN SCHEMA auth GRANT ALL ON FUNCTIONS TO anon WITH GRANT OPTION`,
  )
  const tryTriggers = async () => {
    const errors: unknown[] = []
    for (const name of ['list_user', 'claim_user']) {
      const trigger = `CREATE TRIGGER t BEFORE UPDATE ON mine FOR EACH ROW EXECUTE FUNCTION auth.${name}()`
      errors.push(await runAsAnon(restored, `CREATE TEMP TABLE mine (id uuid); ${trigger}`))
    }
    return errors
  }
  const refused = ['list_user', 'claim_user'].map((name) => `error: permission denied for function auth.${name}`)
  await prepare(restored)
  expect(await tryTriggers()).toEqual(refused)
  await adopt(restored)
  expect(await tryTriggers()).toEqual(refused)
  await runSql(
    superuserUrl,
    `GRANT EXECUTE ON FUNCTION auth.list_user() TO PUBLIC; GRANT EXECUTE ON FUNCTION auth.claim_user() TO anon`,
  )
  await migrateUp(migrateOptions(restored.deps.config))
  expect(await tryTriggers()).toEqual(refused)
})

it('a role of PostgREST reaches no table in the schemas of an adoption, an import or the job queue, whatever default privileges the owner has', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, WIDE_GRANTS.replaceAll('OWNER', 'supabase_auth_admin'))
  await adopt(restored)
  expect(await listReached(superuserUrl)).toEqual([])
  // Default privileges have granted the tables, but the role cannot use them without a right on the schema.
  expect(
    await runSql(superuserUrl, "SELECT has_table_privilege('anon', 'auth_jobs.job', 'INSERT') AS granted"),
  ).toEqual([{ granted: true }])
  const app = await openImporting('v2.196.0')
  await runSql(app.database.directUrl, WIDE_GRANTS.replaceAll('OWNER', 'CURRENT_USER'))
  await app.run()
  expect(await listReached(app.database.directUrl)).toEqual([])
})
