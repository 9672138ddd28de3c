import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { findCitus, HERE, type Lack, listLacking, literal, onWorkers } from './citus.ts'

/**
 * A role that statements run as, and how the role logs in between the servers. The server that receives a statement sends parts
 * of it to the other servers, with the role of the statement.
 */
export interface NodeLogin {
  readonly role: string
  /** The user who sends the statements. The default is the owner. Each server has this user, as clients use any server. */
  readonly user?: string | undefined
  /** If it is `undefined`, the servers trust each other. */
  readonly password: string | undefined
  /** The name of the setting that has the password, such as `PAYMENTS_NODE_PASSWORD`. */
  readonly passwordPlace: string
  /** The maximum wait for a lock, in ms. A session's limit does not apply on other servers, so the role has its own. */
  readonly lockTimeoutMs: number
}

const ROLE = 'role'

/** Lists servers that lack a role, its login or its lock timeout, or where a user may not take the role. */
export async function listLoginLacks(
  db: QueryExecutorProvider,
  { role, user }: Pick<NodeLogin, 'role' | 'user'>,
): Promise<readonly Lack[]> {
  const missing = `${ROLE} ${role}`
  const canLogIn = `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)} AND rolcanlogin
      AND EXISTS (SELECT FROM unnest(rolconfig) setting WHERE setting LIKE 'lock_timeout=%'))
      AND NOT EXISTS (${outsiderQuery(role, user)}) AND NOT EXISTS (${lockedOutQuery(role, user)}) AS "exists"`
  const { rows } = await sql<{ exists: boolean }>`${sql.raw(canLogIn)}`.execute(db)
  const here = rows[0]?.exists === true ? [] : [{ node: 'the coordinator', missing }]
  return [...here, ...(await listLacking(db, missing, canLogIn))]
}

/**
 * Returns the statements that create a role on every server if one server lacks it. The users who connect to a server may then
 * connect and take the role. The role can log in, because the coordinator sends the statements of a request with this role. The
 * statements contain a verifier instead of the password, because a server may log them.
 */
export async function listRoleStatements(
  db: QueryExecutorProvider,
  { role, user, password, lockTimeoutMs }: NodeLogin,
): Promise<readonly string[]> {
  if ((await findCitus(db)) !== undefined && (await listLoginLacks(db, { role, user })).length === 0) return []
  const secret = password === undefined ? '' : ` PASSWORD ${literal(verifierOf(password, randomBytes(16)))}`
  const make = `DO $role$ DECLARE outsider text; BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = ${literal(role)}) THEN CREATE ROLE "${role}"; END IF;
  ALTER ROLE "${role}" LOGIN${secret};
  ALTER ROLE "${role}" SET lock_timeout = '${lockTimeoutMs}ms';
  FOR outsider IN ${outsiderQuery(role, user)} LOOP EXECUTE format('GRANT "${role}" TO %I', outsider); END LOOP;
  FOR outsider IN ${lockedOutQuery(role, user)} LOOP
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), outsider);
  END LOOP;
END $role$`
  // Create the role on the coordinator last. If a run fails before that, the next run creates the role on all servers again.
  return [onWorkers(make), HERE, make]
}

/** A query for the owner and the user, if they may not take the role. They must be able to on each server. */
function outsiderQuery(role: string, user: string | undefined): string {
  return `SELECT m.rolname FROM pg_roles r, pg_roles m
    WHERE r.rolname = ${literal(role)} AND m.rolname IN (CURRENT_USER${user === undefined ? '' : `, ${literal(user)}`})
      AND NOT pg_has_role(m.oid, r.oid, CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END)`
}

/** A query for the role and the user, if they may not connect because PUBLIC may not. */
function lockedOutQuery(role: string, user: string | undefined): string {
  return `SELECT rolname FROM pg_roles WHERE rolname IN (${literal(role)}${user === undefined ? '' : `, ${literal(user)}`})
      AND NOT has_database_privilege(oid, current_database(), 'CONNECT')`
}

/**
 * Returns the statements that log in as a role from every server at every server, as requests do. Each login gives one row, and a
 * refused login has `success` `false`. The statements change nothing. Citus queries each server through the coordinator, so it
 * has no results from a server that refuses the coordinator.
 */
export function loginTrial({ role, passwordPlace }: Pick<NodeLogin, 'role' | 'passwordPlace'>): readonly string[] {
  const line = `%s:%s:%s:${role}:<${passwordPlace}>`
  return [
    `SET LOCAL ROLE "${role}"`,
    `SELECT format('%s:%s', to_nodename, to_nodeport) AS node, coalesce(result, false) AS success,
  format(${literal(`the login of ${role} from %s; the password file there needs the line ${line}`)},
    CASE WHEN result IS NULL THEN 'the coordinator' ELSE from_nodename || ':' || from_nodeport END,
    to_nodename, to_nodeport, current_database()) AS result
FROM citus_check_cluster_node_health() WHERE result IS NOT NULL OR (from_nodename, from_nodeport) = (to_nodename, to_nodeport)`,
    'RESET ROLE',
  ]
}

/**
 * Tries the login of a role that every server has. Each returned line names a server that refuses the login. It also says which
 * line the password file of the connecting server needs.
 */
export function listRefusedLogins(
  db: Kysely<unknown>,
  login: Pick<NodeLogin, 'role' | 'passwordPlace'>,
): Promise<readonly string[]> {
  return db.transaction().execute(async (trx) => {
    const answers = []
    for (const statement of loginTrial(login)) {
      answers.push(
        ...(await sql<{ node: string; success: boolean; result: string }>`${sql.raw(statement)}`.execute(trx)).rows,
      )
    }
    return answers.filter(({ success }) => !success).map(({ node, result }) => `${node} refuses ${result}`)
  })
}

const ITERATIONS = 4_096

/**
 * Returns the SCRAM-SHA-256 verifier of a password in the format of PostgreSQL: `SCRAM-SHA-256$4096:<salt>$<stored key>:<server
 * key>`. The salt and keys are in base64.
 * @see https://www.rfc-editor.org/rfc/rfc5803
 */
export function verifierOf(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, ITERATIONS, 32, 'sha256')
  const mac = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(mac('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${mac('Server Key').toString('base64')}`
}
