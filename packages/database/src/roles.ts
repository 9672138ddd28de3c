import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'

/** A role name that needs no quoting anywhere. */
export const ROLE_PATTERN = /^[a-z_][a-z0-9_]{0,62}$/

export interface GrantOptions {
  readonly names: Names
  /** The role that the service works as. Made when it is missing. */
  readonly role: string
  /** Tables that the role may read and add to, but never change: ledgers. */
  readonly appendOnly: readonly string[]
}

/** Gives the service's role what it needs in its schemas and nothing else: no DDL, no change of ledgers. */
export async function grantToRole(db: Kysely<unknown>, { names, role, appendOnly }: GrantOptions): Promise<void> {
  if (!ROLE_PATTERN.test(role)) throw new Error(`"${role}" is no role name`)
  await createRole(db, role)
  for (const schema of [names.schema, names.jobSchema]) {
    if (!(await schemaExists(db, schema))) continue
    const [to, of] = [sql.id(role), sql.id(schema)]
    await sql`GRANT USAGE ON SCHEMA ${of} TO ${to}`.execute(db)
    await sql`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${of} TO ${to}`.execute(db)
    await sql`GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${of} TO ${to}`.execute(db)
    await sql`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${of} TO ${to}`.execute(db)
  }
  for (const table of [...appendOnly, 'schema_migrations', 'schema_migrations_lock']) {
    await sql`REVOKE UPDATE, DELETE, TRUNCATE ON ${names.id(table)} FROM ${sql.id(role)}`.execute(db)
  }
}

async function createRole(db: Kysely<unknown>, role: string): Promise<void> {
  const { rows } = await sql`SELECT 1 FROM pg_roles WHERE rolname = ${role}`.execute(db)
  // Another service's migration may make the same role at the same moment.
  if (rows.length === 0) {
    await sql`DO $$ BEGIN CREATE ROLE ${sql.id(role)} NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$`.execute(
      db,
    )
  }
  await sql`GRANT ${sql.id(role)} TO CURRENT_USER`.execute(db)
}

async function schemaExists(db: Kysely<unknown>, schema: string): Promise<boolean> {
  const { rows } = await sql`SELECT 1 FROM pg_namespace WHERE nspname = ${schema}`.execute(db)
  return rows.length > 0
}
