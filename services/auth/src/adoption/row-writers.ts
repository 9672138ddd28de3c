import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import type { AdoptionPlaces } from './adoption-record.ts'
import { namedIn } from './list-dependents.ts'

/**
 * The tables that get columns of this service, each with the last one that it gets, and whether PostgreSQL
 * looks for columns of its type elsewhere when it does: it does for a column with a default.
 */
const GAINING = {
  users: { last: 'console_role', isTypeFixed: true },
  mfa_factors: { last: 'guessed_at', isTypeFixed: true },
  mfa_amr_claims: { last: 'credential_since', isTypeFixed: false },
  sessions: { last: 'label', isTypeFixed: false },
  identities: { last: 'provider_id', isTypeFixed: true },
} as const

/** The tables of `GAINING` whose columns are still to come. */
const gaining = (schema: string): RawBuilder<unknown> => sql`
  gaining AS (
    SELECT c.oid, c.reltype, c.relname::text AS name, g.is_type_fixed FROM pg_class c
    JOIN unnest(${Object.keys(GAINING)}::text[], ${Object.values(GAINING).map(({ last }) => last)}::text[],
      ${Object.values(GAINING).map(({ isTypeFixed }) => isTypeFixed)}::boolean[]) AS g (name, last, is_type_fixed) ON g.name = c.relname
    WHERE c.relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND c.relkind IN ('r', 'p')
      AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = g.last AND NOT attisdropped))`

/**
 * Lists the columns of others that have the type of the rows of a table that gets columns, also within an
 * array, a domain or another type: PostgreSQL refuses to change such a table.
 * @returns each in a line, with what to do about it
 */
export async function listRowColumns(
  db: QueryExecutorProvider,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ column: string; table: string }>`
    WITH RECURSIVE ${gaining(schema)},
    typed AS (
      SELECT reltype AS type, name FROM gaining WHERE is_type_fixed
      UNION SELECT u.type, t.name FROM typed t CROSS JOIN LATERAL (
        SELECT typarray AS type FROM pg_type WHERE oid = t.type AND typarray <> 0
        UNION ALL SELECT oid FROM pg_type WHERE typbasetype = t.type
        UNION ALL SELECT c.reltype FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
          WHERE a.atttypid = t.type AND NOT a.attisdropped AND c.reltype <> 0) u)
    SELECT DISTINCT format('%s.%I', c.oid::regclass, a.attname) AS "column", t.name AS "table"
      FROM typed t JOIN pg_attribute a ON a.atttypid = t.type AND NOT a.attisdropped
      JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'm') ORDER BY 1, 2`.execute(db)
  return rows.map(
    ({ column, table }) =>
      `the column ${column} has the type of ${schema}.${table}, to which PostgreSQL adds no columns then: drop it, or make it jsonb`,
  )
}

/** Comments, which may name anything. */
const COMMENTS = String.raw`--[^\n]*|/[*]([^*]|[*]+[^*/])*[*]+/`
/** A row as a list of its columns. In a trigger, it is one of the table only where it is `new`, `old` or a parameter. */
const ROW = String.raw`(\m\w+"?|[$][0-9]+)\s*\)?\s*[.]\s*[*]`
const TRIGGER_ROW = String.raw`(\m(new|old)\M|[$][0-9]+)\s*\)?\s*[.]\s*[*]`
/** A function of a row, such as `to_jsonb(new.*)`, which takes any number of columns. */
const CALL = String.raw`\m(?!(values|select)\M)\w+\s*\(\s*\(?\s*${ROW}\s*\)`
const INSERT = String.raw`\minsert\s+into\M[^;]*`
/** All columns of a table in the list of a SELECT. */
const ALL_COLUMNS = String.raw`(\mselect\M(\s+(distinct|all)\M)?|,)\s*(\w+"?\s*[.]\s*)?[*]\s*(,|\mfrom\M)[^;]*\m`
const INSERT_ALL = `${INSERT}${ALL_COLUMNS}`
const RETURN_ALL = String.raw`\mreturn\s+query\M[^;]*${ALL_COLUMNS}`

/**
 * Functions that write or return all columns of a table into a fixed number of columns. They have its rows as
 * `new` and `old` in its triggers, as parameters or as variables. PostgreSQL knows the columns of a body that
 * is parsed when it is made, so such a body has too few for the type of a row; where it returns the row as a
 * value, it has a node of this type with the attribute 0.
 */
const writers = (schema: string): RawBuilder<unknown> => sql`
  body AS (
    SELECT oid AS id, text, regexp_replace(text, ${CALL}::text, ' ', 'gi') AS outside_calls
    FROM pg_proc CROSS JOIN LATERAL regexp_replace(prosrc, ${COMMENTS}::text, ' ', 'g') AS text
    WHERE pronamespace <> 'pg_catalog'::regnamespace AND prosrc ~ '[*]')
  SELECT f.oid, g.name FROM gaining g JOIN pg_trigger t ON t.tgrelid = g.oid AND NOT t.tgisinternal
    JOIN pg_proc f ON f.oid = t.tgfoid JOIN body b ON b.id = f.oid
    WHERE b.outside_calls ~* ${`${INSERT}${TRIGGER_ROW}`}::text
  UNION SELECT f.oid, g.name FROM gaining g JOIN pg_proc f ON g.reltype = ANY (f.proargtypes) JOIN body b ON b.id = f.oid
    WHERE b.outside_calls ~* ${`${INSERT}${ROW}`}::text
  UNION SELECT f.oid, m.name FROM gaining m JOIN pg_proc f ON ${namedIn(schema)} JOIN body b ON b.id = f.oid
    JOIN pg_language l ON l.oid = f.prolang
    WHERE b.text ~* concat(${INSERT_ALL}::text, m.name, '\\M')
      OR (b.text ~* concat('\\m', m.name, '"?\\s*%\\s*rowtype') AND b.outside_calls ~* ${`${INSERT}${ROW}`}::text)
      OR (f.prorettype <> m.reltype AND (f.prorettype = 'record'::regtype OR f.proretset)
        AND b.text ~* concat(CASE l.lanname WHEN 'sql' THEN ${ALL_COLUMNS}::text ELSE ${RETURN_ALL}::text END, m.name, '\\M'))
  UNION SELECT f.oid, g.name FROM gaining g JOIN pg_proc f ON f.prorettype = g.reltype
    WHERE f.prosqlbody IS NOT NULL AND strpos(f.prosqlbody::text, format(':varattno 0 :vartype %s ', g.reltype)) = 0`

/**
 * Lists the functions of others that fail once a table has columns of this service, such as a trigger that
 * inserts `(old).*` into a history of users, with which each sign-in at the old service fails. A function
 * whose text looks so may do something else.
 * @returns each in a line, with what to do about it
 */
export async function listRowWriters(
  db: QueryExecutorProvider,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ function: string; table: string }>`
    WITH ${gaining(schema)}, writer AS (WITH ${writers(schema)})
    SELECT format('%s', oid::regprocedure) AS function, name AS "table" FROM writer ORDER BY 1, 2`.execute(db)
  return rows.map(
    (each) =>
      `the function ${each.function} takes all columns of ${schema}.${each.table}, which gets columns of this service: it would fail, and with it what calls it. Name the columns in it that it needs, or drop it; --force goes on all the same`,
  )
}
