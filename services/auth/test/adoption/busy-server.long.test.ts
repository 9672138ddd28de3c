import type pg from 'pg'
import { expect, it, vi } from 'vitest'
import { deleteExpired, listCleanUps } from '../../src/retention/clean-up-repository.ts'
import { statusAndBody } from '../bodies.ts'
import { adopt, connectOld, openAdopted, prepare, type Restored, restore } from './adopted-app.ts'
import { plainSession } from './plain-user.ts'
import { runSql, VERSIONS } from './restored-database.ts'

const NIL = '00000000-0000-0000-0000-000000000000'
const PATIENCE = { timeout: 60_000, interval: 10 } as const
const YEAR_MS = 365 * 86_400_000
const WAITS = `
  SELECT relation::regclass::text AS name FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

/** Lists the tables that the adoption waits for. */
const listAwaited = async ({ database: { superuserUrl } }: Restored) =>
  (await runSql<{ name: string }>(superuserUrl, WAITS)).map(({ name }) => name)

/** Delays the switch until the transaction ends. Earlier steps need no lock of this table. */
async function holdSwitch(client: pg.Client): Promise<void> {
  await client.query('BEGIN')
  await client.query('LOCK TABLE mfa_challenges IN ACCESS SHARE MODE')
}

/**
 * Writes the rows of a sign-up. The statement names the schema, because it stands for SQL of an application. After the switch,
 * the old server may not write.
 */
const signUpUnconfirmed = (client: pg.Client, email: string) =>
  client.query(
    `INSERT INTO auth.users (aud, created_at, email, encrypted_password, id, instance_id, confirmation_sent_at,
       raw_app_meta_data, raw_user_meta_data, role, updated_at)
     VALUES ('authenticated', now(), $1, '', gen_random_uuid(), '${NIL}', now(), '{}', '{}', 'authenticated', now())`,
    [email],
  )

it('continues a session by the token that the old server gave it after adopt --prepare', async () => {
  const restored = await restore('v2.196.0')
  expect(await prepare(restored)).toBe(true)
  const plain = restored.database.manifest.users.find(({ name }) => name === 'plain')
  const session = plain?.sessions.at(-1)?.session_id
  const old = await connectOld(restored)
  await old.query(
    `INSERT INTO refresh_tokens (created_at, instance_id, revoked, session_id, token, updated_at, user_id)
     VALUES (now(), $1, false, $2, 'since-prepare', now(), $3)`,
    [NIL, session, plain?.id],
  )
  await adopt(restored)
  expect(await prepare(restored)).toBe(false)
  const { post } = await openAdopted(restored)
  const refreshed = await post('/token?grant_type=refresh_token', { refresh_token: 'since-prepare' })
  expect(statusAndBody(refreshed)).toEqual([200, plainSession(plain)])
})

it('adopt --prepare deletes the notes that have gathered since an earlier --prepare', async () => {
  const restored = await restore('v2.196.0')
  await prepare(restored)
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, 'UPDATE auth.sessions SET updated_at = now()')
  await prepare(restored)
  expect(await runSql(superuserUrl, 'SELECT session_id FROM auth_adopting.changes')).toEqual([])
})

it('continues a session by a token that the old server commits while the switch waits, whatever the isolation by default', async () => {
  const restored = await restore('v2.196.0')
  const { superuserUrl, url, manifest } = restored.database
  await prepare(restored)
  const old = await connectOld(restored)
  const name = new URL(url).pathname.slice(1)
  await runSql(superuserUrl, `ALTER DATABASE ${name} SET default_transaction_isolation = 'repeatable read'`)
  const plain = manifest.users.find((user) => user.name === 'plain')
  await old.query('BEGIN')
  await old.query(
    `INSERT INTO refresh_tokens (created_at, instance_id, revoked, session_id, token, updated_at, user_id)
     VALUES (now(), $1, false, $2, 'while-waiting', now(), $3)`,
    [NIL, plain?.sessions.at(-1)?.session_id, plain?.id],
  )
  const adopted = adopt(restored)
  await vi.waitUntil(async () => (await listAwaited(restored)).includes('auth.refresh_tokens'), PATIENCE)
  await old.query('COMMIT')
  await adopted
  const { post } = await openAdopted(restored)
  const refreshed = await post('/token?grant_type=refresh_token', { refresh_token: 'while-waiting' })
  expect(statusAndBody(refreshed)).toEqual([200, plainSession(plain)])
})

it.each(VERSIONS)(
  'adopt --prepare leaves the columns of each table as they are whose rows supabase/auth reads whole: %s',
  async (version) => {
    const restored = await restore(version)
    const columns = () =>
      runSql(
        restored.database.superuserUrl,
        `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'auth'
         AND table_name IN ('sessions', 'refresh_tokens', 'flow_state', 'oauth_authorizations', 'webauthn_challenges')
       ORDER BY 1, ordinal_position`,
      )
    const before = await columns()
    await prepare(restored)
    expect(await columns()).toEqual(before)
  },
)

it('keeps an unconfirmed user who signs up at the old server between the columns and the switch', async () => {
  const restored = await restore('v2.196.0')
  const [reader, writer] = [await connectOld(restored), await connectOld(restored)]
  await holdSwitch(reader)
  const adopting = adopt(restored)
  await expect.poll(() => listAwaited(restored), PATIENCE).toEqual(['auth.mfa_challenges'])
  await signUpUnconfirmed(writer, 'during@example.com')
  await reader.query('COMMIT')
  await adopting
  await signUpUnconfirmed(writer, 'later@example.com')
  const { deps } = await openAdopted(restored)
  const inAYear = new Date(deps.now().getTime() + YEAR_MS)
  const unconfirmed = listCleanUps(deps.config, inAYear).filter(
    (each) => each.by === 'index' && each.only === 'unconfirmed',
  )
  for (const cleanUp of unconfirmed) await deleteExpired(deps.db, cleanUp, undefined)
  const users = await writer.query("SELECT email FROM auth.users WHERE email ~ '^(during|later)@'")
  expect(users.rows).toEqual([{ email: 'during@example.com' }])
})

it('switches though requests of a busy old server wait in a circle with it, of which PostgreSQL ends one', async () => {
  const restored = await restore('v2.196.0')
  const [reader, client] = [await connectOld(restored), await connectOld(restored)]
  await holdSwitch(reader)
  const state = { isOver: false }
  const adopting = adopt(restored).finally(() => {
    state.isOver = true
  })
  await expect.poll(() => listAwaited(restored), PATIENCE).toEqual(['auth.mfa_challenges'])
  const isReached = async () => state.isOver || (await listAwaited(restored)).includes('auth.users')
  const outcomes: string[] = []
  while (!state.isOver && !outcomes.includes('40P01')) {
    await client.query('BEGIN')
    await client.query("UPDATE auth.users SET updated_at = now() WHERE email LIKE 'plain%'")
    await reader.query('COMMIT')
    await expect.poll(isReached, PATIENCE).toBe(true)
    const entry = client.query(
      `INSERT INTO auth.audit_log_entries (id, created_at, payload) VALUES (gen_random_uuid(), now(), '{}')`,
    )
    outcomes.push(
      await entry.then(
        () => 'done',
        (error: pg.DatabaseError) => error.code ?? error.message,
      ),
    )
    await client.query('COMMIT')
  }
  expect({ ...(await adopting), outcomes: new Set(outcomes) }).toEqual({
    version: '20260625000000',
    switchMs: expect.any(Number),
    leftProviders: [],
    losses: [],
    outcomes: new Set(['done', '40P01']),
  })
})
