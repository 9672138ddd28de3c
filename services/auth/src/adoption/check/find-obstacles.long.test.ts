import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { expect, it } from 'vitest'
import { adopt, prepare, type Restored, restore, restoreAdopted } from '../../../test/adoption/adopted-app.ts'
import { runSql } from '../../../test/adoption/restored-database.ts'
import { adoptOptions, authNames } from '../../migrations.ts'
import { listReplaced } from '../changes/added-columns.ts'
import { checkAdoption } from '../use-cases/check-adoption.ts'
import { undoAdoption } from '../use-cases/undo-adoption.ts'
import { listNamesakes } from './find-obstacles.ts'

const REASON = 'has a name that this service needs: rename it, or move it to another schema'

/** Lists the tables, views, indexes, sequences and functions of the schema, and the columns of its tables. */
async function listObjects({ database }: Restored): Promise<readonly string[]> {
  const rows = await runSql<{ object: string }>(
    database.superuserUrl,
    `SELECT pg_describe_object('pg_class'::regclass, oid, 0) AS object FROM pg_class
       WHERE relnamespace = 'auth'::regnamespace AND relkind <> 'c'
     UNION ALL SELECT pg_describe_object('pg_proc'::regclass, oid, 0) FROM pg_proc WHERE pronamespace = 'auth'::regnamespace
     UNION ALL SELECT pg_describe_object('pg_class'::regclass, attrelid, attnum) FROM pg_attribute
       WHERE attrelid IN ('auth.users'::regclass, 'auth.identities'::regclass, 'auth.sessions'::regclass,
         'auth.mfa_factors'::regclass, 'auth.mfa_amr_claims'::regclass) AND attnum > 0 AND NOT attisdropped`,
  )
  return rows.map(({ object }) => object.replace(/^(function )?(?!.* of table )(\w+ )?(auth\.)?/, '$1$2auth.'))
}

it.each([
  ['CREATE FUNCTION auth.sign_out(a uuid) RETURNS int LANGUAGE sql RETURN 1', 'function auth.sign_out(uuid)'],
  ['CREATE FUNCTION auth.uuid_v7() RETURNS uuid LANGUAGE sql RETURN gen_random_uuid()', 'function auth.uuid_v7()'],
  ['CREATE TABLE auth.messages (id int)', 'table auth.messages'],
  ['CREATE VIEW auth.user_factors AS SELECT 1 AS one', 'view auth.user_factors'],
  ['CREATE INDEX users_email_lower_key ON auth.users (lower(email))', 'index auth.users_email_lower_key'],
  ['CREATE TABLE auth.mine (id int CONSTRAINT outbox_pkey PRIMARY KEY)', 'index auth.outbox_pkey'],
  ['CREATE DOMAIN auth.outbox AS int', 'type auth.outbox'],
  ['ALTER TABLE auth.users ADD COLUMN console_role text', 'column console_role of table auth.users'],
])(
  'adopt refuses an application object with a name of ours, which --check names, and leaves it alone: %s',
  async (statement, object) => {
    const restored = await restore('v2.196.0')
    await runSql(restored.database.superuserUrl, statement)
    const before = await listObjects(restored)
    const { obstacles } = await checkAdoption(restored.deps, { force: false })
    expect(obstacles).toEqual([`${object} ${REASON}`])
    await expect(adopt(restored)).rejects.toThrow(obstacles.join())
    expect(await listObjects(restored)).toEqual(before)
    expect(
      await runSql(restored.database.superuserUrl, "SELECT to_regnamespace('auth_before_trestle') AS begun"),
    ).toEqual([{ begun: null }])
  },
)

it('knows every name that an adoption makes', async () => {
  const restored = await restore('v2.196.0')
  const before = new Set(await listObjects(restored))
  await adopt(restored)
  const { config } = restored.deps
  const names = authNames(config)
  // Indexes of tables that move free their names. PostgreSQL chooses another name if one of the `chosen` names is taken.
  const replaced = new RegExp(
    `^(index|sequence) auth.((${(await listReplaced(names)).join('|')})_|custom_providers_|audit_log_|webauthn_credential_id_)`,
  )
  const chosen = /^(index auth.trestle_migrations_(lock_)?pkey|sequence auth.outbox_id_seq)$/
  const made = (await listObjects(restored)).filter(
    (object) => !before.has(object) && !replaced.test(object) && !chosen.test(object),
  )
  const found = await withDatabase(adoptOptions(config), (db) => listNamesakes(db, names, { hasBegun: false }))
  const known = new Set(found.map((line) => line.replace(` ${REASON}`, '')))
  expect(made.length).toBeGreaterThan(50)
  expect(made.filter((object) => !known.has(object))).toEqual([])
})

it('adopt refuses a function of an application that comes after --prepare, before the switch', async () => {
  const restored = await restore('v2.196.0')
  await prepare(restored)
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, 'CREATE FUNCTION auth.sign_out(a uuid) RETURNS int LANGUAGE sql RETURN 1')
  await expect(adopt(restored)).rejects.toThrow(`function auth.sign_out(uuid) ${REASON}`)
  expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  expect(await runSql(superuserUrl, 'SELECT auth.sign_out(NULL) AS one')).toEqual([{ one: 1 }])
})

it('adopt --undo names a function of an application with the name of one of ours, and drops none', async () => {
  const restored = await restoreAdopted('v2.196.0')
  const { superuserUrl } = restored.database
  await runSql(superuserUrl, 'CREATE FUNCTION auth.sign_out(a uuid) RETURNS int LANGUAGE sql RETURN 1')
  await expect(undoAdoption(restored.deps, async () => true)).rejects.toThrow('function auth.sign_out(uuid)')
  expect(await runSql(superuserUrl, 'SELECT auth.sign_out(NULL::uuid) AS one')).toEqual([{ one: 1 }])
})
