import { sql } from 'kysely'
import type { AuthDeps } from '../src/deps.ts'

/** Returns all rows of the service and its queue as text, except tables that the service cannot write. */
export async function readRows({ db, names }: Pick<AuthDeps, 'db' | 'names'>): Promise<string> {
  const { rows: tables } = await sql<{ schema: string; name: string }>`
    SELECT nspname AS schema, relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
    WHERE nspname IN (${names.schema}, ${names.jobSchema}) AND relkind IN ('r', 'p')
      AND has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE')`.execute(db)
  const texts = await Promise.all(
    tables.map(async ({ schema, name }) => {
      const { rows } = await sql<{ text: string }>`SELECT t::text AS text FROM ${sql.id(schema, name)} t`.execute(db)
      return rows.map(({ text }) => text)
    }),
  )
  return texts.flat().join('\n')
}

/** The encodings in which a column or a log line may contain a text. */
export const spellings = (text: string): readonly string[] =>
  (['utf8', 'hex', 'base64', 'base64url'] as const).map((form) => Buffer.from(text).toString(form).replace(/=+$/, ''))
