import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'

interface ClusterNode {
  readonly id: number
  readonly host: string
  readonly port: number
  readonly isCoordinator: boolean
  /** Whether it may hold rows of divided tables. */
  readonly holdsShards: boolean
}

/** The release of the extension Citus in a database, such as `13.2-1`. Undefined: the database has none. */
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

/** Whether the server belongs to a cluster and is not its coordinator. Only the coordinator has all tables. */
export async function isWorker(db: QueryExecutorProvider): Promise<boolean> {
  if ((await findCitus(db)) === undefined) return false
  const { rows } = await sql`SELECT FROM pg_dist_local_group WHERE groupid <> 0`.execute(db)
  return rows.length > 0
}

/** The active servers of the cluster, the coordinator first. */
export async function listNodes(db: QueryExecutorProvider): Promise<readonly ClusterNode[]> {
  const { rows } = await sql<ClusterNode>`
    SELECT nodeid AS id, nodename AS host, nodeport AS port, groupid = 0 AS "isCoordinator",
      shouldhaveshards AS "holdsShards"
    FROM pg_dist_node WHERE noderole = 'primary' AND isactive ORDER BY groupid`.execute(db)
  return rows
}

/** A server of a cluster, and the first column of the first row that a statement has returned there. */
interface NodeAnswer {
  /** `10.0.0.2:5432` */
  readonly node: string
  readonly text: string
}

/**
 * Runs a statement on every server of the cluster but the coordinator, and returns the first column of its first row for each.
 * @throws Error with the answer of a server that refuses it
 */
export async function runOnWorkers(db: QueryExecutorProvider, statement: string): Promise<readonly NodeAnswer[]> {
  const { rows } = await sql<NodeAnswer & { readonly isDone: boolean }>`
    SELECT nodename || ':' || nodeport AS node, success AS "isDone", coalesce(result, '') AS text
    FROM run_command_on_workers(${statement}) ORDER BY 1`.execute(db)
  const refused = rows.find(({ isDone }) => !isDone)
  if (refused) throw new Error(`${refused.node} refuses: ${refused.text}`)
  return rows.map(({ node, text }) => ({ node, text }))
}

/** Something that a server lacks. */
export interface Lack {
  /** `10.0.0.2:5432`, or `the coordinator`. */
  readonly node: string
  /** `role payments_service` */
  readonly missing: string
}

/**
 * Runs a query on every server but the coordinator.
 * @returns `missing` with the server, for each server on which the query does not return true
 * @throws Error with the answer of a server that refuses the query
 */
export async function listLacking(db: QueryExecutorProvider, missing: string, query: string): Promise<readonly Lack[]> {
  const answers = await runOnWorkers(db, query)
  return answers.filter(({ text }) => text !== 't').map(({ node }) => ({ node, missing }))
}

/** The statement after which Citus passes no DDL of the transaction on to other servers. */
export const HERE = 'SET LOCAL citus.enable_ddl_propagation = off'

/** The statement that runs a text on every server but the coordinator, which alone would otherwise change the cluster. */
export function onWorkers(text: string): string {
  const command = literal(`${HERE}; ${text}`)
  return `SELECT nodename || ':' || nodeport AS node, success, result FROM run_command_on_workers(${command})`
}

/**
 * Many statements of DDL in one transaction need this. They wait for locks without a limit, on every server. Plain PostgreSQL
 * ignores the settings of Citus.
 */
export async function setSequential(trx: Kysely<unknown>): Promise<void> {
  await sql`SET LOCAL citus.multi_shard_modify_mode = 'sequential'`.execute(trx)
  await sql`SET LOCAL citus.propagate_set_commands = 'local'`.execute(trx)
  await sql`SET LOCAL lock_timeout = 0`.execute(trx)
  await sql`SET LOCAL citus.propagate_set_commands = 'none'`.execute(trx)
}

/** Stops Citus from sending the following statements of the transaction to other servers. Plain PostgreSQL ignores it. */
export function keepOnCoordinator(trx: Kysely<unknown>): Promise<unknown> {
  return sql.raw(HERE).execute(trx)
}

/** A text as a literal of SQL, for a statement that another server runs: `'a''b'`. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** The quoted name of a table with its schema and the prefix of DB_NAMESPACE: `"payments"."app_cards"`. */
export function qualified({ schema, prefix }: Pick<Names, 'schema' | 'prefix'>, name: string): string {
  return `"${schema}"."${prefix}${name}"`
}

/**
 * Functions by which the servers of a cluster change each other's list of tables and parts. Some check only the name of the
 * application, which every client may set. They are in the schema `citus_internal`, and under older names in `pg_catalog`.
 */
const OLDER = `pronamespace = 'pg_catalog'::regnamespace AND proname LIKE 'citus\\_internal\\_%'`

/**
 * The servers on which everybody may call the internal functions of Citus, or on which the owner may not call them, a line each. A role
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
