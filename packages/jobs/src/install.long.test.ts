import { type MigrateOptions, migrateUp } from '@trestle/database/migrations/migrate.ts'
import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { createNames } from '@trestle/database/names.ts'
import { readDependents } from '@trestle/database/violations.ts'
import { createEmptyDatabase, type TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { dropJobs, installJobs } from './install.ts'
import { type AnyTask, defineTask, type TaskOptions } from './task.ts'

const options: TaskOptions = {
  ...{ retryLimit: 1, firstDelaySeconds: 1, delaySecondsMax: 1, timeoutSeconds: 30 },
  indexes: [
    { name: 'greet_to_idx', of: 'jobs', columns: "(data ->> 'to'), created_on" },
    { name: 'greet_dead_idx', of: 'dead-letter jobs', columns: 'created_on', where: "state = 'created'" },
  ],
}
const tasks: readonly AnyTask[] = [defineTask<{ readonly to: string }>('greet', options)]
const names = createNames('shop', 'app')
const role = 'install_service'
const optionsOf = (url: string): MigrateOptions => ({
  url,
  names,
  sources: { '0001-schema': () => ({ up: async () => {} }) },
  afterwards: [(db) => installJobs(db, { url, schema: names.jobSchema, tasks })],
  grants: { role, appendOnly: [] },
})

/** Inserts a statement that the next install would run with the rights of the owner. */
const FORGED = `INSERT INTO app_shop_jobs.bam (name, version, status, table_name, command)
  VALUES ('x', 46, 'pending', 'job_common', 'CREATE TABLE public.owned AS SELECT session_user')`

it('ends with who holds a lock of the queue, and waits for none where all is there', async () => {
  const held = await createEmptyDatabase()
  onTestFinished(() => held.drop())
  const stranger = new pg.Client({ connectionString: held.url })
  await stranger.connect()
  onTestFinished(() => stranger.end())
  const { rows } = await stranger.query(`
    SELECT pg_backend_pid() AS pid, current_user AS "user", pg_advisory_lock(
      ('x' || encode(sha224((current_database() || '.pgboss.app_shop_jobs' || key)::bytea), 'hex'))::bit(64)::bigint) AS locked
    FROM unnest('{"", create-queue}'::text[]) key`)
  await expect(migrateUp(optionsOf(held.url))).rejects.toThrow(
    `another session holds a lock that the queue of jobs in the schema app_shop_jobs needs: process ${rows[0].pid} of PostgreSQL, of the user ${rows[0].user}, holds it`,
  )
  await stranger.query('SELECT pg_advisory_unlock_all()')
  await migrateUp(optionsOf(held.url))
  await stranger.query(`
    SELECT pg_advisory_lock(
      ('x' || encode(sha224((current_database() || '.pgboss.app_shop_jobs' || key)::bytea), 'hex'))::bit(64)::bigint)
    FROM unnest('{"", create-queue}'::text[]) key`)
  const again = { ...optionsOf(held.url), settings: { again: true } }
  expect(await migrateUp(again)).toEqual({ migrations: [], functions: [] })
})

describe('installing the queue', () => {
  let database: TemporaryDatabase
  beforeAll(async () => {
    database = await createEmptyDatabase()
    await migrateUp(optionsOf(database.url))
  })
  afterAll(() => database.drop())

  const asOwner = async (statement: string) =>
    (await withDatabase(database, (db) => sql.raw(statement).execute(db))).rows
  /** Returns the error code if the role is refused. */
  const asRole = (statement: string): Promise<unknown> =>
    withDatabase(database, (db) =>
      db.transaction().execute(async (trx) => {
        await sql`SET LOCAL ROLE ${sql.id(role)}`.execute(trx)
        await sql.raw(statement).execute(trx)
      }),
    ).catch((error) => error.code)

  it.each([
    FORGED,
    'SELECT command FROM app_shop_jobs.bam',
    'UPDATE app_shop_jobs.version SET version = 30',
    'DELETE FROM app_shop_jobs.version',
    "UPDATE app_shop_jobs.queue SET table_name = 'x', partition = true",
    'DELETE FROM app_shop_jobs.queue',
  ])('gives the service no way to make the owner run: %s', async (statement) => {
    expect(await asRole(statement)).toBe('42501')
  })

  it('lets nobody choose the table of a queue', async () => {
    const add = (name: string, settings: string) =>
      asRole(`SELECT app_shop_jobs.create_queue('${name}', '${settings}'::jsonb)`)
    expect(await add('own', '{"policy": "standard", "partition": true}')).toBe('23514')
    expect(await add('own', '{"policy": "standard"}')).toBeUndefined()
    const forged = `INSERT INTO app_shop_jobs.queue
      SELECT (jsonb_populate_record(q, '{"name": "x", "table_name": "job_common; DROP"}')).* FROM app_shop_jobs.queue q LIMIT 1`
    expect(await asRole(forged)).toBe('23514')
  })

  it.each([
    'UPDATE app_shop_jobs.version SET cron_on = now(), flow_on = now(), monitor_backoff_on = now()',
    'UPDATE app_shop_jobs.queue SET monitor_on = now(), queued_count = 0',
    'SELECT FROM app_shop_jobs.queue FOR NO KEY UPDATE',
    "INSERT INTO app_shop_jobs.job (name) VALUES ('greet')",
  ])('lets workers run: %s', async (statement) => {
    expect(await asRole(statement)).toBeUndefined()
  })

  it('runs no statement that the service wrote while it had the right to', async () => {
    await asOwner(`GRANT ALL ON ALL TABLES IN SCHEMA app_shop_jobs TO ${role}`)
    await asOwner('GRANT ALL ON app_shop_jobs.bam TO PUBLIC')
    await asOwner('ALTER TABLE app_shop_jobs.queue DROP CONSTRAINT queue_shared_ck')
    const queues = await asOwner('SELECT name, partition, table_name FROM app_shop_jobs.queue ORDER BY name')
    expect(await asRole('UPDATE app_shop_jobs.version SET bam_on = NULL')).toBeUndefined()
    expect(await asRole(FORGED)).toBeUndefined()
    expect(await asRole("UPDATE app_shop_jobs.queue SET partition = true, table_name = 'x; DROP'")).toBeUndefined()
    await migrateUp(optionsOf(database.url))
    expect(await asOwner('SELECT * FROM app_shop_jobs.bam')).toEqual([])
    expect(await asOwner("SELECT to_regclass('public.owned') AS made")).toEqual([{ made: null }])
    expect(await asOwner('SELECT name, partition, table_name FROM app_shop_jobs.queue ORDER BY name')).toEqual(queues)
    expect(await asRole(FORGED)).toBe('42501')
  })

  it('makes the indexes of tasks, and again one that is missing', async () => {
    const readIndexes = () =>
      asOwner(`SELECT indexrelid::regclass::oid::int AS id, indexrelid::regclass::text AS name, pg_get_expr(indpred, indrelid) AS holds
        FROM pg_index WHERE indexrelid::regclass::text LIKE '%greet%' ORDER BY name`)
    const dead = {
      id: expect.any(Number),
      name: 'app_shop_jobs.greet_dead_idx',
      holds: "((name = 'greet_dead'::text) AND (state = 'created'::app_shop_jobs.job_state))",
    }
    const living = { id: expect.any(Number), name: 'app_shop_jobs.greet_to_idx', holds: "(name = 'greet'::text)" }
    const made = await readIndexes()
    expect(made).toEqual([dead, living])
    await asOwner('DROP INDEX app_shop_jobs.greet_dead_idx')
    await migrateUp(optionsOf(database.url))
    expect(await readIndexes()).toEqual([dead, made[1]])
  })

  it('keeps the statements that an install has left', async () => {
    const build = FORGED.replace("'pending'", "'failed'").replace('CREATE TABLE public.owned AS ', '')
    await asOwner('UPDATE app_shop_jobs.version SET bam_on = now()')
    await asOwner(build)
    await migrateUp(optionsOf(database.url))
    expect(await asOwner('SELECT name, status FROM app_shop_jobs.bam')).toEqual([{ name: 'x', status: 'failed' }])
  })
})

describe('dropping the queue', () => {
  let database: TemporaryDatabase
  beforeAll(async () => {
    database = await createEmptyDatabase()
    await migrateUp(optionsOf(database.url))
  })
  afterAll(() => database.drop())

  const run = (...statements: readonly string[]) =>
    withDatabase(database, async (db) => {
      for (const statement of statements) await sql.raw(statement).execute(db)
    })
  const drop = () => withDatabase(database, (db) => db.transaction().execute((trx) => dropJobs(trx, names.jobSchema)))

  it.each([
    ['VIEW public.waiting AS SELECT id FROM app_shop_jobs.job', 'table app_shop_jobs.job'],
    ["TABLE public.seen (state app_shop_jobs.job_state DEFAULT 'active')", 'type app_shop_jobs.job_state'],
    ['TABLE app_shop_jobs.notes (text text)', 'schema app_shop_jobs'],
  ])('is refused while something of others depends on it: %s', async (made, dependsOn) => {
    await run(`CREATE ${made}`)
    const dependents = await drop().then(
      () => [],
      (error: unknown) => readDependents(error),
    )
    expect(dependents.map((line) => line.split(' depends on ')[1])).toContain(dependsOn)
    await run(`DROP ${made.split(' ', 2).join(' ')}`)
  })

  it('leaves nothing of its schema, and does nothing where there is none', async () => {
    await drop()
    await drop()
    const { rows } = await withDatabase(database, (db) =>
      sql`SELECT to_regnamespace(${names.jobSchema}) AS schema`.execute(db),
    )
    expect(rows).toEqual([{ schema: null }])
  })
})
