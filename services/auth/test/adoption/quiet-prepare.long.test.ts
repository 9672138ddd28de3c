import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { compareMigrations, runOneByOne } from '@trestle/database/migrations/migrator.ts'
import { createNames } from '@trestle/database/names.ts'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { listEarlyMigrations } from '../../src/adoption/changes/added-columns.ts'
import { prepareAdoption } from '../../src/adoption/use-cases/adopt-database.ts'
import { errorBody, statusAndBody } from '../bodies.ts'
import { adopt, connectOld, openAdopted, prepare, type Restored, restore } from './adopted-app.ts'
import { type OldUser, runSql } from './restored-database.ts'

const NIL = '00000000-0000-0000-0000-000000000000'
const PATIENCE = { timeout: 60_000, interval: 10 } as const
const NOT_FOUND = errorBody(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
/** The old server must not wait for any lock. */
const IMPATIENT = "SET lock_timeout = '50ms'"

const named = ({ database }: Restored, name: string): OldUser => {
  const user = database.manifest.users.find((each) => each.name === name)
  if (user === undefined) throw new Error(`every version has a user ${name}`)
  return user
}

/** A superuser connection. It closes at the end of the test. */
async function connect({ database: { superuserUrl } }: Restored): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** Counts the waiting requests for table locks or advisory locks in the database. */
const countWaits = async ({ database: { superuserUrl } }: Restored) =>
  (
    await runSql(
      superuserUrl,
      `SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
  ).length

/** Refreshes like supabase/auth (internal/tokens/service.go, 2.40 to 2.196). @returns how many rows it could lock */
async function refresh(old: pg.Client, { from, to }: { readonly from: string | undefined; readonly to: string }) {
  await old.query('BEGIN')
  const token = await old.query('SELECT * FROM refresh_tokens WHERE token = $1 LIMIT 1 FOR UPDATE SKIP LOCKED', [from])
  const { session_id: id, user_id: userId } = token.rows[0] ?? {}
  const session = await old.query('SELECT * FROM sessions WHERE id = $1 LIMIT 1 FOR UPDATE SKIP LOCKED', [id])
  await old.query('UPDATE refresh_tokens SET revoked = true, updated_at = now() WHERE token = $1', [from])
  await old.query(
    `INSERT INTO refresh_tokens (created_at, instance_id, parent, revoked, session_id, token, updated_at, user_id)
     VALUES (now(), $1, $2, false, $3, $4, now(), $5)`,
    [NIL, from, id, to, userId],
  )
  await old.query('UPDATE sessions SET refreshed_at = now(), updated_at = now() WHERE id = $1', [id])
  await old.query('COMMIT')
  return (token.rowCount ?? 0) + (session.rowCount ?? 0)
}

const countLockable = async (old: pg.Client, table: string) =>
  (await old.query(`SELECT FROM ${table} FOR UPDATE SKIP LOCKED`)).rowCount

const countRows = async (old: pg.Client, table: string) => (await old.query(`SELECT FROM ${table}`)).rowCount

const listKeys = ({ database: { superuserUrl } }: Restored) =>
  runSql(
    superuserUrl,
    `SELECT conname AS name, convalidated AS "isValid" FROM pg_constraint
     WHERE conname IN ('refresh_tokens_session_fkey', 'user_directory_user_fkey') AND connamespace = 'auth'::regnamespace
     ORDER BY 1`,
  )
const VALID = [
  { name: 'refresh_tokens_session_fkey', isValid: true },
  { name: 'user_directory_user_fkey', isValid: true },
]

it('a refresh and a delete of sessions at the old server wait for no batch of adopt --prepare and miss no row, and adopt keeps both', async () => {
  const restored = await restore('v2.196.0')
  await prepare(restored)
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, 'UPDATE auth_adopting.progress SET after = NULL')
  const [stop, old] = [await connect(restored), await connectOld(restored)]
  // The batch has copied its tokens before it records its progress.
  await stop.query('BEGIN; LOCK TABLE auth_adopting.progress IN SHARE MODE')
  const preparing = prepare(restored)
  await expect.poll(() => countWaits(restored), PATIENCE).toBe(1)
  await old.query(IMPATIENT)
  const [refreshed, ended] = [named(restored, 'plain'), named(restored, 'phone')].map(({ sessions }) => sessions.at(-1))
  for (const table of ['sessions', 'refresh_tokens', 'users', 'mfa_factors'])
    expect([table, await countLockable(old, table)]).toEqual([table, await countRows(old, table)])
  expect(await refresh(old, { from: refreshed?.refresh_token, to: 'beside-batch' })).toBe(2)
  const deleted = await old.query('DELETE FROM sessions WHERE id = $1', [ended?.session_id])
  expect(deleted.rowCount).toBe(1)
  await stop.query('COMMIT')
  expect(await preparing).toBe(true)
  expect(
    await runSql(superuserUrl, `SELECT FROM auth_adopting.refresh_tokens WHERE session_id = '${ended?.session_id}'`),
  ).toEqual([])
  await adopt(restored)
  const { post } = await openAdopted(restored)
  const ofDeleted = await post('/token?grant_type=refresh_token', { refresh_token: ended?.refresh_token })
  expect(statusAndBody(ofDeleted)).toEqual([400, NOT_FOUND])
  const goesOn = await post('/token?grant_type=refresh_token', { refresh_token: 'beside-batch' })
  expect(goesOn.statusCode).toBe(200)
})

it.each([
  ['the old server', ''],
  ['a replica', 'SET session_replication_role = replica; '],
])('a session that %s deletes after adopt --prepare does not come back, and leaves no token', async (_who, role) => {
  const restored = await restore('v2.196.0')
  await prepare(restored)
  const { superuserUrl } = restored.database
  const session = named(restored, 'plain').sessions.at(-1)
  await runSql(superuserUrl, `${role}DELETE FROM auth.sessions WHERE id = '${session?.session_id}'`)
  await adopt(restored)
  expect(
    await runSql(superuserUrl, `SELECT FROM auth.refresh_tokens WHERE session_id = '${session?.session_id}'`),
  ).toEqual([])
  expect(await listKeys(restored)).toEqual(VALID)
  const { post } = await openAdopted(restored)
  const refreshed = await post('/token?grant_type=refresh_token', { refresh_token: session?.refresh_token })
  expect(statusAndBody(refreshed)).toEqual([400, NOT_FOUND])
})

it('a user confirms at the old server between any two changes of adopt --prepare', async () => {
  const { database } = await restore('v2.196.0')
  const names = createNames('auth', '')
  const migrations = { names, sources: await listEarlyMigrations(names) }
  await withDatabase({ url: database.url }, async (db) => {
    const { pending } = await compareMigrations(db, migrations)
    expect(pending.length).toBeGreaterThan(10)
    for (const name of pending) {
      await runOneByOne(db, migrations, [name])
      const confirmed = await runSql(
        database.superuserUrl,
        `UPDATE auth.users SET email_confirmed_at = now() WHERE email IS NOT NULL RETURNING id`,
      )
      expect([name, confirmed.length > 0]).toEqual([name, true])
    }
  })
})

it('the old server deletes a user while adopt --prepare lists the users, and nobody lists the user afterwards', async () => {
  const restored = await restore('v2.196.0')
  await prepare(restored)
  const { superuserUrl } = restored.database
  // Pauses the batch after its rows are written and checked.
  await runSql(
    superuserUrl,
    `DELETE FROM auth.user_directory;
     CREATE FUNCTION public.stand_still() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN PERFORM pg_advisory_xact_lock(31); RETURN NULL; END $$;
     CREATE TRIGGER stand_still AFTER INSERT ON auth.user_directory FOR EACH STATEMENT EXECUTE FUNCTION public.stand_still()`,
  )
  const [stop, old] = [await connect(restored), await connectOld(restored)]
  await stop.query('SELECT pg_advisory_lock(31)')
  const preparing = prepare(restored)
  await expect.poll(() => countWaits(restored), PATIENCE).toBe(1)
  await old.query(IMPATIENT)
  expect(await countLockable(old, 'users')).toBe(await countRows(old, 'users'))
  const { id = '' } = named(restored, 'phone')
  // An application table has a foreign key to users.
  await stop.query('DELETE FROM public.notes WHERE owner = $1', [id])
  expect((await old.query('DELETE FROM users WHERE id = $1', [id])).rowCount).toBe(1)
  await stop.query('SELECT pg_advisory_unlock(31)')
  expect(await preparing).toBe(true)
  await runSql(superuserUrl, 'DROP TRIGGER stand_still ON auth.user_directory')
  await adopt(restored)
  expect(await listKeys(restored)).toEqual(VALID)
  expect(await runSql(superuserUrl, `SELECT FROM auth.user_directory WHERE user_id = '${id}'`)).toEqual([])
  const listed = await runSql(superuserUrl, 'SELECT user_id FROM auth.user_directory ORDER BY 1')
  expect(listed).toEqual(await runSql(superuserUrl, 'SELECT id AS user_id FROM auth.users ORDER BY 1'))
})

it.each(['users', 'mfa_factors', 'mfa_amr_claims', 'sessions', 'refresh_tokens'])(
  'adopt --prepare holds no other table of the old server while it waits for %s, and gives up before PostgreSQL looks for deadlocks',
  async (table) => {
    const restored = await restore('v2.101.0')
    const [writer, monitor] = [await connectOld(restored), await connect(restored)]
    await writer.query(`BEGIN; LOCK TABLE ${table} IN ROW EXCLUSIVE MODE`)
    const preparing = prepare(restored)
    const seen: { awaited: string; held: readonly string[] }[] = []
    const look = async () => {
      const { rows } = await monitor.query<{ awaited: string; held: string[] }>(`
        SELECT w.relation::regclass::text AS awaited, ARRAY (
            SELECT h.relation::regclass::text FROM pg_locks h JOIN pg_class c ON c.oid = h.relation
            WHERE h.pid = w.pid AND h.granted AND h.mode ~ 'Exclusive|ShareLock' AND c.relkind = 'r'
              AND c.relname IN ('users', 'identities', 'sessions', 'refresh_tokens', 'mfa_factors', 'mfa_amr_claims')) AS held
        FROM pg_locks w WHERE NOT w.granted AND w.locktype = 'relation'
          AND w.database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
      seen.push(...rows)
      return rows.length
    }
    await expect.poll(look, PATIENCE).toBe(1)
    // The command gives up and tries again.
    await expect.poll(look, PATIENCE).toBe(0)
    await expect.poll(look, PATIENCE).toBe(1)
    await writer.query('COMMIT')
    expect(await preparing).toBe(true)
    expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify({ awaited: `auth.${table}`, held: [] })]),
    )
  },
)

it('adopt --prepare finds the tokens of a batch by an index, and reads no whole table for each', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl } = restored.database
  const rows = 6_000
  await runSql(
    superuserUrl,
    `WITH made AS (
       INSERT INTO auth.sessions (id, user_id, created_at, updated_at, aal)
       SELECT gen_random_uuid(), '${named(restored, 'plain').id}', now(), now(), 'aal1' FROM generate_series(1, ${rows})
       RETURNING id, user_id)
     INSERT INTO auth.refresh_tokens (instance_id, token, user_id, revoked, created_at, updated_at, session_id)
     SELECT '${NIL}', left(md5(id::text), 12), user_id, false, now(), now(), id FROM made`,
  )
  await prepare(restored)
  const wholes = async () => {
    const [read] = await runSql<{ times: number }>(
      superuserUrl,
      `SELECT seq_tup_read::float / ${rows} AS times FROM pg_stat_all_tables WHERE relid = 'auth.refresh_tokens'::regclass`,
    )
    return read?.times
  }
  // The reads of twenty batches, of the sums and of the joins that compare.
  await expect.poll(wholes, PATIENCE).toBeGreaterThan(0)
  expect(await wholes()).toBeLessThan(5)
})

it('adopt --prepare tells whose transaction an index waits for, and goes on when it has ended', async () => {
  const { database, deps } = await restore('v2.196.0')
  const backup = await connect({ database, deps })
  await backup.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM auth.schema_migrations')
  const { rows } = await backup.query<{ pid: number; user: string }>(
    'SELECT pg_backend_pid() AS pid, current_user AS "user"',
  )
  const [{ pid, user } = { pid: 0, user: '' }] = rows
  const { promise: told, resolve } = Promise.withResolvers<string>()
  const prepared = prepareAdoption(deps, { force: false, report: resolve })
  expect(await told).toBe(
    `waiting for the end of the transaction of process ${pid} of PostgreSQL, of the user ${user}: an index of users needs it`,
  )
  await backup.query('COMMIT')
  expect(await prepared).toBe(true)
})
