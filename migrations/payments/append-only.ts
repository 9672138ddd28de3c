import { type Kysely, sql } from 'kysely'
import type { Names } from '../migration.ts'

/** Makes PostgreSQL reject changes of a table's rows for every role. The migration of journals creates `refuse_change`. */
export async function refuseChanges(db: Kysely<unknown>, names: Names, table: string): Promise<void> {
  await sql`
    CREATE TRIGGER ${names.local(`${table}_append_only`)} BEFORE UPDATE OR DELETE OR TRUNCATE
    ON ${names.id(table)} FOR EACH STATEMENT EXECUTE FUNCTION ${names.id('refuse_change')}()`.execute(db)
}
