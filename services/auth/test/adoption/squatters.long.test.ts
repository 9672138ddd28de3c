import { randomUUID } from 'node:crypto'
import { migrateUp } from '@trestle/database/migrations/migrate.ts'
import { createEmptyDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { checkAdoption } from '../../src/adoption/use-cases/check-adoption.ts'
import { forgetImport } from '../../src/adoption/use-cases/import-database.ts'
import { forgetAdoption, undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { doctor } from '../../src/commands/doctor.ts'
import type { AuthConfig } from '../../src/config.ts'
import { migrateOptions } from '../../src/migrations.ts'
import { adopt, prepare, restore, restoreAdopted } from './adopted-app.ts'
import { openImporting } from './imported-app.ts'
import { runSql } from './restored-database.ts'

/** Creates a role that may only create schemas. The end of the test drops it with its objects. */
async function addSquatter(superuserUrl: string): Promise<string> {
  const role = `squatter_${randomUUID().slice(0, 8)}`
  const name = new URL(superuserUrl).pathname.slice(1)
  await runSql(superuserUrl, `CREATE ROLE ${role}; GRANT CREATE ON DATABASE ${name} TO ${role}`)
  onTestFinished(() => runSql(superuserUrl, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`).then(() => {}))
  return role
}

/** Creates a view in the place of a record. Its function records which roles read it. */
async function squat(superuserUrl: string, role: string, { schema, view }: { schema: string; view: string }) {
  await runSql(
    superuserUrl,
    `SET ROLE ${role};
     CREATE SCHEMA ${schema};
     CREATE TABLE ${schema}.readers (name text);
     CREATE FUNCTION ${schema}.run() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
       BEGIN INSERT INTO ${schema}.readers VALUES (current_user); RETURN current_user; END $$;
     CREATE VIEW ${schema}.${view} WITH (security_invoker = true) AS
       SELECT ${schema}.run() AS version, ${schema}.run() AS source, '1'::text AS token_offset, '{}'::text[] AS changes,
         now() AS switched_at, now() AS finished_at, false AS had_pgcrypto;
     GRANT USAGE ON SCHEMA ${schema} TO PUBLIC;
     GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO PUBLIC`,
  )
}

/** The users who ran the function of a squatter. */
const readersOf = (superuserUrl: string, schema: string) => runSql(superuserUrl, `SELECT name FROM ${schema}.readers`)

const foreign = (schema: string, owner: string, user: string) =>
  `the schema ${schema} belongs to ${owner}, not to ${user}, so nothing in it is read: rename or drop it as a superuser`

/** Runs doctor. @returns its line for a check */
async function lineOf(config: AuthConfig, check: string): Promise<string | undefined> {
  const lines: string[] = []
  await doctor(
    () => config,
    (line) => lines.push(line),
  )
  return lines.find((line) => line.includes(` ${check}: `))
}

describe('a schema that somebody else has made under a name of ours', () => {
  it.each(['auth_before_trestle', 'auth_adopting', 'auth_jobs'])(
    '%s is named by --check and stops adopt, with --prepare too, before anything in it is read',
    async (schema) => {
      const restored = await restore('v2.196.0')
      const { superuserUrl } = restored.database
      const role = await addSquatter(superuserUrl)
      await squat(superuserUrl, role, { schema, view: 'adoption' })
      const reason = foreign(schema, role, 'supabase_auth_admin')
      expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([reason])
      await expect(prepare(restored)).rejects.toThrow(new Error(reason))
      await expect(adopt(restored)).rejects.toThrow(new Error(reason))
      expect(await readersOf(superuserUrl, schema)).toEqual([])
      expect(await runSql(superuserUrl, `SELECT to_regclass('auth.trestle_migrations') AS own`)).toEqual([
        { own: null },
      ])
    },
  )

  it('stops adopt when it is made while the run waits, whatever the isolation by default', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    const role = await addSquatter(superuserUrl)
    const name = new URL(superuserUrl).pathname.slice(1)
    await runSql(superuserUrl, `ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`)
    const other = new pg.Client({ connectionString: superuserUrl })
    await other.connect()
    onTestFinished(() => other.end())
    await other.query('BEGIN; CREATE SCHEMA auth_before_trestle')
    const prepared = prepare(restored).catch(String)
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = '${name}' AND wait_event_type = 'Lock' AND query ILIKE 'create schema%'`
    await vi.waitUntil(async () => (await runSql(superuserUrl, waiting)).length > 0, { timeout: 60_000, interval: 10 })
    await runSql(
      superuserUrl,
      `SET ROLE ${role}; CREATE SCHEMA auth_adopting; GRANT ALL ON SCHEMA auth_adopting TO supabase_auth_admin`,
    )
    await other.query('ROLLBACK')
    expect(await prepared).toBe(`Error: ${foreign('auth_adopting', role, 'supabase_auth_admin')}`)
    const made = `SELECT relname FROM pg_class WHERE relnamespace = 'auth_adopting'::regnamespace`
    expect(await runSql(superuserUrl, made)).toEqual([])
  })

  it('does not stop --undo after the switch, which has freed the name auth_adopting', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl } = restored.database
    const role = await addSquatter(superuserUrl)
    await squat(superuserUrl, role, { schema: 'auth_adopting', view: 'refresh_tokens' })
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
    expect(await readersOf(superuserUrl, 'auth_adopting')).toEqual([])
  })

  it('stops doctor, --undo and --forget after an adoption that was forgotten', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl } = restored.database
    await forgetAdoption(restored.deps, async () => true)
    const role = await addSquatter(superuserUrl)
    await squat(superuserUrl, role, { schema: 'auth_before_trestle', view: 'adoption' })
    const reason = foreign('auth_before_trestle', role, 'supabase_auth_admin')
    await expect(undoAdoption(restored.deps, async () => true)).rejects.toThrow(new Error(reason))
    await expect(forgetAdoption(restored.deps, async () => true)).rejects.toThrow(new Error(reason))
    expect(await lineOf(restored.deps.config, 'adoption')).toContain(reason)
    expect(await readersOf(superuserUrl, 'auth_before_trestle')).toEqual([])
  })

  it.each(['auth_imported', 'auth_importing'])('%s stops an import and import --forget', async (schema) => {
    const app = await openImporting('v2.196.0')
    const { directUrl } = app.database
    const role = await addSquatter(directUrl)
    await squat(directUrl, role, { schema, view: 'source' })
    const { migrationUrl } = app.deps.config.database
    const [{ name } = { name: '' }] = await runSql<{ name: string }>(migrationUrl, 'SELECT current_user AS name')
    const reason = foreign(schema, role, name)
    await expect(app.run()).rejects.toThrow(new Error(reason))
    await expect(forgetImport(app.deps, async () => true)).rejects.toThrow(new Error(reason))
    expect(await readersOf(directUrl, schema)).toEqual([])
  })
})

describe('a schema auth_jobs that somebody else has made in a database of this service', () => {
  it('stops migrate before the first migration, and nothing in it is read', async () => {
    const database = await createEmptyDatabase()
    onTestFinished(() => database.drop())
    const role = await addSquatter(database.directUrl)
    await squat(database.directUrl, role, { schema: 'auth_jobs', view: 'version' })
    const place = { url: database.directUrl, migrationUrl: database.directUrl, namespace: '', schema: 'auth' }
    const [{ name } = { name: '' }] = await runSql<{ name: string }>(database.directUrl, 'SELECT current_user AS name')
    await expect(migrateUp(migrateOptions({ database: { ...place, role: undefined } }))).rejects.toThrow(
      new Error(foreign('auth_jobs', role, name)),
    )
    expect(await readersOf(database.directUrl, 'auth_jobs')).toEqual([])
    expect(await runSql(database.directUrl, `SELECT to_regclass('auth.users') AS own`)).toEqual([{ own: null }])
  })

  it('stops a later migrate, and is named by doctor in place of dead-letter jobs, where the queue was dropped', async () => {
    const restored = await restoreAdopted('v2.196.0')
    const { superuserUrl } = restored.database
    const { deps } = restored
    await runSql(superuserUrl, 'DROP SCHEMA auth_jobs CASCADE')
    const role = await addSquatter(superuserUrl)
    await squat(superuserUrl, role, { schema: 'auth_jobs', view: 'job' })
    const reason = foreign('auth_jobs', role, 'supabase_auth_admin')
    await expect(migrateUp(migrateOptions(deps.config))).rejects.toThrow(new Error(reason))
    expect(await lineOf(deps.config, 'dead jobs')).toContain(reason)
    expect(await readersOf(superuserUrl, 'auth_jobs')).toEqual([])
  })
})

it('a view in a schema of our own stops a run before it is read', async () => {
  const restored = await restore('v2.196.0')
  const { url } = restored.database
  await runSql(
    url,
    `CREATE SCHEMA auth_before_trestle; CREATE VIEW auth_before_trestle.adoption AS SELECT 'x' AS version`,
  )
  const reason =
    'auth_before_trestle.adoption is no table of supabase_auth_admin, so nothing in this schema is read: drop it as a superuser'
  expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([reason])
  await expect(adopt(restored)).rejects.toThrow(new Error(reason))
})

it('switches where somebody who may connect holds the locks of the queue of jobs since --prepare', async () => {
  const restored = await restore('v2.196.0')
  const stranger = new pg.Client({ connectionString: restored.database.superuserUrl })
  await stranger.connect()
  onTestFinished(() => stranger.end())
  await prepare(restored)
  await stranger.query(`
    SELECT pg_advisory_lock(
      ('x' || encode(sha224((current_database() || '.pgboss.auth_jobs' || key)::bytea), 'hex'))::bit(64)::bigint)
    FROM unnest('{"", create-queue}'::text[]) key`)
  expect((await adopt(restored)).switchMs).toBeGreaterThan(0)
})
