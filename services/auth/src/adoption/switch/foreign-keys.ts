import { violates } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, sql } from 'kysely'

/**
 * The foreign keys of tables that are filled while the old service serves. One that is checked for each row would lock the row of
 * supabase/auth that it leads to, and a refresh there passes over a locked row.
 */
const FOREIGN_KEYS = [
  { name: 'user_directory_user_fkey', table: 'user_directory', column: 'user_id', parent: 'users' },
  { name: 'refresh_tokens_session_fkey', table: 'refresh_tokens', column: 'session_id', parent: 'sessions' },
] as const
type ForeignKey = (typeof FOREIGN_KEYS)[number]

/** Adds the keys in the switch. They hold from then on. To check the rows that are there takes seconds, so it comes later. */
export async function addForeignKeys(trx: Kysely<unknown>, { id, local }: Names): Promise<void> {
  for (const { name, table, column, parent } of FOREIGN_KEYS)
    await sql`
      ALTER TABLE ${id(table)} ADD CONSTRAINT ${local(name)}
      FOREIGN KEY (${sql.id(column)}) REFERENCES ${id(parent)} (id) ON DELETE CASCADE NOT VALID`.execute(trx)
}

/**
 * Checks the rows from before the switch, and deletes those whose user or session is gone: a user who was
 * deleted while the directory was filled, or a session that a replica has deleted, which no trigger notes.
 * Locks nobody out. Does nothing where an earlier run has.
 */
export async function checkForeignKeys(db: Kysely<unknown>, names: Names): Promise<void> {
  for (const key of FOREIGN_KEYS) {
    if (await isValid(db, names, key)) continue
    const check = sql`ALTER TABLE ${names.id(key.table)} VALIDATE CONSTRAINT ${names.local(key.name)}`
    try {
      await check.execute(db)
    } catch (error) {
      if (!violates(error, names, key.name)) throw error
      await deleteOrphans(db, names, key)
      await check.execute(db)
    }
  }
}

async function isValid(db: Kysely<unknown>, { schema }: Names, { name, table }: ForeignKey): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM pg_constraint
    WHERE conrelid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) AND conname = ${name} AND convalidated`.execute(
    db,
  )
  return rows.length > 0
}

async function deleteOrphans(db: Kysely<unknown>, { id }: Names, { table, column, parent }: ForeignKey): Promise<void> {
  await sql`
    DELETE FROM ${id(table)} t WHERE NOT EXISTS (SELECT FROM ${id(parent)} p WHERE p.id = t.${sql.id(column)})`.execute(
    db,
  )
}
