import { startEmbeddedPostgres } from '@trestle/testing/postgres-server.ts'
import { expect, it, onTestFinished, vi } from 'vitest'
import { undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { loadAuthConfig } from '../../src/config.ts'
import { toEncryptionKeys } from '../../src/deps.ts'
import { adopt, clockOf, prepare, type Restored } from './adopted-app.ts'
import { giveToOwner, loadDump, ownerUrl, readManifest, runSql, settingsFor } from './restored-database.ts'

const PATIENCE = { timeout: 60_000, interval: 50 } as const

/** A database on a server with autovacuum, which the server of other tests lacks. */
async function restoreVacuumed(): Promise<Restored> {
  const server = await startEmbeddedPostgres({ autovacuum: 'on', autovacuum_naptime: 1 })
  onTestFinished(() => server.stop())
  await runSql(server.url, 'CREATE DATABASE vacuumed')
  const superuserUrl = Object.assign(new URL(server.url), { pathname: '/vacuumed' }).href
  await loadDump(superuserUrl, 'v2.196.0')
  await giveToOwner(superuserUrl)
  const manifest = readManifest('v2.196.0')
  const database = { superuserUrl, url: ownerUrl(superuserUrl), manifest, drop: async () => {} }
  const config = loadAuthConfig({ ...settingsFor(database), AUTH_DB_PREPARED: 'true' })
  const encryptionKeys = toEncryptionKeys(config)
  return { database, deps: { config, now: clockOf(manifest), randomBytes: Buffer.alloc, encryptionKeys } }
}

/** Inserts rows that take autovacuum minutes. After its end, autovacuum starts again within seconds. */
async function fillSlowly({ database: { superuserUrl } }: Restored, table: string, insert: string): Promise<void> {
  await runSql(
    superuserUrl,
    `ALTER TABLE ${table} SET (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1,
       autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 2000000000)`,
  )
  await runSql(superuserUrl, insert)
  await runSql(superuserUrl, `UPDATE ${table} SET created_at = created_at`)
}

const fillAuditLog = (restored: Restored) =>
  fillSlowly(
    restored,
    'auth.audit_log_entries',
    `INSERT INTO auth.audit_log_entries (id, created_at, payload)
     SELECT gen_random_uuid(), now(), json_build_object('action', 'login', 'text', repeat('x', 200))
     FROM generate_series(1, 20000)`,
  )

const fillUsers = (restored: Restored) =>
  fillSlowly(
    restored,
    'auth.users',
    `INSERT INTO auth.users (instance_id, id, aud, role, raw_user_meta_data, created_at, is_anonymous)
     SELECT '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'authenticated', 'authenticated',
       json_build_object('text', repeat('x', 1000)), now(), true
     FROM generate_series(1, 4000)`,
  )

/** Waits until an autovacuum works on a table. @returns its process id */
function awaitAutovacuum({ database: { superuserUrl } }: Restored, table: string): Promise<number> {
  return vi.waitFor(async () => {
    const [worker] = await runSql<{ pid: number }>(
      superuserUrl,
      `SELECT a.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.relation = '${table}'::regclass
         AND a.backend_type = 'autovacuum worker' AND l.mode = 'ShareUpdateExclusiveLock' AND l.granted`,
    )
    if (worker === undefined) throw new Error(`no autovacuum is at work on ${table}`)
    return worker.pid
  }, PATIENCE)
}

it('adopt --prepare, adopt and --undo end the autovacuums of tables that they need, though these would take minutes', {
  timeout: 180_000,
}, async () => {
  const restored = await restoreVacuumed()
  const { superuserUrl } = restored.database
  await fillUsers(restored)
  await fillAuditLog(restored)
  await awaitAutovacuum(restored, 'auth.users')
  expect(await prepare(restored)).toBe(true)
  await awaitAutovacuum(restored, 'auth.users')
  await awaitAutovacuum(restored, 'auth.audit_log_entries')
  const { switchMs, ...outcome } = await adopt(restored)
  expect(outcome).toEqual({ version: '20260625000000', leftProviders: [], losses: [] })
  expect(switchMs).toBeLessThan(5_000)
  await awaitAutovacuum(restored, 'auth.users')
  await awaitAutovacuum(restored, 'auth_before_trestle.audit_log_entries')
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  expect(await runSql(superuserUrl, "SELECT to_regnamespace('auth_before_trestle') AS kept")).toEqual([{ kept: null }])
})

/** Uses more transaction ids than a table may be behind (`autovacuum_freeze_max_age`). */
const SPEND_NUMBERS = `
  CREATE TABLE spent ();
  DO $$ BEGIN FOR number IN 1..110000 LOOP BEGIN INSERT INTO spent DEFAULT VALUES; EXCEPTION WHEN unique_violation THEN END; END LOOP; END $$;
  DROP TABLE spent`

it('adopt names an autovacuum that prevents a wraparound, which PostgreSQL does not end, and switches nothing', {
  timeout: 180_000,
}, async () => {
  const restored = await restoreVacuumed()
  const { superuserUrl } = restored.database
  await prepare(restored)
  await runSql(superuserUrl, SPEND_NUMBERS)
  await fillAuditLog(restored)
  // Set this now: an autovacuum of the empty table would end immediately, and the next one would not prevent wraparound.
  await runSql(superuserUrl, 'ALTER TABLE auth.audit_log_entries SET (autovacuum_freeze_max_age = 100000)')
  const pid = await awaitAutovacuum(restored, 'auth.audit_log_entries')
  await expect(adopt(restored)).rejects.toThrow(
    new Error(
      `the autovacuum of auth.audit_log_entries by process ${pid} of PostgreSQL holds this table. PostgreSQL ends none that prevents a wraparound of transaction numbers: wait until pg_stat_progress_vacuum does not list it, and run this again`,
    ),
  )
  // A second run before the switch needs no lock of this table.
  expect(await prepare(restored)).toBe(true)
  expect(await runSql(superuserUrl, 'SELECT switched_at FROM auth_before_trestle.adoption')).toEqual([
    { switched_at: null },
  ])
})
