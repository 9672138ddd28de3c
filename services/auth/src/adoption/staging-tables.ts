import { againWhenLocked } from '@trestle/database/migrations/again-when-locked.ts'
import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { createRefreshTokens } from '@trestle/migrations/auth/0008-create-refresh-tokens.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { inGentle } from './adoption-locks.ts'
import type { AdoptionPlaces } from './adoption-record.ts'
import { hasRelation } from './catalog.ts'
import { ID_GAP } from './copy-refresh-tokens.ts'
import { NOTING_TRIGGER } from './hidden-tables.ts'

/** The tables whose changes are noted, each with its column for the id of the session. */
const WATCHED = [
  { table: 'refresh_tokens', column: 'session_id' },
  { table: 'sessions', column: 'id' },
] as const
type Watched = (typeof WATCHED)[number]

/** The sessions from whose key a token follows, with what `printOf` made of the key when it was copied. */
export const KEYED = 'keyed_sessions'

/** The tables in the schema of copies, which exist until the switch. */
export const STAGED_TABLES = ['refresh_tokens', 'changes', 'progress', KEYED] as const
/** The functions of the triggers that note changed sessions, in the schema of copies. */
export const STAGING_FUNCTIONS = WATCHED.map(({ table }) => `note_${table}()`)

/**
 * Makes the table of refresh tokens beside the table of supabase/auth, and triggers that note each session
 * that changes from now on. Each trigger is a transaction of its own. Does nothing that an earlier run has
 * done.
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
 * The table has no foreign keys, whose checks would lock sessions. A publication FOR ALL TABLES forbids to update a table
 * without a primary key.
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

/**
 * The last number that the old service has given to a token. Its sequence may be far ahead of its rows; NULL
 * where there is none.
 */
function lastNumber({ schema }: Names): RawBuilder<unknown> {
  return sql`pg_sequence_last_value(pg_get_serial_sequence(format('%I.refresh_tokens', ${schema}::text), 'id')::regclass)`
}

/** The greatest number of a token: the tokens of this service and those that the old one still makes come after it. */
const NUMBER_MAX = 2n ** 63n - 2n * ID_GAP

/**
 * Lists what has a number after which `bigint` has too few for the tokens of this service: a token, and the sequence.
 * @returns each in a line, with what to do about it
 */
export async function listSpentNumbers(db: QueryExecutorProvider, names: Names): Promise<readonly string[]> {
  const table = `${names.schema}.refresh_tokens`
  const { rows } = await sql<{ id: string | null; last: string | null }>`
    SELECT max(id)::text AS id, ${lastNumber(names)}::text AS last FROM ${names.id('refresh_tokens')}`.execute(db)
  const { id = null, last = null } = rows[0] ?? {}
  return [
    ...(isSpent(id)
      ? [`the row ${id} of ${table} leaves too few numbers for new tokens: delete it, or give it a lower id`]
      : []),
    ...(isSpent(last)
      ? [
          `the sequence of ${table} stands at ${last}, which leaves too few numbers for new tokens: run SELECT setval(pg_get_serial_sequence('${table}', 'id'), max(id)) FROM ${table}`,
        ]
      : []),
  ]
}

function isSpent(number: string | null): boolean {
  return number !== null && BigInt(number) > NUMBER_MAX
}

/**
 * Lists what would keep the name of the sequence of tokens at the switch. A sequence moves with the table of
 * supabase/auth only where the column owns it.
 * @returns each in a line, with what to do about it
 */
export async function listLooseSequences(db: QueryExecutorProvider, { schema }: Names): Promise<readonly string[]> {
  const { rows } = await sql<{ object: string; name: string; table: string; isInUse: boolean }>`
    SELECT pg_describe_object('pg_class'::regclass, s.oid, 0) AS object, format('%s', s.oid::regclass) AS name,
      format('%s', t.oid::regclass) AS "table", u."isInUse"
    FROM pg_class t JOIN pg_class s ON s.relnamespace = t.relnamespace CROSS JOIN LATERAL (
      SELECT s.relkind = 'S' AND EXISTS (
        SELECT FROM pg_attrdef f JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
        WHERE f.adrelid = t.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = s.oid) AS "isInUse") u
    WHERE t.oid = to_regclass(format('%I.refresh_tokens', ${schema}::text)) AND (s.relname = 'refresh_tokens_id_seq' OR u."isInUse")
      AND NOT EXISTS (
        SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = s.oid
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = t.oid AND d.deptype IN ('a', 'i'))
    ORDER BY name`.execute(db)
  return rows.map(({ object, name, table, isInUse }) =>
    isInUse
      ? `${object} does not belong to ${table}, whose rows it numbers, so it would not move with the table: run ALTER SEQUENCE ${name} OWNED BY ${table}.id`
      : `${object} has a name that this service needs: rename it, or move it to another schema`,
  )
}

/**
 * Lets new tokens have numbers after those of all copies: the old service may have gone on further than
 * `ID_GAP` since the copies began.
 */
export async function passCopiedNumbers(trx: Kysely<unknown>, names: Names): Promise<void> {
  const sequence = names.id('refresh_tokens_id_seq')
  await sql`
    SELECT setval(pg_get_serial_sequence(format('%I.refresh_tokens', ${names.schema}::text), 'id'), max(id))
    FROM ${names.id('refresh_tokens')} HAVING max(id) > (SELECT last_value FROM ${sequence})`.execute(trx)
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
 * Waits for transactions that write to the table. The trigger has the rights of its owner: whatever changes a session is noted.
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

/** Removes the triggers of `prepareStaging`. */
export async function dropTriggers(trx: Kysely<unknown>, { names }: AdoptionPlaces): Promise<void> {
  for (const { table } of WATCHED)
    await sql`DROP TRIGGER IF EXISTS ${sql.id(NOTING_TRIGGER)} ON ${names.id(table)}`.execute(trx)
}
