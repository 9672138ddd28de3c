import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'

/** The old service goes on numbering its tokens meanwhile. */
export const ID_GAP = 1_000_000_000n
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
 * The last number that the old service has given to a token. Its sequence may be far ahead of its rows; NULL
 * where there is none.
 */
export function lastNumber({ schema }: Names): RawBuilder<unknown> {
  return sql`pg_sequence_last_value(pg_get_serial_sequence(format('%I.refresh_tokens', ${schema}::text), 'id')::regclass)`
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
