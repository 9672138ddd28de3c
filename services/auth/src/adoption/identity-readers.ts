import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'
import type { AdoptionPlaces } from './adoption-record.ts'
import { columnsOf } from './catalog.ts'
import { namedIn } from './list-dependents.ts'

/** An object of an application that reads `identities.id`, while this is the subject at the provider, as before 2.117. */
export interface IdentityReader {
  /** A kind and a name, such as `view public.subjects`. */
  readonly object: string
  /** Whether PostgreSQL leads it to the column `provider_id`, which the subject has at the switch. Others read a new id. */
  readonly isLed: boolean
}

/** The table, while its key is the subject at the provider. */
const identities = (schema: string): RawBuilder<unknown> => sql`to_regclass(format('%I.identities', ${schema}::text))`

/**
 * Lists what reads the column `id` of `identities` where the switch renames it: views, rules, policies and parsed functions, which go on
 * reading the subject, and functions with a text as their body, which name the table and `id` or `*`.
 * @returns in the order of their names; none where the version has `provider_id` already
 */
export async function listIdentityReaders(
  db: QueryExecutorProvider,
  { names: { schema } }: Pick<AdoptionPlaces, 'names'>,
): Promise<readonly IdentityReader[]> {
  if (!(await isDue(db, schema))) return []
  const { rows } = await sql<IdentityReader>`
    WITH moving AS (SELECT 'identities'::text AS name),
    dependent AS (
      SELECT DISTINCT d.classid, d.objid FROM pg_depend d
      JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attname = 'id'
      WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ${identities(schema)} AND d.deptype = 'n')
    SELECT CASE WHEN r.rulename <> '_RETURN' THEN format('rule %I on %s', r.rulename, v.oid::regclass)
        ELSE format('%s %s', CASE v.relkind WHEN 'm' THEN 'materialized view' ELSE 'view' END, v.oid::regclass) END AS object,
        true AS "isLed"
      FROM dependent d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    UNION SELECT format('policy %I on %s', p.polname, p.polrelid::regclass), true
      FROM dependent d JOIN pg_policy p ON d.classid = 'pg_policy'::regclass AND p.oid = d.objid
    UNION SELECT format('function %s', d.objid::regprocedure), true FROM dependent d WHERE d.classid = 'pg_proc'::regclass
    UNION SELECT format('function %s', f.oid::regprocedure), false FROM moving m JOIN pg_proc f ON ${namedIn(schema)}
      WHERE f.prosrc ~* '\\mid\\M|[*]'
    ORDER BY object`.execute(db)
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
  const columns = await columnsOf(db, schema, 'identities')
  return columns.has('id') && !columns.has('provider_id')
}
