import { isOwn } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { findCitus, type Lack, listLacking, literal, onWorkers, qualified, runOnWorkers } from './citus.ts'
import { listLoginLacks, type NodeLogin } from './logins.ts'

/**
 * Lists the sequences, rights and logins that are missing on servers. Requests on such a server fail. A server that was added to
 * the cluster lacks all of them until it is prepared.
 * @returns each missing item with its server; empty if nothing is missing
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

/** Lists the sequences that are missing on a server, or that a role may not use there. */
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

/** Returns the addresses of servers that the coordinator cannot reach, such as `10.0.0.2:5432`. */
export async function listUnreachable(db: QueryExecutorProvider): Promise<readonly string[]> {
  const { rows } = await sql<{ node: string }>`
    SELECT nodename || ':' || nodeport AS node FROM run_command_on_workers('SELECT 1') WHERE NOT success
    ORDER BY 1`.execute(db)
  return rows.map(({ node }) => node)
}

/** The servers, except the coordinator, that processes of this application are connected to, as `10.0.0.2:5432`. */
export async function listEntered(db: QueryExecutorProvider, applicationName: string): Promise<readonly string[]> {
  const answers = await runOnWorkers(
    db,
    `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = ${literal(applicationName)}`,
  )
  return answers.filter(({ text }) => text !== '0').map(({ node }) => node)
}

/**
 * Returns the reason why servers do not answer: the error of a statement that runs on all of them, such as a refused login or a
 * refused connection.
 * @param name a table whose rows are divided among the servers
 * @returns `undefined` if all servers answer
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

/** Returns the servers with prepared transactions older than a commit takes, and the number of these transactions. */
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
 * Returns the statements that set a lock timeout for the owner on the servers, if one server lacks it. Functions with the rights
 * of the owner write tables that exist on each server. The timeout of their session does not apply on other servers.
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
 * Returns the statements that create missing sequences on the servers, and let roles use them. Citus creates only sequences of
 * column defaults, but functions of the service use these sequences.
 * @param roles the roles that use the sequences. A server that lacks a role gets the grants when the role is created there.
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

/** Returns the statements that create roles on the servers that lack them. These roles cannot log in yet. */
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
  /** For example, `payments.id_counter`. */
  readonly name: string
  /** For example, `AS bigint START 0 …`. */
  readonly definition: string
}

/** Returns the sequences of the service that belong to no column. */
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

/** Marks the advisory locks that Citus takes on moved tables. Each move and split holds one until it ends. */
const LOCK_OF_MOVES = 13

/**
 * Lists the moves and splits of Citus that run in a database, each with the command that ends it. The process that started a move
 * may no longer run. Returns an empty list without the Citus extension.
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
 * Refuses a run that would have to wait for a move of rows, because all writes would be refused during the wait.
 * @throws Error if Citus is moving rows of the database or splitting a shard
 */
export async function expectNoMoves(db: QueryExecutorProvider): Promise<void> {
  const moves = await listRebalances(db)
  if (moves.length > 0) throw new Error(`Citus moves rows, so wait for its end: ${moves.join('; ')}`)
}

/**
 * Lists the servers that acknowledge a commit before it is in their write-ahead log, each with the setting. Citus ends a logical
 * move when the new server has everything in the log of the old server (`pg_current_wal_lsn` in its multi_logical_replication.c).
 * The new server may never get a commit that is not yet in the log, so acknowledged rows would be lost.
 */
export async function listLazyCommits(db: QueryExecutorProvider): Promise<readonly string[]> {
  const { rows } = await sql<{ text: string }>`
    SELECT n.nodename || ':' || n.nodeport || ' has ' || r.result AS text
    FROM run_command_on_all_nodes(${LAZY}) r JOIN pg_dist_node n USING (nodeid) WHERE r.success AND r.result <> ''
    ORDER BY n.groupid`.execute(db)
  return rows.map(({ text }) => text)
}

/**
 * Also check the settings of roles and of the database. Connections of the service may have such a setting although the
 * operator's connection does not.
 */
const LAZY = `SELECT CASE WHEN current_setting('synchronous_commit') = 'off' OR EXISTS (
  SELECT FROM pg_db_role_setting JOIN pg_database d ON d.datname = current_database()
  WHERE setdatabase IN (0, d.oid) AND 'synchronous_commit=off' = ANY (setconfig)
) THEN 'synchronous_commit=off' ELSE '' END`

/**
 * Refuses a move of rows that might lose commits.
 * @throws Error if a server does not answer, or acknowledges commits before they are in its log
 */
export async function expectNoLoss(db: QueryExecutorProvider): Promise<void> {
  const away = await listUnreachable(db)
  if (away.length > 0) throw new Error(`no answer from ${away.join(', ')}, so no rows move`)
  const lazy = await listLazyCommits(db)
  if (lazy.length > 0) throw new Error(`a move of rows may lose commits that were acknowledged: ${lazy.join('; ')}`)
}
