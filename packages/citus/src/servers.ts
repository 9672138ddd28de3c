import { isOwn } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { findCitus, type Lack, listLacking, literal, onWorkers, qualified, runOnWorkers } from './citus.ts'
import { listLoginLacks, type NodeLogin } from './logins.ts'

/**
 * Lists the sequences, rights and logins that a server lacks, without which a request fails there. A server that was added to the
 * cluster lacks all of them until it is prepared.
 * @returns each with its server; empty when nothing is missing
 */
export async function listLacks(
  db: QueryExecutorProvider,
  names: Names,
  logins: readonly Pick<NodeLogin, 'role' | 'user'>[],
): Promise<readonly Lack[]> {
  const roles = logins.map(({ role }) => role)
  const lacks = [...(await listSequenceLacks(db, names, roles))]
  for (const login of logins) lacks.push(...(await listLoginLacks(db, login)))
  return lacks
}

/** The sequences that a server lacks, or that a role may not use there. */
async function listSequenceLacks(
  db: QueryExecutorProvider,
  names: Names,
  roles: readonly string[],
): Promise<readonly Lack[]> {
  const lacks: Lack[] = []
  for (const { name } of await listSequences(db, names)) {
    lacks.push(...(await listLacking(db, `sequence ${name}`, `SELECT to_regclass(${literal(name)}) IS NOT NULL`)))
    for (const role of roles) {
      const mayUse = `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)}
        AND has_sequence_privilege(oid, to_regclass(${literal(name)}), 'USAGE'))`
      lacks.push(...(await listLacking(db, `sequence ${name} for ${role}`, mayUse)))
    }
  }
  return lacks
}

/** The servers that are unreachable from the coordinator: `10.0.0.2:5432`. */
export async function listUnreachable(db: QueryExecutorProvider): Promise<readonly string[]> {
  const { rows } = await sql<{ node: string }>`
    SELECT nodename || ':' || nodeport AS node FROM run_command_on_workers('SELECT 1') WHERE NOT success
    ORDER BY 1`.execute(db)
  return rows.map(({ node }) => node)
}

/** The servers besides the coordinator to which processes of this application name are connected: `10.0.0.2:5432`. */
export async function listEntered(db: QueryExecutorProvider, applicationName: string): Promise<readonly string[]> {
  const answers = await runOnWorkers(
    db,
    `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = ${literal(applicationName)}`,
  )
  return answers.filter(({ text }) => text !== '0').map(({ node }) => node)
}

/**
 * The reason why servers do not answer: the error of a statement that asks all of them, such as a refused login or a refused
 * connection.
 * @param name a table whose rows are divided over the servers
 * @returns undefined when they answer
 */
export async function findOutage(
  db: QueryExecutorProvider,
  { name, ...names }: Pick<Names, 'schema' | 'prefix'> & { readonly name: string },
): Promise<string | undefined> {
  return sql`SELECT count(*) FROM ${sql.raw(qualified(names, name))}`.execute(db).then(
    () => undefined,
    (error: Error) => error.message.replaceAll(/\s+/g, ' ').replace(/ Is the server running .*$/, ''),
  )
}

/** The servers that have kept a prepared transaction for longer than a commit takes, and how many. */
export async function listDoubtful(db: QueryExecutorProvider): Promise<readonly Lack[]> {
  const old = "SELECT count(*) FROM pg_prepared_xacts WHERE prepared < now() - interval '1 minute'"
  const { rows } = await sql<{ node: string; count: string }>`
    SELECT n.nodename || ':' || n.nodeport AS node, r.result AS count
    FROM run_command_on_all_nodes(${`${old} AND database = current_database()`}) r
      JOIN pg_dist_node n ON n.nodeid = r.nodeid
    WHERE r.success AND r.result <> '0' ORDER BY n.groupid`.execute(db)
  return rows.map(({ node, count }) => ({ node, missing: `the end of ${count} prepared transactions` }))
}

/**
 * The statements that limit how long the owner waits for a lock on the servers, if one lacks the limit. Functions with the rights
 * of the owner write tables that each server has, and the limit of their session does not reach other servers.
 */
export async function listOwnerStatements(
  db: QueryExecutorProvider,
  lockTimeoutMs: number,
): Promise<readonly string[]> {
  const hasLimit = `SELECT EXISTS (SELECT FROM pg_roles, unnest(rolconfig) setting
    WHERE rolname = current_user AND setting LIKE 'lock_timeout=%')`
  if ((await findCitus(db)) !== undefined && (await listLacking(db, 'limit', hasLimit)).length === 0) return []
  return [onWorkers(`ALTER ROLE CURRENT_USER SET lock_timeout = '${lockTimeoutMs}ms'`)]
}

/**
 * The statements that make the sequences on the servers that lack one, and let roles use them. Citus makes
 * only those that a column takes its default from, and ours are called by functions.
 * @param roles the roles that use the sequences. A server that lacks a role is mended when it gets the role
 */
export async function listSequenceStatements(
  db: QueryExecutorProvider,
  names: Names,
  roles: readonly string[],
): Promise<readonly string[]> {
  if ((await findCitus(db)) !== undefined && (await listSequenceLacks(db, names, roles)).length === 0) return []
  const schema = `CREATE SCHEMA IF NOT EXISTS "${names.schema}"`
  return (await listSequences(db, names)).map(({ name, definition }) => {
    const grants = roles.map(
      (role) => `; DO $grant$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)}) THEN
  GRANT USAGE, SELECT ON SEQUENCE ${name} TO "${role}"; END IF; END $grant$`,
    )
    return onWorkers(`${schema}; CREATE SEQUENCE IF NOT EXISTS ${name} ${definition}${grants.join('')}`)
  })
}

/** The statements that make roles on the servers that lack them, where nobody can log in as them yet. */
export async function listBareRoleStatements(
  db: QueryExecutorProvider,
  roles: readonly string[],
): Promise<readonly string[]> {
  const statements: string[] = []
  for (const role of roles) {
    const exists = `EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)})`
    if ((await listLacking(db, `role ${role}`, `SELECT ${exists}`)).length === 0) continue
    const make = `DO $role$ BEGIN IF NOT ${exists} THEN CREATE ROLE "${role}" NOLOGIN; END IF; END $role$`
    statements.push(onWorkers(make))
  }
  return statements
}

interface SequenceRow {
  /** `payments.id_counter` */
  readonly name: string
  /** `AS bigint START 0 …` */
  readonly definition: string
}

/** The sequences of the service that belong to no column. */
async function listSequences(db: QueryExecutorProvider, names: Names): Promise<readonly SequenceRow[]> {
  const { rows } = await sql<SequenceRow>`
    SELECT format('%I.%I', ${names.schema}::text, c.relname) AS name,
      format('AS %s START %s INCREMENT %s MINVALUE %s MAXVALUE %s CACHE %s %s', format_type(s.seqtypid, NULL), s.seqstart,
        s.seqincrement, s.seqmin, s.seqmax, s.seqcache, CASE WHEN s.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END) AS definition
    FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid
    WHERE c.relnamespace = to_regnamespace(${names.schema}) AND ${isOwn(sql.ref('c.relname'), names)}
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i'))
    ORDER BY c.relname`.execute(db)
  return rows
}

/** The number by which Citus marks its advisory locks of tables whose rows move. Each move and split holds one until it ends. */
const LOCK_OF_MOVES = 13

/**
 * Moves and splits of Citus that run in a database, each with what ends it. The command that began one may be gone. Without the
 * extension there are none.
 */
async function listRebalances(db: QueryExecutorProvider): Promise<readonly string[]> {
  if ((await findCitus(db)) === undefined) return []
  const { rows } = await sql<{ text: string }>`
    SELECT format('process %s of %s (%s), which SELECT pg_cancel_backend(%1$s) ends', l.pid, coalesce(a.usename, 'unknown'),
        coalesce(nullif(left(a.query, 80), ''), 'unknown')) AS text
      FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'advisory' AND l.objsubid = ${LOCK_OF_MOVES} AND l.granted
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    UNION
    SELECT format('job %s (%s), which SELECT citus_job_cancel(%1$s) ends', job_id, description)
      FROM pg_dist_background_job WHERE state IN ('scheduled', 'running', 'cancelling', 'failing')
    ORDER BY 1`.execute(db)
  return rows.map(({ text }) => text)
}

/**
 * Refuses a run that would wait for a move of rows while writes are refused.
 * @throws Error when Citus moves rows of the database, or splits a part of a table
 */
export async function expectNoMoves(db: QueryExecutorProvider): Promise<void> {
  const moves = await listRebalances(db)
  if (moves.length > 0) throw new Error(`Citus moves rows, so wait for its end: ${moves.join('; ')}`)
}

/**
 * The servers that acknowledge a commit before it is in their log, each with the setting. Citus ends a logical move once the new
 * server has everything that is written to the log of the old server (`pg_current_wal_lsn` in its multi_logical_replication.c),
 * so the new server may never get such a commit, and acknowledged rows would be lost.
 */
export async function listLazyCommits(db: QueryExecutorProvider): Promise<readonly string[]> {
  const { rows } = await sql<{ text: string }>`
    SELECT n.nodename || ':' || n.nodeport || ' has ' || r.result AS text
    FROM run_command_on_all_nodes(${LAZY}) r JOIN pg_dist_node n USING (nodeid) WHERE r.success AND r.result <> ''
    ORDER BY n.groupid`.execute(db)
  return rows.map(({ text }) => text)
}

/**
 * A setting of a role or database counts too: connections of the service may have it, although the connection of the operator
 * does not.
 */
const LAZY = `SELECT CASE WHEN current_setting('synchronous_commit') = 'off' OR EXISTS (
  SELECT FROM pg_db_role_setting JOIN pg_database d ON d.datname = current_database()
  WHERE setdatabase IN (0, d.oid) AND 'synchronous_commit=off' = ANY (setconfig)
) THEN 'synchronous_commit=off' ELSE '' END`

/**
 * Refuses a move of rows that might lose commits.
 * @throws Error when a server does not answer, or acknowledges commits before they are in its log
 */
export async function expectNoLoss(db: QueryExecutorProvider): Promise<void> {
  const away = await listUnreachable(db)
  if (away.length > 0) throw new Error(`no answer from ${away.join(', ')}, so no rows move`)
  const lazy = await listLazyCommits(db)
  if (lazy.length > 0) throw new Error(`a move of rows may lose commits that were acknowledged: ${lazy.join('; ')}`)
}
