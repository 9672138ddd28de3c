import { withDatabase } from '@trestle/database/migrations/migration-connection.ts'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { adopt, prepare, restore } from '../../../test/adoption/adopted-app.ts'
import { runSql, type Version } from '../../../test/adoption/restored-database.ts'
import { adoptOptions } from '../../migrations.ts'
import { checkAdoption } from '../use-cases/check-adoption.ts'
import { undoAdoption } from '../use-cases/undo-adoption.ts'
import { listMissingRights } from './missing-rights.ts'

const OWNER = 'supabase_auth_admin'
const NO_CREATE = `the schema auth grants no CREATE: as a superuser, run GRANT CREATE ON SCHEMA "auth" TO "${OWNER}"`
const HANDED_OVER = `ALTER SCHEMA auth OWNER TO supabase_admin; REVOKE CREATE ON SCHEMA auth FROM ${OWNER}; GRANT USAGE ON SCHEMA auth TO ${OWNER}`

describe('a database on which its owner lacks a right', () => {
  it.each<[string, Version, string, readonly string[]]>([
    [
      'a table that moves and belongs to another role',
      'v2.196.0',
      `ALTER TABLE auth.mfa_challenges OWNER TO postgres; GRANT ALL ON auth.mfa_challenges TO ${OWNER}`,
      [
        `the table auth.mfa_challenges belongs to postgres: as a superuser, run ALTER TABLE "auth"."mfa_challenges" OWNER TO "${OWNER}"`,
      ],
    ],
    [
      'a table that stays and belongs to another role',
      'v2.196.0',
      `ALTER TABLE auth.identities OWNER TO postgres; GRANT ALL ON auth.identities TO ${OWNER}`,
      [
        `the table auth.identities belongs to postgres: as a superuser, run ALTER TABLE "auth"."identities" OWNER TO "${OWNER}"`,
      ],
    ],
    ['no right to create in the schema', 'v2.196.0', HANDED_OVER, [NO_CREATE]],
    [
      'a type that gets a value and belongs to another role',
      'v2.43.1',
      'ALTER TYPE auth.factor_type OWNER TO postgres',
      [
        `the type auth.factor_type belongs to postgres: as a superuser, run ALTER TYPE "auth"."factor_type" OWNER TO "${OWNER}"`,
      ],
    ],
    [
      'rights that the owner has taken from itself',
      'v2.196.0',
      `REVOKE REFERENCES, TRIGGER ON auth.users FROM ${OWNER}; REVOKE SELECT ON auth.sso_domains FROM ${OWNER}`,
      [
        `the table auth.sso_domains grants no SELECT: as its owner, run GRANT SELECT ON "auth"."sso_domains" TO "${OWNER}"`,
        `the table auth.users grants no REFERENCES, TRIGGER: as its owner, run GRANT REFERENCES, TRIGGER ON "auth"."users" TO "${OWNER}"`,
      ],
    ],
    [
      'rows that a table hides from its owner too',
      'v2.196.0',
      `ALTER TABLE auth.audit_log_entries FORCE ROW LEVEL SECURITY; ALTER TABLE auth.audit_log_entries ENABLE ROW LEVEL SECURITY`,
      [
        `the table auth.audit_log_entries hides rows from ${OWNER}: as its owner, run ALTER TABLE "auth"."audit_log_entries" NO FORCE ROW LEVEL SECURITY`,
      ],
    ],
  ])('is refused before anything changes, with the statement to run: %s', async (_case, version, change, obstacles) => {
    const restored = await restore(version)
    const { superuserUrl } = restored.database
    await runSql(superuserUrl, change)
    expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual(obstacles)
    await expect(prepare(restored)).rejects.toThrow(new Error(obstacles.join('\n')))
    const made = `SELECT nspname FROM pg_namespace WHERE nspname IN ('auth_before_trestle', 'auth_adopting', 'auth_jobs')`
    expect(await runSql(superuserUrl, made)).toEqual([])
    await runSql(superuserUrl, obstacles.map((line) => line.split(', run ')[1]).join('; '))
    expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([])
  })

  it('is not refused where rights to change entries of the audit log are taken away', async () => {
    const restored = await restore('v2.196.0')
    await runSql(
      restored.database.superuserUrl,
      `REVOKE UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES ON auth.audit_log_entries FROM ${OWNER}`,
    )
    await adopt(restored)
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  })

  it('is given back by undo once the right that was taken away is there again, which undo names', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    await prepare(restored)
    await runSql(superuserUrl, HANDED_OVER)
    await expect(undoAdoption(restored.deps, async () => true)).rejects.toThrow(new Error(NO_CREATE))
    await runSql(superuserUrl, `GRANT CREATE ON SCHEMA auth TO ${OWNER}`)
    expect(await undoAdoption(restored.deps, async () => true)).toBe(true)
  })
})

const tight = (kind: string, name: string, statement: string) =>
  `the ${kind} ${name} has at most 9 connections, and a run needs 10 beside those of the old service: as a superuser, run ${statement} CONNECTION LIMIT 19`

describe('a limit of connections that a run would meet', () => {
  it('is named and stops an adoption before it begins, where the database has it', async () => {
    const restored = await restore('v2.196.0')
    const { superuserUrl } = restored.database
    const name = new URL(superuserUrl).pathname.slice(1)
    await runSql(superuserUrl, `ALTER DATABASE ${name} CONNECTION LIMIT 9`)
    const statement = `ALTER DATABASE "${name}"`
    const obstacle = tight('database', name, statement)
    expect((await checkAdoption(restored.deps, { force: false })).obstacles).toEqual([obstacle])
    await expect(prepare(restored)).rejects.toThrow(new Error(obstacle))
    await runSql(superuserUrl, `${statement} CONNECTION LIMIT 19`)
    await adopt(restored)
    expect((await checkAdoption(restored.deps, { force: false })).earlierRun).toBe('finished')
  })

  it('is named where the role has it', async () => {
    const { database, deps } = await restore('v2.196.0')
    // Other tests use the role at the same time. Roll back the limit, so that they never see it.
    const listed: string[] = []
    await withDatabase({ url: database.superuserUrl }, (db) =>
      db.transaction().execute(async (trx) => {
        await sql`ALTER ROLE ${sql.id(OWNER)} CONNECTION LIMIT 9`.execute(trx)
        await sql`SET LOCAL ROLE ${sql.id(OWNER)}`.execute(trx)
        listed.push(...(await listMissingRights(trx, adoptOptions(deps.config).names)))
        throw new Error('taken back')
      }),
    ).catch(() => {})
    expect(listed).toEqual([tight('role', OWNER, `ALTER ROLE "${OWNER}"`)])
  })
})
