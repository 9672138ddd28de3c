import { migrateDown } from '@trestle/database/migrations/migrate.ts'
import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { forgetAdoption, undoAdoption } from '../../src/adoption/use-cases/undo-adoption.ts'
import { migrateOptions, migrateToLatest } from '../../src/migrations.ts'
import { adopt, prepare, type Restored, restore, restoreAdopted } from './adopted-app.ts'
import { runSql } from './restored-database.ts'

const BEFORE = '20240427152123'
const SINCE = '20240729123726'

/** Statements of a supabase/auth migration after those of 2.151. */
const MIGRATION = `
  ALTER TYPE auth.factor_type ADD VALUE IF NOT EXISTS 'phone';
  ALTER TABLE auth.mfa_factors ADD COLUMN IF NOT EXISTS phone text UNIQUE DEFAULT NULL;
  ALTER TABLE auth.mfa_challenges ADD COLUMN IF NOT EXISTS otp_code text NULL;
  CREATE UNIQUE INDEX IF NOT EXISTS unique_verified_phone_factor ON auth.mfa_factors (user_id, phone);
  INSERT INTO auth.schema_migrations (version) VALUES ('${SINCE}')`
const SHAPE = `
  SELECT attname::text AS name FROM pg_attribute
    WHERE attrelid = 'auth.mfa_factors'::regclass AND attnum > 0 AND NOT attisdropped
  UNION ALL SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid AND indrelid = 'auth.mfa_factors'::regclass
  UNION ALL SELECT enumlabel FROM pg_enum WHERE enumtypid = 'auth.factor_type'::regtype
  ORDER BY 1`

const undo = ({ deps }: Restored) => undoAdoption(deps, async () => true)

async function readShape({ database: { superuserUrl } }: Restored): Promise<readonly string[]> {
  return (await runSql<{ name: string }>(superuserUrl, SHAPE)).map(({ name }) => name)
}

it('auth migrate on a database that adopt --prepare has prepared says to adopt it or to give up, and changes nothing', async () => {
  const restored = await restore('v2.196.0')
  await prepare(restored)
  const tables = () =>
    runSql(
      restored.database.superuserUrl,
      "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' ORDER BY 1",
    )
  const before = await tables()
  await expect(migrateToLatest(restored.deps.config)).rejects.toThrow(
    new Error(
      'auth adopt has prepared the schema auth, from which supabase/auth serves: run auth adopt, which takes over, or auth adopt --undo, which gives up',
    ),
  )
  expect(await tables()).toEqual(before)
})

it('auth migrate down refuses a database that is prepared, adopted or adopted for good, and changes nothing', async () => {
  const restored = await restore('v2.43.1')
  const { deps, database } = restored
  const objects = () =>
    runSql(
      database.superuserUrl,
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' UNION ALL SELECT oid::regprocedure::text FROM pg_proc
       UNION ALL SELECT name FROM auth.trestle_migrations ORDER BY 1`,
    )
  const expectRefusal = async (message: string) => {
    const before = await objects()
    await expect(migrateDown(migrateOptions(deps.config))).rejects.toThrow(new Error(message))
    expect(await objects()).toEqual(before)
  }
  const adopted = 'the schema auth has the tables of supabase/auth, which migrate down would drop: '
  await prepare(restored)
  await expectRefusal(
    'auth adopt has prepared the schema auth, from which supabase/auth serves: run auth adopt, which takes over, or auth adopt --undo, which gives up',
  )
  await adopt(restored)
  await expectRefusal(`${adopted}auth adopt --undo gives the database back`)
  expect(await forgetAdoption(deps, async () => true)).toBe(true)
  await expectRefusal(
    `${adopted}the schema auth is adopted for good: adopt --forget has dropped what undo needs, or the dump from which it was restored lacks the schema auth_before_trestle. Start the service`,
  )
})

it('adopt --undo keeps what a newer version of supabase/auth counts as migrated since --prepare, and drops the rest', async () => {
  const restored = await restore('v2.151.0')
  const before = await readShape(restored)
  await prepare(restored)
  await runSql(restored.database.superuserUrl, MIGRATION)
  await undo(restored)
  expect(await readShape(restored)).toEqual([...before, 'phone', 'phone', 'unique_verified_phone_factor'].sort())
})

it('adopt --undo restores the form that a newer version of supabase/auth had given the tables before the switch', async () => {
  const restored = await restore('v2.151.0')
  const before = await readShape(restored)
  await prepare(restored)
  await runSql(restored.database.superuserUrl, MIGRATION)
  expect((await adopt(restored)).version).toBe(SINCE)
  await undo(restored)
  expect(await readShape(restored)).toEqual([...before, 'phone', 'phone', 'unique_verified_phone_factor'].sort())
})

it('adopt refuses to switch when a newer version of supabase/auth migrates while the adoption waits for locks', async () => {
  const restored = await restore('v2.151.0')
  const { superuserUrl, url } = restored.database
  const old = new pg.Client({ connectionString: url })
  await old.connect()
  onTestFinished(() => old.end())
  await old.query('BEGIN; LOCK TABLE auth.mfa_challenges IN ACCESS SHARE MODE')
  const refused = expect(adopt(restored)).rejects.toThrow(
    new Error(
      `the old service has migrated the database from ${BEFORE} to ${SINCE} meanwhile: stop it, and run auth adopt again`,
    ),
  )
  const listAwaited = () =>
    runSql(
      superuserUrl,
      `SELECT relation::regclass::text AS name FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
  await vi.waitUntil(async () => (await listAwaited()).length > 0, { timeout: 60_000, interval: 10 })
  await runSql(superuserUrl, `INSERT INTO auth.schema_migrations (version) VALUES ('${SINCE}')`)
  await old.query('COMMIT')
  await refused
  expect((await adopt(restored)).version).toBe(SINCE)
})

it('adopt --undo refuses tables that lack the migrations of supabase/auth that the database counts', async () => {
  const restored = await restoreAdopted('v2.151.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, `INSERT INTO auth.schema_migrations (version) VALUES ('${SINCE}')`)
  await expect(undoAdoption(restored.deps, () => expect.fail('asked'))).rejects.toThrow(
    new Error(
      `nothing changed: the newest migration of supabase/auth was ${BEFORE} at the switch, and is ${SINCE} now. Delete the later rows of auth.schema_migrations, and run this again: supabase/auth runs these migrations when it starts`,
    ),
  )
  await runSql(superuserUrl, `DELETE FROM auth.schema_migrations WHERE version > '${BEFORE}'`)
  expect(await undo(restored)).toBe(true)
})
