import { type QueryExecutorProvider, sql } from 'kysely'
import { literal } from './citus.ts'

/**
 * Functions by which the servers of a cluster change each other's list of tables and parts. Some check only the name of the
 * application, which every client may set. They stand in the schema `citus_internal`, and older names of theirs in `pg_catalog`.
 */
const OLDER = `pronamespace = 'pg_catalog'::regnamespace AND proname LIKE 'citus\\_internal\\_%'`

/**
 * The servers on which everybody may call the internal functions of Citus, or on which the owner may not, a line each. A role
 * that may connect could remove the list of all rows by these functions.
 * @param owner the user who distributes; undefined: only other roles are looked at
 */
export async function listOpenInternals(db: QueryExecutorProvider, owner?: string): Promise<readonly string[]> {
  const schema = "to_regnamespace('citus_internal')::oid"
  const lacksRight = `coalesce(NOT has_schema_privilege(${literal(owner ?? '')}, ${schema}, 'USAGE'), false)
    OR EXISTS (SELECT FROM pg_proc WHERE ${OLDER} AND NOT has_function_privilege(${literal(owner ?? '')}, oid, 'EXECUTE'))`
  const query = `SELECT CASE WHEN coalesce(has_schema_privilege('public', ${schema}, 'USAGE'), false)
    OR EXISTS (SELECT FROM pg_proc WHERE ${OLDER} AND has_function_privilege('public', oid, 'EXECUTE'))
    THEN 'everybody may call them' ${
      owner === undefined ? '' : `WHEN ${lacksRight} THEN ${literal(`${owner} may not call them`)}`
    } END`
  const { rows } = await sql<{ text: string }>`
    SELECT format('%s:%s: %s', n.nodename, n.nodeport, r.result) AS text
    FROM run_command_on_all_nodes(${query}) r JOIN pg_dist_node n ON n.nodeid = r.nodeid
    WHERE NOT r.success OR r.result <> '' ORDER BY n.groupid`.execute(db)
  return rows.map(({ text }) => text)
}

/** The statement by which a superuser leaves the internal functions of Citus, on every server, to the owner alone. */
export function closeInternals(owner: string): string {
  return `SELECT * FROM run_command_on_all_nodes($node$DO $$ DECLARE internal regprocedure; BEGIN
REVOKE USAGE ON SCHEMA citus_internal FROM PUBLIC; GRANT USAGE ON SCHEMA citus_internal TO "${owner}";
FOR internal IN SELECT oid FROM pg_proc WHERE ${OLDER} LOOP
EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', internal);
EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO "${owner}"', internal); END LOOP; END $$$node$)`
}
