import { createSilentDatabase } from '@trestle/database/driver/silent-database.ts'
import { CLEAN_UP_INDEXES } from '@trestle/migrations/auth/clean-up-indexes.ts'
import { authFunctions, authMigrations } from '@trestle/migrations/auth.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { ownTables, REFUSING_FUNCTION } from '../../schema/own-objects.ts'
import { SERVED, UNSERVED } from '../upstream-tables.ts'

/** The columns of this service in the tables of supabase/auth that stay. */
const OWN_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  users: [
    'staged_at',
    'claimed_at',
    'keep_unconfirmed',
    'email_change_asked_at',
    'phone_change_asked_at',
    'email_change_session_id',
    'phone_change_session_id',
    'chosen_metadata',
    'console_role',
  ],
  sessions: ['last_ip', 'label'],
  mfa_factors: ['sealed_secret', 'last_used_step', 'credential', 'proved_at', 'guesses', 'guessed_at'],
  mfa_amr_claims: ['credential_since'],
}
/** The functions of policies, which supabase/auth makes too. */
const SHARED_FUNCTIONS = ['uid', 'role', 'email', 'jwt']

/**
 * Lists the objects of others with the name of a table, view, index, function, type or column that an
 * adoption makes. A run would fail at it, or take it for its own, and undo would drop it.
 * @param hasBegun whether an earlier run has made tables and columns of this service: only what comes later is looked for
 * @returns each in a line, with what to do about it
 */
export async function listNamesakes(
  db: QueryExecutorProvider,
  names: Names,
  { hasBegun }: { readonly hasBegun: boolean },
): Promise<readonly string[]> {
  const files = (await authFunctions()).map(({ name }) => name).filter((name) => !SHARED_FUNCTIONS.includes(name))
  const { made, replaced } = hasBegun ? NOTHING : await listMade(names)
  const columns = hasBegun ? [] : Object.entries(OWN_COLUMNS)
  const { rows } = await sql<{ object: string }>`
    WITH place AS (SELECT to_regnamespace(format('%I', ${names.schema}::text)) AS oid)
    SELECT pg_describe_object('pg_class'::regclass, c.oid, 0) AS object FROM pg_class c JOIN place p ON c.relnamespace = p.oid
      WHERE c.relname = ANY (${made}::text[])
        AND NOT (c.relkind IN ('r', 'p') AND c.relname = ANY (${[...SERVED, ...UNSERVED]}::text[]))
        AND NOT EXISTS (
          SELECT FROM pg_class t WHERE t.relnamespace = p.oid AND t.relname = ANY (${[...replaced]}::text[])
            AND (EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = c.oid AND i.indrelid = t.oid)
              OR EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype IN ('a', 'i'))))
    UNION SELECT pg_describe_object('pg_proc'::regclass, f.oid, 0) FROM pg_proc f JOIN place p ON f.pronamespace = p.oid
      WHERE f.proname = ANY (${[...files, REFUSING_FUNCTION, ...made]}::text[])
    UNION SELECT pg_describe_object('pg_type'::regclass, t.oid, 0) FROM pg_type t JOIN place p ON t.typnamespace = p.oid
      WHERE t.typname = ANY (${made}::text[]) AND t.typrelid = 0 AND t.typcategory <> 'A'
    UNION SELECT pg_describe_object('pg_class'::regclass, a.attrelid, a.attnum) FROM pg_attribute a
      JOIN pg_class c ON c.oid = a.attrelid JOIN place p ON c.relnamespace = p.oid
      JOIN unnest(${columns.flatMap(([table, own]) => own.map(() => table))}::text[], ${columns.flatMap(([, own]) => own)}::text[])
        AS own (table_name, column_name) ON own.table_name = c.relname AND own.column_name = a.attname
      WHERE NOT a.attisdropped
    ORDER BY object`.execute(db)
  return rows.map(
    ({ object }) => `${object} has a name that this service needs: rename it, or move it to another schema`,
  )
}

interface Made {
  /** The names that migrations write in an adopted database. Some are those of tables of supabase/auth. */
  readonly made: readonly string[]
  /** The tables of supabase/auth that move, with their indexes. */
  readonly replaced: readonly string[]
}

const NOTHING: Made = { made: [], replaced: [] }

async function listMade(names: Names): Promise<Made> {
  const made = new Set([
    ...ownTables,
    ...Object.keys(CLEAN_UP_INDEXES),
    'users_email_lower_key',
    'trestle_functions_pkey',
  ])
  const collecting: Names = {
    ...names,
    id: (name) => names.id(collect(made, name)),
    local: (name) => names.local(collect(made, name)),
  }
  const replaced: string[] = []
  const db = createSilentDatabase()
  for (const source of Object.values(authMigrations)) {
    const migration = await source(collecting)
    await (migration.inPlace ?? migration).up(db)
    replaced.push(...(migration.replaces ?? []))
  }
  return { made: [...made], replaced }
}

/** Adds a name to those that were made. @returns the name */
function collect(made: Set<string>, name: string): string {
  made.add(name)
  return name
}
