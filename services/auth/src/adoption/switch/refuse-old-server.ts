import { type Kysely, type RawBuilder, sql } from 'kysely'
import { hasRelation } from '../../schema/catalog.ts'
import { REFUSING_FUNCTION, REFUSING_TRIGGER } from '../../schema/own-objects.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'

/**
 * Refuses every write of an old server that is started again after the switch (reference: Adopting a database). Most of its
 * transactions need a table that has moved. But with refresh tokens of form 2 and GOTRUE_AUDIT_LOG_DISABLE_POSTGRES=true, a
 * sign-in, a refresh or a sign-out writes to the tables that stay alone.
 *
 * The old server logs in as the owner of the tables, as this service does, and changes the same columns. It
 * is known by its statements: they name tables without the schema, which no statement of this service does.
 * Other roles may write as they like. The SQLSTATE makes recent versions of the old server answer a sign-up
 * with 503. A refresh fails with 500 before it writes: every error of its first SELECT is a 500 there.
 * Therefore the old server is stopped before the switch (runbook: Moving in).
 */
export async function refuseOldServer(
  trx: Kysely<unknown>,
  places: AdoptionPlaces,
  tables: readonly string[],
): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${functionOf(places)}() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
    BEGIN
      IF current_query() ~* ('^\\s*(insert\\s+into|update|delete\\s+from)\\s+"?' || TG_TABLE_NAME || '"?[\\s(]')
        AND session_user = (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = TG_RELID) THEN
        RAISE EXCEPTION 'auth has adopted this database: stop the server of supabase/auth that still runs' USING ERRCODE = 'PT503';
      END IF;
      RETURN NULL;
    END $$`.execute(trx)
  for (const table of tables) {
    if (!(await hasRelation(trx, places.names.schema, table))) continue
    await sql`
      CREATE TRIGGER ${sql.id(REFUSING_TRIGGER)} BEFORE INSERT OR UPDATE OR DELETE ON ${places.names.id(table)}
      FOR EACH STATEMENT EXECUTE FUNCTION ${functionOf(places)}()`.execute(trx)
  }
}

/** Lets the old server write again, to the tables that it will have. */
export async function allowOldServer(trx: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  await sql`DROP FUNCTION IF EXISTS ${functionOf(places)}() CASCADE`.execute(trx)
}

function functionOf({ names }: AdoptionPlaces): RawBuilder<unknown> {
  return names.id(REFUSING_FUNCTION)
}
