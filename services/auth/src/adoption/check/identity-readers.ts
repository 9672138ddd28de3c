import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { namedIn, readColumns } from '../../schema/catalog.ts'
import { NOTING_TRIGGER } from '../../schema/own-objects.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'

/** An object of an application that reads `identities.id`, while this is the subject at the provider, as before 2.117. */
export interface IdentityReader {
  /** A kind and a name, such as `view public.subjects`. */
  readonly object: string
  /**
   * Whether the object reads `provider_id` after the switch, which has the subject then, because PostgreSQL
   * follows the column to its new name. Otherwise the object reads the column `id`, which then has another
   * value.
   */
  readonly isLed: boolean
}

/** The table, while its key is the subject at the provider. */
const identities = (schema: string): RawBuilder<unknown> => sql`to_regclass(format('%I.identities', ${schema}::text))`

/** The node of a parsed query that stands for a whole row of the table: nothing else of this type has the attribute 0. */
const wholeRow = (schema: string): RawBuilder<unknown> => sql`
  (SELECT format(':varattno 0 :vartype %s ', reltype) FROM pg_class WHERE oid = ${identities(schema)})`

/**
 * The objects that PostgreSQL has recorded as readers of the column, or of a whole row, such as `to_jsonb(i)`. After the
 * switch, PostgreSQL reads the column for them under its new name. A whole row is made of the columns as they are then, so its
 * `id` is the new one. PostgreSQL records `i.*` as a list of columns, not as a whole row.
 */
const recordedReaders = (schema: string): RawBuilder<unknown> => sql`
  dependent AS (
    SELECT d.classid, d.objid, bool_or(a.attname = 'id') IS TRUE AS "readsId" FROM pg_depend d
    LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ${identities(schema)} AND d.deptype = 'n'
    GROUP BY d.classid, d.objid),
  recorded AS (
    SELECT CASE WHEN r.rulename <> '_RETURN' THEN format('rule %I on %s', r.rulename, v.oid::regclass)
        ELSE format('%s %s', CASE v.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END, v.oid::regclass) END AS object,
        d."readsId", concat(r.ev_action::text, r.ev_qual::text) AS nodes
      FROM dependent d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    UNION ALL SELECT format('policy %I on %s', p.polname, p.polrelid::regclass), d."readsId",
        concat(p.polqual::text, p.polwithcheck::text)
      FROM dependent d JOIN pg_policy p ON d.classid = 'pg_policy'::regclass AND p.oid = d.objid
    UNION ALL SELECT format('function %s', f.oid::regprocedure), d."readsId", concat(f.prosqlbody::text)
      FROM dependent d JOIN pg_proc f ON d.classid = 'pg_proc'::regclass AND f.oid = d.objid)`

/**
 * Whether the text of a function `f` has the word `id`, a `*`, or the name of the table as an argument, as in
 * `to_jsonb(identities)`.
 */
const readsText = sql`f.prosrc ~* '\\mid\\M|[*]|[(,]\\s*identities\\s*[),]'`

/** A character of a word, as PostgreSQL takes names. */
const LETTER = String.raw`[\p{L}\p{N}_]`
/** A word that no column follows. */
const ALONE = String.raw`(?<!${LETTER})(${LETTER}+)(?!${LETTER}|"?\s*[.])`
const WORDS_ALONE = new RegExp(ALONE, 'gu')
/** A word that follows the table, such as its name in a query: `identities as i`. */
const NAMES = new RegExp(String.raw`(?<!${LETTER})identities"?\s+(?:as\s+)?"?${ALONE}`, 'giu')

/**
 * Whether a text has a name of the table where no column follows it, as in `to_jsonb(i)`. Of a word after the
 * table, nobody knows whether it is such a name, unless PostgreSQL reserves it. A text is read twice, however
 * many names it gives to the table: anybody may make a function.
 */
function readsRow(text: string, reserved: ReadonlySet<string>): boolean {
  const names = new Map<string, number>()
  for (const [, name = ''] of text.matchAll(NAMES)) {
    const word = name.toLowerCase()
    if (!reserved.has(word)) names.set(word, (names.get(word) ?? 0) + 1)
  }
  const alone = new Map<string, number>()
  for (const [name] of text.matchAll(WORDS_ALONE)) {
    const word = name.toLowerCase()
    if (names.has(word)) alone.set(word, (alone.get(word) ?? 0) + 1)
  }
  return [...names].some(([word, named]) => (alone.get(word) ?? 0) > named)
}

/** The functions that name the table in a text and give it a name by which they read a whole row. */
async function listRowReaders(db: QueryExecutorProvider, schema: string): Promise<readonly string[]> {
  const { rows: words } = await sql<{ word: string }>`
    SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')`.execute(db)
  const reserved = new Set(words.map(({ word }) => word))
  const { rows } = await sql<{ oid: string; text: string }>`
    WITH moving AS (SELECT 'identities'::text AS name)
    SELECT f.oid::text AS oid, f.prosrc AS text FROM moving m JOIN pg_proc f ON ${namedIn(schema)} WHERE NOT ${readsText}`.execute(
    db,
  )
  return rows.filter(({ text }) => readsRow(text, reserved)).map(({ oid }) => oid)
}

/**
 * Functions with a text as their body, those that take or return a row of the table, and those of its
 * triggers that look at the row.
 */
const functionReaders = (schema: string): RawBuilder<unknown> => sql`
  SELECT f.oid FROM moving m JOIN pg_proc f ON ${namedIn(schema)} WHERE ${readsText}
  UNION SELECT d.objid FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
    JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray) AND d.classid = 'pg_proc'::regclass
    WHERE c.oid = ${identities(schema)}
  UNION SELECT f.oid FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid
    WHERE t.tgrelid = ${identities(schema)} AND NOT t.tgisinternal AND t.tgname <> ${NOTING_TRIGGER}
      AND regexp_replace(f.prosrc, '\\mreturn\\s+(new|old)\\M', '', 'gi') ~* '\\m(new|old)\\M(?!\\s*[.])|\\m(new|old)\\s*[.]\\s*"?id\\M'`

/**
 * Lists what reads the column `id` of `identities` where the switch renames it. Views, rules, policies and parsed functions go on
 * reading the subject, unless they read it in a whole row. Other objects look for `id` in the table as it is then.
 * @returns in the order of their names; none where the version has `provider_id` already
 */
export async function listIdentityReaders(
  db: QueryExecutorProvider,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly IdentityReader[]> {
  if (!(await isDue(db, schema))) return []
  const { rows } = await sql<IdentityReader>`
    WITH moving AS (SELECT 'identities'::text AS name), ${recordedReaders(schema)},
    reader AS (
      SELECT object, strpos(nodes, ${wholeRow(schema)}) = 0 AS "isLed" FROM recorded
        WHERE "readsId" OR strpos(nodes, ${wholeRow(schema)}) > 0
      UNION ALL SELECT format('function %s', f.oid::regprocedure), false FROM (${functionReaders(schema)}) f
      UNION ALL SELECT format('function %s', f.oid::regprocedure), false FROM unnest(${await listRowReaders(db, schema)}::oid[]) f (oid))
    SELECT object, bool_and("isLed") AS "isLed" FROM reader GROUP BY object ORDER BY object`.execute(db)
  return rows
}

/**
 * Lists what needs the key of `identities` where the switch replaces it, such as a foreign key of an application to
 * `(provider, id)`: PostgreSQL would refuse to drop the key.
 * @returns each in a line, with what to do about it
 */
export async function listIdentityKeys(
  db: QueryExecutorProvider,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly string[]> {
  if (!(await isDue(db, schema))) return []
  const { rows } = await sql<{ object: string }>`
    SELECT DISTINCT CASE WHEN r.oid IS NULL THEN pg_describe_object(d.classid, d.objid, 0)
        ELSE pg_describe_object('pg_class'::regclass, r.ev_class, 0) END AS object
      FROM pg_constraint k JOIN pg_depend d ON d.deptype = 'n'
        AND ((d.refclassid = 'pg_constraint'::regclass AND d.refobjid = k.oid)
          OR (d.refclassid = 'pg_class'::regclass AND d.refobjid = k.conindid))
      LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
      WHERE k.contype = 'p' AND k.conrelid = ${identities(schema)}
      ORDER BY object`.execute(db)
  return rows.map(
    ({ object }) =>
      `${object} needs the key of ${schema}.identities, which the switch replaces: drop it, and make it anew afterwards with provider_id instead of id`,
  )
}

async function isDue(db: QueryExecutorProvider, schema: string): Promise<boolean> {
  const columns = await readColumns(db, schema, 'identities')
  return columns.has('id') && !columns.has('provider_id')
}
