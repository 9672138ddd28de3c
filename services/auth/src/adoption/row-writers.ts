import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import type { AdoptionPlaces } from './adoption-record.ts'
import { gaining } from './gaining-tables.ts'
import { namedIn } from './list-dependents.ts'
import type { JudgedFunction } from './trial-writes.ts'

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
/** Other uses of the word than `TABLE name` in place of `SELECT * FROM name`. */
const OTHER_TABLES = String.raw`\m(drop|alter|lock|create|truncate|temp|temporary|unlogged|on)\s+table\M`
/** A row as a list of its columns. */
const ROW = String.raw`(\m\w+"?|[$][0-9]+)\s*\)?\s*[.]\s*[*]`
/** A function of a row, such as `to_jsonb(new.*)`, which takes any number of columns. */
const CALL = String.raw`\m(?!(values|select)\M)\w+\s*\(\s*\(?\s*${ROW}\s*\)`
/** The table that a statement writes, or the variables that it fills, which are no source of columns. */
const TARGET = String.raw`\minto\s+("?\w+"?\s*[.]\s*)?"?\w+"?`
/** The statements that need as many columns as before. */
const WRITE = String.raw`\m(insert|merge)\s+into\M`
const RETURN = String.raw`\mreturn\s+query\M`
/** All columns of everything that is read. A product has a factor behind its sign, and `count(*)` a parenthesis before it. */
const ALL_COLUMNS = String.raw`(\m(select|all|distinct|returning)\M|[,)])\s*[*]\s*([],;)'$]|$|\m(into|from|where|union|except|intersect|returning|order|limit)\M)`
/** All columns of one thing that is read. */
const SOME_COLUMNS = String.raw`[.]\s*[*]`
/**
 * The name of a table, and how a statement takes all of its columns: by the name, by another name that it has
 * there, or by TABLE.
 */
const NAME = String.raw`\m%1$s\M`
const OWN_COLUMNS = [
  String.raw`\m%1$s"?\s*\)?\s*[.]\s*[*]`,
  String.raw`(\m\w+)"?\s*\)?\s*[.]\s*[*].*\m%1$s"?\s+(as\s+)?"?\1\M`,
  String.raw`\m%1$s"?\s+(?:as\s+)?"?(\w+)\M.*\m\1"?\s*\)?\s*[.]\s*[*]`,
  String.raw`\mtable\s+(only\s+)?("?\w+"?\s*[.]\s*)?"?%1$s\M`,
] as const
/** The row of the table in its triggers. */
const TRIGGER_ROW = String.raw`(\m(new|old)\M|[$][0-9]+)\s*\)?\s*[.]\s*[*]`
const ROW_VARIABLE = String.raw`\m%1$s"?\s*%%\s*rowtype`

const takesOwn = sql.join(
  OWN_COLUMNS.map((form) => sql`s.read ~* format(${form}::text, o.pattern)`),
  sql` OR `,
)

/**
 * The statements of functions, without comments, functions of rows and the tables that they write, and what
 * gives them rows: a table that gets columns, or the rows that a trigger for statements has of it.
 */
const statements = (schema: string): RawBuilder<unknown> => sql`
  statement AS (
    SELECT f.oid, regexp_replace(each, ${TARGET}::text, 'into', 'gi') AS read, each ~* ${WRITE}::text AS writes,
      each ~* ${RETURN}::text OR l.lanname = 'sql' AS returns
    FROM pg_proc f JOIN pg_language l ON l.oid = f.prolang
    CROSS JOIN LATERAL regexp_replace(f.prosrc, ${COMMENTS}::text, ' ', 'g') AS bare
    CROSS JOIN LATERAL regexp_replace(bare, ${OTHER_TABLES}::text, ' ', 'gi') AS lasting
    CROSS JOIN LATERAL regexp_replace(lasting, ${CALL}::text, ' ', 'gi') AS outside_calls
    CROSS JOIN LATERAL regexp_split_to_table(outside_calls, ';') AS each
    WHERE f.pronamespace <> 'pg_catalog'::regnamespace AND l.lanname NOT IN ('internal', 'c') AND f.prosrc ~* '[*]|\\mtable\\M'),
  source AS (
    SELECT f.oid, m.name, m.name AS pattern, m.reltype FROM gaining m JOIN pg_proc f ON ${namedIn(schema)}
    UNION SELECT t.tgfoid, m.name, regexp_replace(row_name, '(\\W)', '\\\\\\1', 'g'), NULL FROM gaining m
      JOIN pg_trigger t ON t.tgrelid = m.oid CROSS JOIN LATERAL unnest(ARRAY[t.tgoldtable, t.tgnewtable]::text[]) AS row_name
      WHERE row_name IS NOT NULL)`

/**
 * Functions that write or return all columns of a table into a fixed number of columns. They have its rows as
 * `new` and `old` in its triggers, as parameters or as variables. Where the columns may be those of another
 * table, it is not sure.
 */
const writers = sql`
  SELECT o.oid, o.name, (s.read ~* ${ALL_COLUMNS}::text AND s.read ~* format(${NAME}::text, o.pattern)) OR ${takesOwn} AS "isSure"
    FROM source o JOIN statement s ON s.oid = o.oid JOIN pg_proc f ON f.oid = o.oid
    WHERE (s.writes OR (s.returns AND f.prorettype <> o.reltype AND (f.prorettype = 'record'::regtype OR f.proretset)))
      AND ((s.read ~* format(${NAME}::text, o.pattern) AND s.read ~* ${`${ALL_COLUMNS}|${SOME_COLUMNS}`}::text) OR ${takesOwn})
  UNION ALL SELECT t.tgfoid, g.name, true FROM gaining g JOIN pg_trigger t ON t.tgrelid = g.oid AND NOT t.tgisinternal
    JOIN statement s ON s.oid = t.tgfoid WHERE s.writes AND s.read ~* ${TRIGGER_ROW}::text
  UNION ALL SELECT f.oid, g.name, true FROM gaining g JOIN pg_proc f ON g.reltype = ANY (f.proargtypes)
    JOIN statement s ON s.oid = f.oid WHERE s.writes AND s.read ~* ${ROW}::text
  UNION ALL SELECT o.oid, o.name, true FROM source o JOIN pg_proc f ON f.oid = o.oid JOIN statement s ON s.oid = o.oid
    WHERE f.prosrc ~* format(${ROW_VARIABLE}::text, o.pattern) AND s.writes AND s.read ~* ${ROW}::text
  UNION ALL SELECT o.oid, o.name, false FROM source o JOIN pg_proc f ON f.oid = o.oid
    WHERE f.proretset AND f.prorettype <> o.reltype AND f.prosrc ~* '\\mreturn\\s+next\\s+\\w'
      AND EXISTS (SELECT FROM statement s WHERE s.oid = o.oid AND s.read ~* format(${NAME}::text, o.pattern)
        AND s.read ~* ${`${ALL_COLUMNS}|${SOME_COLUMNS}`}::text)`

/** Functions whose texts take all columns of a table, each in a line, with what to do about it. */
export interface RowWriters {
  readonly sure: readonly string[]
  /** Functions that may take the columns of another table. */
  readonly unsure: readonly string[]
}

/**
 * Lists the functions of others whose text looks as if they failed once a table has columns of this service.
 * PostgreSQL does not say so before they run. A function whose text looks so may do something else.
 * @param judged the functions about which PostgreSQL has said more than their texts do
 */
export async function listRowWriters(
  db: QueryExecutorProvider,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
  judged: readonly JudgedFunction[],
): Promise<RowWriters> {
  const { rows } = await sql<{ function: string; table: string; isSure: boolean }>`
    WITH ${gaining(schema)}, ${statements(schema)}, writer AS (${writers})
    SELECT format('%s', oid::regprocedure) AS function, name AS "table", bool_or("isSure") AS "isSure"
    FROM writer GROUP BY 1, 2 ORDER BY 1, 2`.execute(db)
  const open = rows.filter((row) => !judged.some((each) => each.function === row.function && each.table === row.table))
  return {
    sure: open.flatMap((each) =>
      each.isSure
        ? [
            `the function ${each.function} takes all columns of ${schema}.${each.table}, which gets columns of this service: it would fail, and with it what calls it. Name the columns in it that it needs, or drop it; --force goes on all the same`,
          ]
        : [],
    ),
    unsure: open.flatMap((each) =>
      each.isSure
        ? []
        : [
            `the function ${each.function} may take all columns of ${schema}.${each.table}, which gets columns of this service: where it does, name the columns that it needs`,
          ],
    ),
  }
}
