import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { isOwn } from '../migrations/namespace.ts'
import { type DistributionTarget, tablesOf } from './target.ts'

/** The user who owns the tables of a service. */
export interface SchemaOwner {
  readonly name: string
  /** Whether Citus has made the user on every server. */
  readonly isKnown: boolean
}

/**
 * Finds the owner of the tables, or who would own them: the current user. Before Citus creates a type or a function of an owner
 * whom it does not know on other servers, it creates the role of the owner there. It does so as the owner, who may not create
 * roles.
 */
export async function findOwner(db: QueryExecutorProvider, { schema }: Names): Promise<SchemaOwner> {
  const { rows } = await sql<SchemaOwner>`
    SELECT r.rolname AS name, r.rolsuper OR EXISTS (
        SELECT FROM pg_catalog.pg_dist_object o WHERE o.classid = 'pg_authid'::regclass AND o.objid = r.oid
      ) AS "isKnown"
    FROM pg_roles r WHERE r.oid = coalesce(
      (SELECT nspowner FROM pg_namespace WHERE nspname = ${schema}), current_user::regrole::oid
    )`.execute(db)
  return rows[0] ?? { name: '', isKnown: false }
}

/**
 * The keys of divided tables that Citus would refuse, or that would not hold over several servers, a line
 * each. Every key must contain the column that divides the rows, and no key may change rows of another table.
 */
export async function listWrongKeys(
  db: QueryExecutorProvider,
  { names, target }: { readonly names: Names; readonly target: DistributionTarget },
): Promise<readonly string[]> {
  const own = sql`c.relnamespace = to_regnamespace(${names.schema}) AND ${isOwn(sql.ref('c.relname'), names)}`
  const below = tablesOf(target.tables, 'owned').map((name) => names.prefix + name)
  const { rows } = await sql<{ text: string }>`
    WITH below AS (
      SELECT c.oid, c.relname, a.attnum, a.atttypid, a.attcollation FROM pg_class c
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = ${target.column}
      WHERE ${own} AND c.relkind = 'r' AND c.relname = ANY (${below}::text[])
    )
    SELECT format('%s has no column %s of type text', relname, ${target.column}::text) AS text FROM below
      WHERE atttypid IS DISTINCT FROM 'text'::regtype
    UNION ALL
    SELECT format('%s has another collation', relname) FROM below
      WHERE attcollation <> (SELECT min(attcollation::bigint)::oid FROM below)
    UNION ALL
    SELECT format('unique key %s does not contain it', i.indexrelid::regclass) FROM below JOIN pg_index i ON i.indrelid = below.oid
      WHERE i.indisunique AND NOT below.attnum = ANY (i.indkey::smallint[])
    UNION ALL
    SELECT format('foreign key %s leads to rows of other servers', f.conname)
      FROM below JOIN pg_constraint f ON f.conrelid = below.oid AND f.contype = 'f'
      WHERE f.confrelid IN (SELECT oid FROM below) AND NOT below.attnum = ANY (f.conkey)
    UNION ALL
    SELECT format('foreign key %s changes rows when others are deleted', f.conname)
      FROM below JOIN pg_constraint f ON f.conrelid = below.oid AND f.contype = 'f' WHERE f.confdeltype IN ('n', 'd')
    ORDER BY 1`.execute(db)
  return rows.map(({ text }) => text)
}
