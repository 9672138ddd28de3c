import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { namedIn } from '../../schema/catalog.ts'
import { gaining } from '../changes/added-columns.ts'
import type { SqlFunction } from './run-trial.ts'

/** The functions in SQL that a trial parses on a table, and those that it leaves alone. */
export interface SqlFunctions {
  readonly tried: readonly SqlFunction[]
  /** The others, by the role that could have code of its own run as PostgreSQL parses them. */
  readonly untried: readonly UntriedFunctions[]
}

/** The functions in SQL that are not tried because of a role. */
export interface UntriedFunctions {
  readonly role: string
  /** The names, as `regprocedure` writes them. */
  readonly names: readonly string[]
}

interface Found extends SqlFunction {
  readonly strangers: readonly string[]
}

/**
 * Finds the functions in SQL that name a table, take a row of it or return one. PostgreSQL parses the body
 * when such a function is made, unless its callers say what it returns.
 *
 * To parse a body may run code with the rights of who parses it: the input of a type checks the domains in it,
 * which are conditions of their owner. So a function is tried only where no stranger owns it, or could have put
 * an operator, a function or a type into a schema of its path. No stranger is who may make triggers on the
 * table, owns the function of such a trigger, or may act as the owner of the table: their code runs with these
 * rights anyway.
 */
export async function listSqlFunctions(db: QueryExecutorProvider, names: Names, table: string): Promise<SqlFunctions> {
  const { rows } = await sql<Found>`
    WITH ${await gaining(names)},
    member AS (
      SELECT oid, rolname::text AS name, CASE rolname WHEN 'pg_database_owner'
        THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE oid END AS acting FROM pg_roles),
    stranger AS (
      SELECT 0::oid AS oid, 'PUBLIC' AS name
      UNION ALL SELECT r.oid, r.name FROM gaining m JOIN pg_class c ON c.oid = m.oid CROSS JOIN member r
        WHERE m.name = ${table} AND NOT has_table_privilege(r.acting, c.oid, 'TRIGGER') AND NOT pg_has_role(r.acting, c.relowner, 'MEMBER')
          AND NOT EXISTS (
            SELECT FROM pg_trigger t JOIN pg_class o ON o.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
            WHERE o.relowner = c.relowner AND p.proowner = r.oid AND NOT t.tgisinternal)),
    planted AS (
      SELECT n.nspname, s.name FROM stranger s JOIN (
        SELECT oid, nspowner AS role FROM pg_namespace
        UNION SELECT p.oid, a.grantee FROM pg_namespace p CROSS JOIN aclexplode(p.nspacl) a WHERE a.privilege_type = 'CREATE'
        UNION SELECT oprnamespace, oprowner FROM pg_operator
        UNION SELECT pronamespace, proowner FROM pg_proc) w ON w.role = s.oid JOIN pg_namespace n ON n.oid = w.oid),
    named AS (
      SELECT f.*, n.nspname, (
          SELECT substr(setting, ${'search_path='.length + 1}::int) FROM unnest(f.proconfig) setting
          WHERE setting LIKE 'search_path=%') AS own_path
      FROM gaining m JOIN pg_proc f ON f.prokind IN ('f', 'p') JOIN pg_namespace n ON n.oid = f.pronamespace
      JOIN pg_language l ON l.oid = f.prolang
      WHERE m.name = ${table} AND l.lanname = 'sql' AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND (f.prorettype <> 'record'::regtype OR f.proallargtypes IS NOT NULL)
        AND ((${namedIn(names.schema)}) OR f.prorettype = m.reltype OR m.reltype = ANY (f.proargtypes) OR EXISTS (
          SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid = m.oid)))
    SELECT format('%s', f.oid::regprocedure) AS name, format('%I, public, extensions', f.nspname) AS path,
      -- A name may have any character.
      concat('CREATE ', CASE f.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, ' pg_temp.trestle_trial', substr(d.text, strpos(d.text, d.name) + length(d.name))) AS copy,
      ARRAY (
        SELECT s.name FROM stranger s WHERE s.oid = f.proowner
        UNION SELECT p.name FROM planted p WHERE p.nspname = ANY (CASE WHEN f.own_path IS NULL
          THEN ARRAY[f.nspname::text, 'public', 'extensions']
          ELSE (SELECT array_agg(CASE e WHEN '"$user"' THEN current_user::text ELSE btrim(e, '"') END)
            FROM (SELECT btrim(each) AS e FROM unnest(string_to_array(f.own_path, ',')) AS each) parts) END)
        ORDER BY 1) AS strangers
    FROM named f CROSS JOIN LATERAL (
      SELECT pg_get_functiondef(f.oid) AS text, concat(quote_ident(f.nspname), '.', quote_ident(f.proname)) AS name) d
    ORDER BY name`.execute(db)
  const untried = Map.groupBy(
    rows.flatMap(({ name, strangers }) => strangers.map((role) => ({ role, name }))),
    ({ role }) => role,
  )
  return {
    tried: rows.filter(({ strangers }) => strangers.length === 0).map(({ name, path, copy }) => ({ name, path, copy })),
    untried: [...untried].map(([role, all]) => ({ role, names: all.map(({ name }) => name) })),
  }
}
