import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'

interface ClusterNode {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly isCoordinator: boolean
  /** Whether the server may hold rows of distributed tables. */
  readonly holdsShards: boolean
}

/** The release of the extension Citus, such as `13.2-1`. `undefined` if it is not installed. */
export async function findCitus(db: QueryExecutorProvider): Promise<string | undefined> {
  const { rows } = await sql<{ extversion: string }>`
    SELECT extversion FROM pg_extension WHERE extname = 'citus'`.execute(db)
  return rows[0]?.extversion
}

export async function isDistributed(db: QueryExecutorProvider, names: Pick<Names, 'schema'>): Promise<boolean> {
  if ((await findCitus(db)) === undefined) return false
  const { rows } = await sql<{ exists: boolean }>`
    SELECT EXISTS (
      SELECT FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
      WHERE c.relnamespace = to_regnamespace(${names.schema}) AND p.partmethod = 'h'
    ) AS "exists"`.execute(db)
  return rows[0]?.exists === true
}

/** Returns whether the server is a worker of a cluster. Only the coordinator has all tables. */
export async function isWorker(db: QueryExecutorProvider): Promise<boolean> {
  if ((await findCitus(db)) === undefined) return false
  const { rows } = await sql`SELECT FROM pg_dist_local_group WHERE groupid <> 0`.execute(db)
  return rows.length > 0
}

/** Returns the active servers of the cluster, the coordinator first. */
export async function listNodes(db: QueryExecutorProvider): Promise<readonly ClusterNode[]> {
  const { rows } = await sql<ClusterNode>`
    SELECT nodeid AS id, nodename AS host, nodeport AS port, groupid = 0 AS "isCoordinator",
      shouldhaveshards AS "holdsShards"
    FROM pg_dist_node WHERE noderole = 'primary' AND isactive ORDER BY groupid`.execute(db)
  return rows
}

/** A server of a cluster, and the first column of the first row that a statement returned there. */
interface NodeAnswer {
  /** Host and port, such as `10.0.0.2:5432`. */
  readonly node: string
  readonly text: string
}

/**
 * Runs a statement on every worker. Returns the first column of the first row from each.
 * @throws Error with the answer of a worker that refuses the statement
 */
export async function runOnWorkers(db: QueryExecutorProvider, statement: string): Promise<readonly NodeAnswer[]> {
  const { rows } = await sql<NodeAnswer & { readonly isDone: boolean }>`
    SELECT nodename || ':' || nodeport AS node, success AS "isDone", coalesce(result, '') AS text
    FROM run_command_on_workers(${statement}) ORDER BY 1`.execute(db)
  const refused = rows.find(({ isDone }) => !isDone)
  if (refused) throw new Error(`${refused.node} refuses: ${refused.text}`)
  return rows.map(({ node, text }) => ({ node, text }))
}

/** An object that a server lacks. */
export interface Lack {
  /** Host and port, such as `10.0.0.2:5432`, or `the coordinator`. */
  readonly node: string
  /** The missing object, such as `role payments_service`. */
  readonly missing: string
}

/**
 * Runs a query on every worker.
 * @returns `missing` with the server, for each worker on which the query does not return true
 * @throws Error with the answer of a worker that refuses the query
 */
export async function listLacking(db: QueryExecutorProvider, missing: string, query: string): Promise<readonly Lack[]> {
  const answers = await runOnWorkers(db, query)
  return answers.filter(({ text }) => text !== 't').map(({ node }) => ({ node, missing }))
}

/** The statement that stops Citus from sending later DDL of the database transaction to other servers. */
export const HERE = 'SET LOCAL citus.enable_ddl_propagation = off'

/** The statement that runs SQL on every worker without DDL propagation, which only the coordinator may do. */
export function onWorkers(text: string): string {
  const command = literal(`${HERE}; ${text}`)
  return `SELECT nodename || ':' || nodeport AS node, success, result FROM run_command_on_workers(${command})`
}

/**
 * Prepares a database transaction for many DDL statements, which Citus must then run one after the other. Removes the lock
 * timeout on every server. Plain PostgreSQL ignores the settings of Citus.
 */
export async function setSequential(trx: Kysely<unknown>): Promise<void> {
  await sql`SET LOCAL citus.multi_shard_modify_mode = 'sequential'`.execute(trx)
  await sql`SET LOCAL citus.propagate_set_commands = 'local'`.execute(trx)
  await sql`SET LOCAL lock_timeout = 0`.execute(trx)
  await sql`SET LOCAL citus.propagate_set_commands = 'none'`.execute(trx)
}

/** Stops Citus from sending later DDL of the database transaction to other servers. Plain PostgreSQL ignores the setting. */
export function keepOnCoordinator(trx: Kysely<unknown>): Promise<unknown> {
  return sql.raw(HERE).execute(trx)
}

/** Returns text as a SQL literal such as `'a''b'`, for a statement that another server runs. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** Returns the quoted name of a table with its schema and the prefix of DB_NAMESPACE: `"payments"."app_cards"`. */
export function qualified({ schema, prefix }: Pick<Names, 'schema' | 'prefix'>, name: string): string {
  return `"${schema}"."${prefix}${name}"`
}

/**
 * A condition for the internal functions by which servers of a cluster change each other's metadata. Some of them check only the
 * application name, which every client may set. They are in the schema `citus_internal`, and under older names in `pg_catalog`.
 */
const OLDER = `pronamespace = 'pg_catalog'::regnamespace AND proname LIKE 'citus\\_internal\\_%'`

/**
 * Returns the servers on which everybody may call the internal functions of Citus, or on which the owner may not call them, one
 * per line. With these functions, any role that may connect could delete the cluster's metadata about all tables.
 * @param owner the user who distributes. If `undefined`, the rights of the owner are not checked
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

/** Returns the statement by which a superuser gives only the owner access to the internal functions of Citus, on every server. */
export function closeInternals(owner: string): string {
  return `SELECT * FROM run_command_on_all_nodes($node$DO $$ DECLARE internal regprocedure; BEGIN
REVOKE USAGE ON SCHEMA citus_internal FROM PUBLIC; GRANT USAGE ON SCHEMA citus_internal TO "${owner}";
FOR internal IN SELECT oid FROM pg_proc WHERE ${OLDER} LOOP
EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', internal);
EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO "${owner}"', internal); END LOOP; END $$$node$)`
}
