import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { namedIn } from '../../schema/catalog.ts'
import { listFirst } from '../../schema/existing-schema.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { gaining } from '../changes/added-columns.ts'
import type { JudgedFunction } from './try-writes.ts'
import { findTakenTables, type RowSource } from './whole-row-texts.ts'

/**
 * Lists the columns of others that have the type of the rows of a table that gets columns, also within an
 * array, a domain or another type: PostgreSQL refuses to change such a table.
 * @returns each in a line, with what to do about it
 */
export async function listRowColumns(
  db: QueryExecutorProvider,
  { names }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ column: string; table: string }>`
    WITH RECURSIVE ${await gaining(names)},
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
      `the column ${column} has the type of ${names.schema}.${table}, to which PostgreSQL adds no columns then: drop it, or make it jsonb`,
  )
}

/**
 * How long the texts of functions may be in all, in characters. Anybody may make functions, and the time to read
 * them grows with their texts: these take less than a second.
 */
const TEXTS_MAX = 1_048_576

/**
 * How functions have the rows of a table that gets columns: by its name, as the rows that a trigger for
 * statements has of it, as `new` and `old`, or as a parameter, which may be a list of them.
 */
const sources = (schema: string): RawBuilder<unknown> => sql`
  source AS (
    SELECT f.oid, m.name AS "table", 'name' AS "as", m.name AS word,
        f.prorettype <> m.reltype AND (f.prorettype = 'record'::regtype OR f.proretset
          OR f.prorettype IN (SELECT reltype FROM pg_class WHERE reltype <> 0)) AS "returnsOthers",
        f.prorettype <> m.reltype AND f.proretset AS "returnsSet"
      FROM gaining m JOIN pg_proc f ON ${namedIn(schema)}
    UNION SELECT t.tgfoid, m.name, 'name', row_name, false, false FROM gaining m JOIN pg_trigger t ON t.tgrelid = m.oid
      CROSS JOIN LATERAL unnest(ARRAY[t.tgoldtable, t.tgnewtable]::text[]) AS row_name WHERE row_name IS NOT NULL
    UNION SELECT t.tgfoid, m.name, 'trigger', '', false, false FROM gaining m
      JOIN pg_trigger t ON t.tgrelid = m.oid AND NOT t.tgisinternal
    UNION SELECT f.oid, m.name, 'argument', '', false, false FROM gaining m JOIN pg_type r ON r.oid = m.reltype
      JOIN pg_proc f ON r.oid = ANY (f.proargtypes) OR r.typarray = ANY (f.proargtypes))`

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
  { names }: Pick<AdoptionPlaces, 'names'>,
  judged: readonly JudgedFunction[],
): Promise<RowWriters> {
  const { rows } = await sql<{ function: string; text: string | null; isSql: boolean; sources: readonly RowSource[] }>`
    WITH ${await gaining(names)}, ${sources(names.schema)},
    taking AS (
      SELECT f.oid, format('%s', f.oid::regprocedure) AS function, f.prosrc, l.lanname = 'sql' AS "isSql"
      FROM pg_proc f JOIN pg_language l ON l.oid = f.prolang
      WHERE f.oid IN (SELECT oid FROM source) AND f.pronamespace <> 'pg_catalog'::regnamespace
        AND l.lanname NOT IN ('internal', 'c') AND f.prosrc ~* '[*]|\\mtable\\M')
    SELECT function, "isSql",
      CASE WHEN sum(length(prosrc)) OVER (ORDER BY length(prosrc), oid) <= ${TEXTS_MAX} THEN prosrc END AS text,
      (SELECT json_agg(s) FROM source s WHERE s.oid = t.oid) AS sources
    FROM taking t ORDER BY function`.execute(db)
  const open = rows.flatMap(({ function: name, text, ...each }) =>
    text === null
      ? []
      : [...findTakenTables({ text, ...each })]
          .map(([table, isSure]) => ({ function: name, table, isSure }))
          .filter((row) => !judged.some((one) => one.function === name && one.table === row.table))
          .sort((one, other) => (one.table < other.table ? -1 : 1)),
  )
  const unread = rows.filter(({ text }) => text === null).map(({ function: name }) => name)
  return {
    sure: open.flatMap((each) =>
      each.isSure
        ? [
            `the function ${each.function} takes all columns of ${names.schema}.${each.table}, which gets columns of this service: it would fail, and with it what calls it. Name the columns in it that it needs, or drop it; --force goes on all the same`,
          ]
        : [],
    ),
    unsure: [
      ...open.flatMap((each) =>
        each.isSure
          ? []
          : [
              `the function ${each.function} may take all columns of ${names.schema}.${each.table}, which gets columns of this service: where it does, name the columns that it needs`,
            ],
      ),
      ...describeUnread(names.schema, unread),
    ],
  }
}

function describeUnread(schema: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return []
  return [
    `functions were not read, since their texts are too long: see that they take no whole row of a table of ${schema}: ${listFirst(names)}`,
  ]
}
