import { againWhenLocked } from '@trestle/database/migrations/migration-connection.ts'
import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { createRefreshTokens } from '@trestle/migrations/auth/0008-create-refresh-tokens.ts'
import { type Kysely, sql } from 'kysely'
import { dropSchema, hasRelation } from '../../schema/catalog.ts'
import { NOTING_TRIGGER } from '../../schema/own-objects.ts'
import { inGentle } from '../adoption-locks.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { ID_GAP, lastNumber } from '../copy/copy-refresh-tokens.ts'

/** The tables whose changes are noted, each with the column that contains the session id. */
const WATCHED = [
  { table: 'refresh_tokens', column: 'session_id' },
  { table: 'sessions', column: 'id' },
] as const
type Watched = (typeof WATCHED)[number]

/** The table of sessions with a derived token. It stores the `printOf` of each key at the time of its copy. */
export const KEYED = 'keyed_sessions'

/** The tables in the schema of copies. They exist until the switch. */
const STAGED_TABLES = ['refresh_tokens', 'changes', 'progress', KEYED] as const
/** The trigger functions that note changed sessions, in the schema of copies. */
const STAGING_FUNCTIONS = WATCHED.map(({ table }) => `note_${table}()`)

/**
 * Creates the new table of refresh tokens next to the table of supabase/auth, and triggers that note each later change of a
 * session. Each trigger is created in its own transaction. Skips everything that an earlier run has done.
 */
export async function prepareStaging(db: Kysely<unknown>, places: AdoptionPlaces): Promise<void> {
  if (!(await hasRelation(db, places.staging, 'refresh_tokens')))
    await inLatest(db).execute((trx) => createTables(trx, places))
  for (const watched of WATCHED) {
    if (!(await hasTrigger(db, places, watched)))
      await againWhenLocked(() =>
        inGentle(db, (trx) => createTrigger(trx, places, watched), { places, table: watched.table }),
      )
  }
}

/**
 * Creates the tables. The table of tokens has no foreign keys, because their checks would lock sessions. It has a primary key,
 * because a publication FOR ALL TABLES forbids updates without one.
 */
async function createTables(trx: Kysely<unknown>, { names, staging }: AdoptionPlaces): Promise<void> {
  const id = (name: string) => (name.startsWith('refresh_tokens') ? sql.id(staging, name) : names.id(name))
  await createRefreshTokens({ ...names, id }).inPlace?.up(trx)
  await sql`
    CREATE TABLE ${sql.id(staging, 'progress')} AS
    SELECT NULL::uuid AS after, coalesce(greatest(max(id), ${lastNumber(names)}), 0) + ${sql.lit(ID_GAP)} AS first_derived
    FROM ${names.id('refresh_tokens')}`.execute(trx)
  await sql`ALTER TABLE ${sql.id(staging, 'progress')} ADD PRIMARY KEY (first_derived)`.execute(trx)
  await sql`
    SELECT setval(${`"${staging}".refresh_tokens_id_seq`}, first_derived, false)
    FROM ${sql.id(staging, 'progress')}`.execute(trx)
  await sql`
    CREATE TABLE ${sql.id(staging, 'changes')} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session_id uuid)`.execute(
    trx,
  )
  await sql`CREATE TABLE ${sql.id(staging, KEYED)} (session_id uuid PRIMARY KEY, print bigint NOT NULL)`.execute(trx)
}

async function hasTrigger(
  db: Kysely<unknown>,
  { names: { schema } }: AdoptionPlaces,
  { table }: Watched,
): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM pg_trigger
    WHERE tgrelid = to_regclass(format('%I.%I', ${schema}::text, ${table}::text)) AND tgname = ${NOTING_TRIGGER}`.execute(
    db,
  )
  return rows.length > 0
}

/**
 * Creates a trigger. Waits for transactions that write to the table. The function runs with the rights of its owner, so changes
 * by every role are noted.
 */
async function createTrigger(
  trx: Kysely<unknown>,
  { names, staging }: AdoptionPlaces,
  { table, column }: Watched,
): Promise<void> {
  const note = sql.id(staging, `note_${table}`)
  await sql`
    CREATE FUNCTION ${note}() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
      INSERT INTO ${sql.id(staging, 'changes')} (session_id) VALUES (coalesce(NEW.${sql.id(column)}, OLD.${sql.id(column)}));
      IF OLD.${sql.id(column)} <> NEW.${sql.id(column)} THEN
        INSERT INTO ${sql.id(staging, 'changes')} (session_id) VALUES (OLD.${sql.id(column)});
      END IF;
      RETURN NULL;
    END
    $$`.execute(trx)
  await sql`
    CREATE TRIGGER ${sql.id(NOTING_TRIGGER)} AFTER INSERT OR UPDATE OR DELETE ON ${names.id(table)}
    FOR EACH ROW EXECUTE FUNCTION ${note}()`.execute(trx)
}

/** Drops the triggers of `prepareStaging`. */
export async function dropTriggers(trx: Kysely<unknown>, { names }: AdoptionPlaces): Promise<void> {
  for (const { table } of WATCHED)
    await sql`DROP TRIGGER IF EXISTS ${sql.id(NOTING_TRIGGER)} ON ${names.id(table)}`.execute(trx)
}

/**
 * Drops the staging tables of an adoption and their schema, like `dropSchema`. The triggers must be dropped before.
 * @throws DatabaseError (2BP01)
 */
export async function dropStaging(trx: Kysely<unknown>, { staging }: Pick<AdoptionPlaces, 'staging'>): Promise<void> {
  await dropSchema(trx, staging, { tables: STAGED_TABLES, functions: STAGING_FUNCTIONS })
}
