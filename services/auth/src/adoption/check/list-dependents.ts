import { type Kysely, type RawBuilder, sql } from 'kysely'
import { namedIn } from '../../schema/catalog.ts'
import { NOTING_TRIGGER, ownTables } from '../../schema/own-objects.ts'
import type { AdoptionPlaces } from '../adoption-record.ts'
import { SERVED, UNSERVED } from '../upstream-tables.ts'

/** An object of an application that names a table that moves. */
export interface Dependent {
  /** A kind and a name, such as `view public.tokens`. */
  readonly object: string
  /** The name of the table. */
  readonly table: string
}

/**
 * Lists the views, rules, policies, functions, foreign keys, publications, columns and tables that name a
 * table that moves, and would go on reading the table of the old service.
 * @param moving the names of the tables that move
 * @returns in the order of their names, then of the tables
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

/** The tables that move, by oid. `known` are those of supabase/auth, whose keys and defaults lead to one another. */
const tablesOf = (schema: string, moving: readonly string[]): RawBuilder<unknown> => sql`
  moving AS (
    SELECT c.oid, c.reltype, c.relname::text AS name FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(format('%I', ${schema}::text)) AND c.relname = ANY (${[...moving]}::text[])
      AND c.relkind IN ('r', 'p')),
  known AS (
    SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace(format('%I', ${schema}::text))
      AND relname = ANY (${[...SERVED, ...UNSERVED]}::text[]))`

/**
 * The objects that PostgreSQL knows to depend on a table, on the type of its rows, or on the sequence of its
 * numbers. They are views, rules, policies, bodies of functions that are parsed when they are made, arguments
 * and columns of its type, and tables that inherit. Partitions, indexes and statistics go with the table.
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
 * The publications that name a table that stays, and not its columns. They publish the columns of this
 * service from the moment when these are made, and a subscriber without these columns stops at the next row.
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

/**
 * The publications that will publish the tables of this service, whatever their names: those FOR ALL TABLES
 * or of the whole schema.
 */
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

/** The views that a run makes before the switch. */
const OWN_VIEWS = ['user_factors'] as const
const OWN_FUNCTIONS = ['uuid_v7', 'claim_user', 'text_grams', 'list_user'] as const

/**
 * The tables, views and functions in the schema that neither supabase/auth, nor this service, nor an extension has made.
 * They are left alone.
 */
export async function listInhabitants(
  db: Kysely<unknown>,
  { names }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT c.relname::text AS name FROM pg_class c
      WHERE c.relnamespace = to_regnamespace(${names.schema}) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND c.relname <> ALL (${[...SERVED, ...UNSERVED, ...ownTables, ...OWN_VIEWS]}::text[])
    UNION ALL SELECT p.proname || '()' FROM pg_proc p
      WHERE p.pronamespace = to_regnamespace(${names.schema}) AND p.proname <> ALL (${['uid', 'role', 'email', 'jwt', ...OWN_FUNCTIONS]}::text[])
    ORDER BY name`.execute(db)
  return rows.map(({ name }) => name)
}
