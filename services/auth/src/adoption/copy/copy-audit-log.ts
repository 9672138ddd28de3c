import { inLatest } from '@trestle/database/migrations/migrator.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import { NIL_UUID } from '../../records/ids.ts'
import { hasRelation } from '../../schema/catalog.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import type { Loss } from '../upstream-tables.ts'
import { notAfter } from './copy-live-rows.ts'

const BATCH_ENTRIES = 10_000

export interface CopiedEntries {
  readonly copied: number
  /** The number of copied entries with a changed payload, because PostgreSQL rejects their payload as `jsonb`. */
  readonly rewritten: number
}

/**
 * Copies the entries of the audit log in batches, except those that an earlier run has copied. PostgreSQL does not decode escapes
 * in `json`, the old type of payloads. U+0000 and unpaired surrogates become U+FFFD here. If `jsonb` rejects a payload for
 * another reason, such as a too large number, the payload becomes the member `text`. Copies nothing if the table does not exist,
 * because supabase/auth can write its audit log elsewhere.
 * @param isOther SQL for whether an id belongs to a user here who is unknown to the source. Such a user gets no entries
 */
export async function copyAuditLog(
  db: Kysely<unknown>,
  { names, kept }: Pick<AdoptionPlaces, 'names' | 'kept'>,
  isOther: (id: RawBuilder<unknown>) => RawBuilder<unknown> = () => sql`false`,
): Promise<CopiedEntries> {
  if (!(await hasRelation(db, kept, 'audit_log_entries'))) return { copied: 0, rewritten: 0 }
  await createReader(db, kept)
  const userOf = (text: RawBuilder<unknown>) =>
    sql`(SELECT n.id FROM (SELECT ${idOf(text)} AS id) n WHERE NOT (${isOther(sql`n.id`)}))`
  const read = (payload: RawBuilder<unknown>) => sql`${sql.id(kept, READER)}(${payload})`
  let after: string | undefined
  let [copied, rewritten] = [0, 0]
  for (;;) {
    const { rows } = await sql<{ last: string | null; copied: string; rewritten: string }>`
      WITH batch AS (
        SELECT id, payload::text AS text, ${read(sql`payload::text`)} AS payload, created_at, ip_address
        FROM ${sql.id(kept, 'audit_log_entries')} ${after === undefined ? sql`` : sql`WHERE id > ${after}`} ORDER BY id LIMIT ${sql.lit(BATCH_ENTRIES)}),
      readable AS (
        SELECT *, payload IS NULL AS is_rewritten FROM batch WHERE text IS NOT NULL),
      entry AS (
        SELECT id, created_at, ip_address, is_rewritten,
            coalesce(payload, ${read(withoutRefused(sql`text`))}, jsonb_build_object('text', text)) AS payload FROM readable),
      copied AS (
        INSERT INTO ${names.id('audit_log_entries')}
            (id, actor_id, target_user_id, action, log_type, ip_address, created_at, payload)
          SELECT id, ${userOf(sql`payload ->> 'actor_id'`)}, ${userOf(sql`payload #>> '{traits,user_id}'`)},
              coalesce(payload ->> 'action', ''), coalesce(payload ->> 'log_type', ''), ip_address, coalesce(${notAfter(sql.ref('created_at'), sql`clock_timestamp()`)}, 'epoch'),
              payload
            FROM entry ON CONFLICT (id) DO NOTHING RETURNING id)
      SELECT (SELECT max(id::text) FROM batch) AS last, count(*) AS copied, count(*) FILTER (WHERE is_rewritten) AS rewritten
        FROM copied JOIN entry USING (id)`.execute(db)
    const [row] = rows
    if (row === undefined || row.last === null) break
    after = row.last
    copied += Number(row.copied)
    rewritten += Number(row.rewritten)
  }
  await sql`DROP FUNCTION ${sql.id(kept, READER)}(text)`.execute(db)
  return { copied, rewritten }
}

/**
 * Counts the audit log entries that a copy would rewrite. An anonymous PL/pgSQL block creates no object, so it also runs on a
 * standby. It returns no value, so it stores the count in a setting of its transaction.
 */
export async function countRefusedPayloads(
  db: Kysely<unknown>,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
): Promise<number> {
  if (!(await hasRelation(db, schema, 'audit_log_entries'))) return 0
  return inLatest(db).execute(async (trx) => {
    await sql`
      DO $$ DECLARE entry text; refused bigint := 0; BEGIN
        FOR entry IN SELECT payload::text FROM ${sql.id(schema, 'audit_log_entries')} WHERE payload IS NOT NULL LOOP
          BEGIN
            PERFORM entry::jsonb;
          EXCEPTION WHEN ${REFUSALS} THEN
            refused := refused + 1;
          END;
        END LOOP;
        PERFORM set_config('trestle.refused_payloads', refused::text, true);
      END $$`.execute(trx)
    const { rows } = await sql<{ count: string }>`
      SELECT current_setting('trestle.refused_payloads') AS count`.execute(trx)
    return Number(rows[0]?.count)
  })
}

/** Returns a description of the entries that a copy rewrites, with their number. Empty if there are none. */
export function describeRewritten(count: number): readonly Loss[] {
  const what =
    'entries of the audit log that jsonb refuses: U+FFFD takes the place of U+0000 and of half surrogate pairs'
  return count === 0 ? [] : [{ what, count }]
}

/** The SQL function that reads payloads. A copy that was killed leaves it in the database. */
export const READER = 'trestle_read_payload'

/** The errors with which PostgreSQL rejects a text as `jsonb`. */
const REFUSALS = sql`data_exception OR program_limit_exceeded`

/** Creates a function that returns NULL for invalid `jsonb` text. PostgreSQL 15 has no such function. */
async function createReader(db: Kysely<unknown>, schema: string): Promise<void> {
  await sql`
    CREATE OR REPLACE FUNCTION ${sql.id(schema, READER)}(payload text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN
      RETURN payload::jsonb;
    EXCEPTION WHEN ${REFUSALS} THEN
      RETURN NULL;
    END $$`.execute(db)
}

/**
 * Replacements of JSON escapes, in order. The first rewrites escaped backslashes, so that each remaining backslash begins an
 * escape. The second protects valid surrogate pairs with letters that no escape uses. A look-behind would be slow: for each
 * surrogate, it would start at the first character of the text.
 */
const REPLACEMENTS = [
  [String.raw`\\\\`, String.raw`\\u005c`],
  [String.raw`\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})`, String.raw`\\h\1\\l\2`],
  [String.raw`\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})`, String.raw`\\ufffd`],
  [String.raw`\\[hl]`, String.raw`\\u`],
] as const

/** Returns SQL for a JSON text with U+FFFD in place of the escapes that `jsonb` rejects. */
function withoutRefused(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return REPLACEMENTS.reduce(
    (replaced, [pattern, by]) => sql`regexp_replace(${replaced}, ${pattern}::text, ${by}::text, 'g')`,
    text,
  )
}

/** SQL for a text as an id, or NULL if it is not an id. The nil UUID is no user, so it becomes NULL too. */
function idOf(text: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`CASE WHEN ${text} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN nullif((${text})::uuid, ${sql.lit(NIL_UUID)}) END`
}
