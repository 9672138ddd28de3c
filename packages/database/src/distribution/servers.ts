import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import type { Names } from '@trestle/migrations/migration.ts'
import { type QueryExecutorProvider, sql } from 'kysely'
import { isOwn } from '../migrations/namespace.ts'
import { findCitus, literal, qualified, runOnWorkers } from './citus.ts'

/** The role of the service, and what it proves itself with between the servers. */
export interface NodeLogin {
  /** Undefined: the service works as its own user, which the operator makes. */
  readonly role: string | undefined
  /** The user by which the service connects. Undefined: the owner. Each server has it, because each is an entry. */
  readonly user?: string | undefined
  /** Undefined: the servers trust each other. */
  readonly password: string | undefined
  /** Longest wait for a lock. The limit of a session does not reach other servers, so the role has one of its own. */
  readonly lockTimeoutMs: number
}

/** Something that a server lacks. */
export interface Lack {
  /** `10.0.0.2:5432`, or `the coordinator`. */
  readonly node: string
  /** `role payments_service` */
  readonly missing: string
}

/** The parts that Citus does not make on a server, or not on each. */
const SEQUENCES = 'sequence'
const ROLE = 'role'

/**
 * What the servers lack before a request can run on them. A server that was added to the cluster lacks all of it until it is
 * prepared.
 */
export async function listLacks(
  db: QueryExecutorProvider,
  names: Names,
  { role, user }: Pick<NodeLogin, 'role' | 'user'>,
): Promise<readonly Lack[]> {
  const lacks: Lack[] = []
  for (const { name } of await listSequences(db, names)) {
    lacks.push(...(await lacking(db, `${SEQUENCES} ${name}`, `SELECT to_regclass(${literal(name)}) IS NOT NULL`)))
  }
  if (role !== undefined) {
    const canLogIn = `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)} AND rolcanlogin
      AND EXISTS (SELECT FROM unnest(rolconfig) setting WHERE setting LIKE 'lock_timeout=%'))
      AND NOT EXISTS (${outsiders(role, user)}) AND NOT EXISTS (${lockedOut(role, user)}) AS "exists"`
    const { rows } = await sql<{ exists: boolean }>`${sql.raw(canLogIn)}`.execute(db)
    if (rows[0]?.exists !== true) lacks.push({ node: 'the coordinator', missing: `${ROLE} ${role}` })
    lacks.push(...(await lacking(db, `${ROLE} ${role}`, canLogIn)))
  }
  return lacks
}

/** The servers that do not answer the coordinator: `10.0.0.2:5432`. */
export async function listAway(db: QueryExecutorProvider): Promise<readonly string[]> {
  const { rows } = await sql<{ node: string }>`
    SELECT nodename || ':' || nodeport AS node FROM run_command_on_workers('SELECT 1') WHERE NOT success
    ORDER BY 1`.execute(db)
  return rows.map(({ node }) => node)
}

/**
 * Why servers do not answer: what a statement that asks all of them fails with, such as a refused login or a refused connection.
 * @param table a table whose rows are divided over the servers
 * @returns undefined when they answer after all
 */
export async function explainAway(
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

/** The workers on which a query does not answer `t`. */
async function lacking(db: QueryExecutorProvider, missing: string, query: string): Promise<readonly Lack[]> {
  const answers = await runOnWorkers(db, query)
  return answers.filter(({ text }) => text !== 't').map(({ node }) => ({ node, missing }))
}

/**
 * The statements that make the role of the service on every server, if one lacks it, and let those take it, and connect, who enter
 * there.
 * The coordinator sends the statements of a request under this role, so it logs in. They carry a verifier of the password, because
 * a server may log them.
 */
export async function roleStatements(
  db: QueryExecutorProvider,
  names: Names,
  { role, user, password, lockTimeoutMs }: NodeLogin,
): Promise<readonly string[]> {
  if (role === undefined) return []
  if ((await findCitus(db)) !== undefined) {
    const lacks = await listLacks(db, names, { role, user })
    if (!lacks.some(({ missing }) => missing.startsWith(ROLE))) return []
  }
  const secret = password === undefined ? '' : ` PASSWORD ${literal(verifierOf(password, randomBytes(16)))}`
  const make = `DO $role$ DECLARE outsider text; BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)}) THEN CREATE ROLE "${role}"; END IF;
  ALTER ROLE "${role}" LOGIN${secret};
  ALTER ROLE "${role}" SET lock_timeout = '${lockTimeoutMs}ms';
  FOR outsider IN ${outsiders(role, user)} LOOP EXECUTE format('GRANT "${role}" TO %I', outsider); END LOOP;
  FOR outsider IN ${lockedOut(role, user)} LOOP
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), outsider);
  END LOOP;
END $role$`
  // Workers first: while the coordinator lacks the role, another run makes all of them again.
  return [onWorkers(make), HERE, make]
}

/** The query for those of the owner and the user of the service who may not take the role. A worker is an entry, so they must. */
function outsiders(role: string, user: string | undefined): string {
  return `SELECT m.rolname FROM pg_roles r, pg_roles m
    WHERE r.rolname = ${literal(role)} AND m.rolname IN (CURRENT_USER${user === undefined ? '' : `, ${literal(user)}`})
      AND NOT pg_has_role(m.oid, r.oid, CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END)`
}

/** The query for those of the role and the user of the service who may not connect, because PUBLIC may not. */
function lockedOut(role: string, user: string | undefined): string {
  return `SELECT rolname FROM pg_roles WHERE rolname IN (${literal(role)}${user === undefined ? '' : `, ${literal(user)}`})
      AND NOT has_database_privilege(oid, current_database(), 'CONNECT')`
}

/**
 * The statements that log in as the role of the service from every server at every server, as requests will. Each login is a row;
 * one that is refused has `success` false. They change nothing. Citus asks each server through the coordinator, and knows no
 * result of a server that refuses the coordinator.
 */
export function loginTrial({ role }: Pick<NodeLogin, 'role'>): readonly string[] {
  if (role === undefined) return []
  return [
    `SET LOCAL ROLE "${role}"`,
    `SELECT format('%s:%s', to_nodename, to_nodeport) AS node, coalesce(result, false) AS success,
  format('the login of ${role} from %s; the password file there needs a line with the password of this user',
    CASE WHEN result IS NULL THEN 'the coordinator' ELSE from_nodename || ':' || from_nodeport END) AS result
FROM citus_check_cluster_node_health() WHERE result IS NOT NULL OR (from_nodename, from_nodeport) = (to_nodename, to_nodeport)`,
    'RESET ROLE',
  ]
}

/**
 * The statements that limit how long the owner waits for a lock on the servers, if one lacks the limit. Functions with the rights
 * of the owner write tables that each server has, and the limit of their session does not reach other servers.
 */
export async function ownerStatements(
  db: QueryExecutorProvider,
  { lockTimeoutMs }: Pick<NodeLogin, 'lockTimeoutMs'>,
): Promise<readonly string[]> {
  const hasLimit = `SELECT EXISTS (SELECT FROM pg_roles, unnest(rolconfig) setting
    WHERE rolname = current_user AND setting LIKE 'lock_timeout=%')`
  if ((await findCitus(db)) !== undefined && (await lacking(db, 'limit', hasLimit)).length === 0) return []
  return [onWorkers(`ALTER ROLE CURRENT_USER SET lock_timeout = '${lockTimeoutMs}ms'`)]
}

/** The statement that runs a text on every server but the coordinator, which alone would otherwise change the cluster. */
function onWorkers(text: string): string {
  const command = literal(`${HERE}; ${text}`)
  return `SELECT nodename || ':' || nodeport AS node, success, result FROM run_command_on_workers(${command})`
}

/** What follows in the transaction is done on this server alone. */
const HERE = 'SET LOCAL citus.enable_ddl_propagation = off'

const ITERATIONS = 4_096

/** What PostgreSQL stores of a password. @see https://www.rfc-editor.org/rfc/rfc5803 */
export function verifierOf(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, ITERATIONS, 32, 'sha256')
  const mac = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(mac('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${mac('Server Key').toString('base64')}`
}

/**
 * The statements that make the sequences on the servers that lack one. Citus makes only those that a column takes its default
 * from, and ours are called by functions.
 */
export async function sequenceStatements(
  db: QueryExecutorProvider,
  names: Names,
  role: string | undefined,
): Promise<readonly string[]> {
  if ((await findCitus(db)) !== undefined) {
    const lacks = await listLacks(db, names, { role: undefined })
    if (lacks.length === 0) return []
  }
  const schema = `CREATE SCHEMA IF NOT EXISTS "${names.schema}"`
  return (await listSequences(db, names)).map(({ name, definition }) => {
    const grant = role === undefined ? '' : `; GRANT USAGE, SELECT ON SEQUENCE ${name} TO "${role}"`
    return onWorkers(`${schema}; CREATE SEQUENCE IF NOT EXISTS ${name} ${definition}${grant}`)
  })
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
