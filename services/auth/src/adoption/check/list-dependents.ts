import { isOfExtension } from '@trestle/database/names.ts'
import { type Kysely, type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import { namedIn, readColumns } from '../../schema/catalog.ts'
import { NOTING_TRIGGER, ownTables } from '../../schema/own-objects.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { SERVED, UNSERVED } from '../upstream-tables.ts'

/** An object of an application that refers to a table that moves. */
export interface Dependent {
  /** The kind and the name, such as `view public.tokens`. */
  readonly object: string
  readonly table: string
}

/**
 * Lists the views, rules, policies, functions, foreign keys, publications, columns and tables that refer to a table that moves.
 * After the switch, they would still read the table of the old service.
 * @param moving the names of the tables that move
 * @returns the objects in the order of their names, then of the tables
 */
export async function listDependents(
  db: Kysely<unknown>,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
  moving: readonly string[],
): Promise<readonly Dependent[]> {
  const { rows } = await sql<Dependent>`
    WITH ${tablesOf(schema, moving)}, ${recorded} UNION ${named(schema)} ORDER BY object, "table"`.execute(db)
  return rows
}

/** The tables that move. `known` are the tables of supabase/auth, which refer to one another. */
const tablesOf = (schema: string, moving: readonly string[]): RawBuilder<unknown> => sql`
  moving AS (
    SELECT c.oid, c.reltype, c.relname::text AS name FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND c.relname = ANY (${[...moving]}::text[])
      AND c.relkind IN ('r', 'p')),
  known AS (
    SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace(format('%I', ${schema}::text))
      AND relname = ANY (${[...SERVED, ...UNSERVED]}::text[]))`

/**
 * SQL for the objects with a recorded dependency on a table, its row type or its sequence. They are views, rules, policies,
 * functions with parsed bodies, arguments and columns of the row type, and tables that inherit. Partitions, indexes and
 * statistics move with the table.
 */
const recorded = sql`
  place AS (
    SELECT 'pg_class'::regclass AS class, oid, name FROM moving
    UNION ALL SELECT 'pg_type'::regclass, t.oid, m.name FROM moving m
      JOIN pg_type t ON t.oid = m.reltype OR (t.typelem = m.reltype AND t.typcategory = 'A')
    UNION ALL SELECT 'pg_class'::regclass, q.oid, m.name FROM moving m
      JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = m.oid AND d.classid = 'pg_class'::regclass
      JOIN pg_class q ON q.oid = d.objid AND q.relkind = 'S'),
  dependent AS (
    SELECT DISTINCT d.classid, d.objid, d.objsubid, p.name FROM place p
      JOIN pg_depend d ON d.refclassid = p.class AND d.refobjid = p.oid AND d.deptype IN ('n', 'a'))
  SELECT CASE WHEN r.rulename <> '_RETURN' THEN format('rule %I on %s', r.rulename, v.oid::regclass)
      ELSE format('%s %s', CASE v.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END, v.oid::regclass) END AS object, d.name AS "table"
    FROM dependent d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
  UNION SELECT format('policy %I on %s', p.polname, p.polrelid::regclass), d.name
    FROM dependent d JOIN pg_policy p ON d.classid = 'pg_policy'::regclass AND p.oid = d.objid
  UNION SELECT format('trigger %I', t.tgname), d.name
    FROM dependent d JOIN pg_trigger t ON d.classid = 'pg_trigger'::regclass AND t.oid = d.objid
    WHERE NOT t.tgisinternal AND t.tgname <> ${NOTING_TRIGGER}
  UNION SELECT format('foreign key %I of %s', k.conname, k.conrelid::regclass), d.name
    FROM dependent d JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
    WHERE k.contype = 'f' AND k.conrelid NOT IN (SELECT oid FROM known)
  UNION SELECT format('function %s', d.objid::regprocedure), d.name FROM dependent d WHERE d.classid = 'pg_proc'::regclass
  UNION SELECT format('publication %I', p.pubname), d.name
    FROM dependent d JOIN pg_publication_rel r ON d.classid = 'pg_publication_rel'::regclass AND r.oid = d.objid
    JOIN pg_publication p ON p.oid = r.prpubid
  UNION SELECT pg_describe_object(d.classid, d.objid, d.objsubid), d.name
    FROM dependent d JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
    WHERE c.relkind IN ('r', 'p', 'f', 'c') AND c.oid NOT IN (SELECT oid FROM known) AND NOT (c.relispartition AND d.objsubid = 0)
  UNION SELECT pg_describe_object(d.classid, d.objid, d.objsubid), d.name
    FROM dependent d JOIN pg_attrdef a ON d.classid = 'pg_attrdef'::regclass AND a.oid = d.objid
    WHERE a.adrelid NOT IN (SELECT oid FROM known)
  UNION SELECT pg_describe_object(d.classid, d.objid, 0), d.name
    FROM dependent d JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid WHERE t.typtype = 'd'`

const named = (schema: string): RawBuilder<unknown> => sql`
  SELECT format('function %s', f.oid::regprocedure), m.name FROM moving m JOIN pg_proc f ON ${namedIn(schema)}`

/**
 * Lists the publications that name a table that stays without a column list. They publish the columns of this service as soon as
 * these are created. A subscriber without these columns stops at the next row.
 */
export async function listNarrowPublications(
  db: Kysely<unknown>,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
  staying: readonly string[],
): Promise<readonly Dependent[]> {
  const { rows } = await sql<Dependent>`
    SELECT format('publication %I', p.pubname) AS object, c.relname::text AS "table"
    FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid JOIN pg_class c ON c.oid = r.prrelid
    WHERE c.relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND c.relname = ANY (${[...staying]}::text[])
      AND r.prattrs IS NULL
    ORDER BY 1, 2`.execute(db)
  return rows
}

/** Lists the publications that will publish the new tables: FOR ALL TABLES, or for the whole schema. */
export async function listWidePublications(
  db: Kysely<unknown>,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT format('%I', p.pubname) AS name FROM pg_publication p
    WHERE p.puballtables OR EXISTS (
      SELECT FROM pg_publication_namespace n
      WHERE n.pnpubid = p.oid AND n.pnnspid = to_regnamespace(format('%I', ${schema}::text)))
    ORDER BY 1`.execute(db)
  return rows.map(({ name }) => name)
}

/** The views that a run creates before the switch. */
const OWN_VIEWS = ['user_factors'] as const
const OWN_FUNCTIONS = ['uuid_v7', 'claim_user', 'text_grams', 'list_user'] as const

/**
 * Lists the tables, views and functions of the schema that supabase/auth, this service and extensions have not created. The
 * dozens of functions of an extension such as pgcrypto would hide the objects of applications.
 */
export async function listInhabitants(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT c.relname::text AS name FROM pg_class c
      WHERE c.relnamespace = to_regnamespace(format('%I', ${names.schema}::text)) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND c.relname <> ALL (${[...SERVED, ...UNSERVED, ...ownTables, ...OWN_VIEWS]}::text[])
        AND NOT ${isOfExtension('pg_class', sql.ref('c.oid'))}
    UNION ALL SELECT p.proname || '()' FROM pg_proc p
      WHERE p.pronamespace = to_regnamespace(format('%I', ${names.schema}::text))
        AND p.proname <> ALL (${['uid', 'role', 'email', 'jwt', ...OWN_FUNCTIONS]}::text[])
        AND NOT ${isOfExtension('pg_proc', sql.ref('p.oid'))}
    ORDER BY name`.execute(db)
  return rows.map(({ name }) => name)
}

/** An object of an application that reads `identities.id`. Before 2.117, this column contains the subject at the provider. */
export interface IdentityReader {
  /** The kind and the name, such as `view public.subjects`. */
  readonly object: string
  /**
   * Whether the object still reads the subject after the switch. If `true`, PostgreSQL follows the column to its new name
   * `provider_id`. If `false`, the object reads the new column `id`, which has another value.
   */
  readonly isLed: boolean
}

const identities = (schema: string): RawBuilder<unknown> => sql`to_regclass(format('%I.identities', ${schema}::text))`

/** SQL for the parse node of a whole row of the table: only this node has the row type and the attribute number 0. */
const wholeRow = (schema: string): RawBuilder<unknown> => sql`
  (SELECT format(':varattno 0 :vartype %s ', reltype) FROM pg_class WHERE oid = ${identities(schema)})`

/**
 * SQL for the objects that, according to PostgreSQL's catalogue, read the column `id` or a whole row, such as `to_jsonb(i)`.
 * After the switch, PostgreSQL reads the column under its new name for them. A whole row consists of the columns at the time of
 * the query, so its `id` is the new column. PostgreSQL stores `i.*` as a list of columns, not as a whole row.
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
 * SQL for whether the text of a function `f` contains the word `id`, a `*`, or the table name as an argument, as in
 * `to_jsonb(identities)`.
 */
const readsText = sql`f.prosrc ~* '\\mid\\M|[*]|[(,]\\s*identities\\s*[),]'`

/** A character that a name in PostgreSQL may contain. */
const LETTER = String.raw`[\p{L}\p{N}_]`
/** A word that no column follows, so no dot. */
const ALONE = String.raw`(?<!${LETTER})(${LETTER}+)(?!${LETTER}|"?\s*[.])`
const WORDS_ALONE = new RegExp(ALONE, 'gu')
/** A word after the table name, which may be an alias: `identities as i`. */
const NAMES = new RegExp(String.raw`(?<!${LETTER})identities"?\s+(?:as\s+)?"?${ALONE}`, 'giu')

/**
 * Returns whether a text contains a name of the table without a column after it, as in `to_jsonb(i)`. A word after the table may
 * be such a name, unless it is a reserved word of PostgreSQL. The text is scanned only twice, even if it contains many aliases,
 * because any role may create a function and slow down the check.
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

/** Lists the functions that give the table an alias in their text and read a whole row by it. */
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

/** Functions with a text body that use the column or a row of the table, and trigger functions that read the row. */
const functionReaders = (schema: string): RawBuilder<unknown> => sql`
  SELECT f.oid FROM moving m JOIN pg_proc f ON ${namedIn(schema)} WHERE ${readsText}
  UNION SELECT d.objid FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
    JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray) AND d.classid = 'pg_proc'::regclass
    WHERE c.oid = ${identities(schema)}
  UNION SELECT f.oid FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid
    WHERE t.tgrelid = ${identities(schema)} AND NOT t.tgisinternal AND t.tgname <> ${NOTING_TRIGGER}
      AND regexp_replace(f.prosrc, '\\mreturn\\s+(new|old)\\M', '', 'gi') ~* '\\m(new|old)\\M(?!\\s*[.])|\\m(new|old)\\s*[.]\\s*"?id\\M'`

/**
 * Lists the objects that read the column `id` of `identities`, if the switch renames this column. Views, rules, policies and
 * parsed functions keep reading the subject, unless they read it as part of a whole row. Other objects read the new column `id`.
 * @returns the objects in the order of their names. Empty if the version already has `provider_id`
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
 * Lists the objects that need the key of `identities`, if the switch replaces the key. An example is a foreign key of an
 * application to `(provider, id)`. PostgreSQL would refuse to drop the key.
 * @returns a line for each, with advice
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
      `${object} needs the key of ${schema}.identities, which the switch replaces: drop it, and make it again afterwards with provider_id instead of id`,
  )
}

async function isDue(db: QueryExecutorProvider, schema: string): Promise<boolean> {
  const columns = await readColumns(db, schema, 'identities')
  return columns.has('id') && !columns.has('provider_id')
}
