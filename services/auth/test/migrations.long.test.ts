import { openDatabase } from '@trestle/database/connect.ts'
import { migrateDown, migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createNames } from '@trestle/database/names.ts'
import { findDrift } from '@trestle/database/rehearsal/drift.ts'
import { authMigrations } from '@trestle/migrations/auth.ts'
import { readMade } from '@trestle/testing/migration-cuts.ts'
import { createEmptyDatabase, prepared } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { AuthTables } from '../src/database.ts'
import { serviceFunctions } from '../src/migrations.ts'

const temporary = await createEmptyDatabase()
const options = {
  url: temporary.url,
  names: createNames('auth', 'app'),
  sources: authMigrations,
  functions: serviceFunctions({}),
}
const open = (url: string) =>
  openDatabase<AuthTables>({
    ...options,
    url,
    applicationName: 'test',
    poolSize: 1,
    statementTimeoutMs: 5_000,
    lockTimeoutMs: 5_000,
    prepared,
    onConnectionError: () => {},
  })
const database = open(temporary.url)
const applied = await migrateUp(options)
afterAll(async () => {
  await database.close()
  await temporary.drop()
})

/** Names of supabase/auth's tables, which must not change. */
const UPSTREAM_NAMES = [
  'app_identities_provider_id_provider_unique',
  'app_mfa_amr_claims_session_id_authentication_method_pkey',
  'app_mfa_factors_last_challenged_at_key',
  'app_mfa_factors_user_friendly_name_unique',
  'app_users_email_change_confirm_status_check',
]

const count = Object.keys(authMigrations).length

/** Returns all relations, constraints and functions of the schema. Omits NOT NULLs, which PostgreSQL 18 names itself. */
async function objects({ db } = database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'auth'::regnamespace
    UNION ALL SELECT conname FROM pg_constraint WHERE connamespace = 'auth'::regnamespace AND contype <> 'n'
    UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'auth'::regnamespace`.execute(db)
  return rows.map(({ name }) => name)
}

describe('migrations of auth', () => {
  it('give every object the prefix of DB_NAMESPACE and a name that PostgreSQL does not cut off', async () => {
    expect(applied.migrations).toHaveLength(count)
    const names = await objects()
    expect(names.filter((name) => !name.startsWith('app_'))).toEqual([])
    const tooLong = names.filter((name) => name.length - 'app_'.length > 30 && !name.includes('trestle_migrations'))
    expect([...new Set(tooLong)].sort()).toEqual(UPSTREAM_NAMES)
  })

  // ASVS 6.3.2
  it('leave the table of users empty, so that no default account exists', async () => {
    expect(await database.db.selectFrom('users').selectAll().execute()).toEqual([])
  })

  it('find a user by the index of emails, also with a plan for few rows', async () => {
    const users = sql.table('users')
    await database.db.connection().execute(async (db) => {
      for (const name of ['a', 'b', 'c']) {
        const email = `${name}@example.com`
        await sql`INSERT INTO ${users} (id, email) VALUES (gen_random_uuid(), ${email})`.execute(db)
        await sql`ANALYZE ${users}`.execute(db)
        await sql`SET plan_cache_mode = force_generic_plan`.execute(db)
        await sql`SET enable_seqscan = off`.execute(db)
        await sql`PREPARE found AS SELECT id FROM ${users} WHERE lower(email) = $1 AND NOT is_sso_user`.execute(db)
        const { rows } = await sql`EXPLAIN EXECUTE found('a@example.com')`.execute(db)
        expect(JSON.stringify(rows)).toContain('users_email_lower_key')
        await sql`DEALLOCATE found`.execute(db)
      }
      await sql`DELETE FROM ${users}`.execute(db)
      await sql`RESET ALL`.execute(db)
    })
  })

  it('go down one by one to an empty schema, and up to the same objects', async () => {
    const made = await readMade(options)
    for (let i = 0; i < count; i += 1) await migrateDown(options)
    const left = await objects()
    expect(left.filter((name) => !name.includes('trestle_migrations'))).toEqual([])
    expect((await migrateUp(options)).migrations).toHaveLength(count)
    expect(await readMade(options)).toEqual(made)
  })

  it('run once when several processes start together', async () => {
    for (let i = 0; i < count; i += 1) await migrateDown(options)
    const runs = await Promise.all([migrateUp(options), migrateUp(options), migrateUp(options)])
    expect(runs.map(({ migrations }) => migrations.length).sort((a, b) => a - b)).toEqual([0, 0, count])
  })

  it('create every object under the longest DB_NAMESPACE', async () => {
    const own = await createEmptyDatabase()
    const ownDatabase = open(own.url)
    onTestFinished(async () => {
      await ownDatabase.close()
      await own.drop()
    })
    const longest = { ...options, url: own.url, names: createNames('auth', 'a'.repeat(31)) }
    await migrateUp(longest)
    expect((await findDrift(longest)).differences).toEqual([])
    for (let i = 0; i < count; i += 1) await migrateDown(longest)
    const left = await objects(ownDatabase)
    expect(left.filter((name) => !name.includes('trestle_migrations'))).toEqual([])
  })
})
