import { isOwn } from '@trestle/database/names.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type Kysely, type QueryExecutorProvider, sql } from 'kysely'
import { closeInternals, findCitus, listNodes, listOpenInternals } from './citus.ts'
import { rolesOf } from './distribute.ts'
import { listLoginLacks, listRefusedLogins, type NodeLogin } from './logins.ts'
import { readState, undoUnfinished } from './notes.ts'
import { type DistributionTarget, tablesOf } from './placement.ts'
import { listLazyCommits } from './servers.ts'

interface ClusterFinding {
  readonly name: string
  readonly isGood: boolean
  readonly text: string
}

interface Subject {
  readonly names: Names
  readonly target: DistributionTarget
  readonly logins: readonly NodeLogin[]
}

type ClusterCheck = readonly [name: string, run: (db: Kysely<unknown>, subject: Subject) => Promise<string | Problems>]

/** The problems, one per line. The list is not empty. */
class Problems {
  readonly lines: readonly string[]
  constructor(lines: readonly string[]) {
    this.lines = lines
  }
}

const MAJOR = 13
const CLOCK_MS_MAX = 500

/**
 * Checks on every server everything that a distribution needs. Changes nothing. If one of the first checks fails, such as that of
 * the extension, the later checks do not run, because they depend on the first ones.
 */
export async function checkCluster(db: Kysely<unknown>, subject: Subject): Promise<readonly ClusterFinding[]> {
  const findings: ClusterFinding[] = []
  for (const [name, run] of [...needed, ...checks]) {
    const found = await run(db, subject)
    if (found instanceof Problems) findings.push(...found.lines.map((text) => ({ name, isGood: false, text })))
    else findings.push({ name, isGood: true, text: found })
    if (found instanceof Problems && needed.some(([other]) => other === name)) break
  }
  return findings
}

/** The later checks depend on these checks. They run in this order. */
const needed: readonly ClusterCheck[] = [
  [
    'extension',
    async (db) => {
      const version = await findCitus(db)
      if (version === undefined) return new Problems(['the database has no extension citus'])
      if (Number.parseInt(version, 10) < MAJOR) return new Problems([`citus ${version} is older than ${MAJOR}`])
      return `citus ${version}`
    },
  ],
  [
    'servers',
    async (db) => {
      const nodes = await listNodes(db)
      const { rows } = await sql<{ group: number }>`SELECT groupid AS "group" FROM pg_dist_local_group`.execute(db)
      if (rows[0]?.group !== 0) return new Problems(['this server is no coordinator'])
      const workers = nodes.filter(({ isCoordinator, holdsShards }) => !isCoordinator && holdsShards)
      if (!nodes.some(({ isCoordinator }) => isCoordinator)) {
        return new Problems(['the coordinator does not know its own address: SELECT citus_set_coordinator_host(…)'])
      }
      if (workers.length === 0) return new Problems(['no server may hold rows: SELECT citus_add_node(…)'])
      return `a coordinator and ${workers.map(({ host, port }) => `${host}:${port}`).join(', ')}`
    },
  ],
  [
    'connections',
    async (db) => {
      const { rows } = await sql<{ text: string; good: boolean }>`
        SELECT format('%s:%s does not reach %s:%s', from_nodename, from_nodeport, to_nodename, to_nodeport) AS text,
          coalesce(result, false) AS good
        FROM citus_check_cluster_node_health()`.execute(db)
      const lost = rows.filter(({ good }) => !good).map(({ text }) => text)
      return lost.length > 0 ? new Problems(lost) : 'every server reaches every other'
    },
  ],
]

const checks: readonly ClusterCheck[] = [
  [
    'state',
    async (db, { names }) => {
      const state = await readState(db, names)
      if (state === 'undoing') return new Problems([undoUnfinished().message])
      return state === 'distributing' ? 'distributing, until distribute has ended' : state
    },
  ],
  ['citus.local_hostname', (db) => expectEverywhere(db, OWN_ADDRESS, (text) => text === 'reached')],
  ['logins between the servers', (db, subject) => tryLogins(db, subject)],
  ['version of the extension', (db) => expectEverywhere(db, VERSION, (text, own) => text === own)],
  ['wal_level', (db) => expectEverywhere(db, "SELECT current_setting('wal_level')", (text) => text === 'logical')],
  [
    'synchronous_commit',
    async (db) => {
      const lazy = await listLazyCommits(db)
      return lazy.length > 0 ? new Problems(lazy) : 'every commit waits for the log'
    },
  ],
  [
    'max_prepared_transactions',
    (db) => expectEverywhere(db, "SELECT current_setting('max_prepared_transactions')", (text) => Number(text) > 0),
  ],
  [
    'citus.enable_unsafe_triggers',
    (db) => expectEverywhere(db, "SELECT current_setting('citus.enable_unsafe_triggers')", (text) => text === 'on'),
  ],
  [
    'clocks',
    async (db) => {
      const answers = await askAll(db, 'SELECT extract(epoch FROM clock_timestamp()) * 1000')
      const times = answers.map(({ text }) => Number(text))
      const apart = Math.round(Math.max(...times) - Math.min(...times))
      if (apart > CLOCK_MS_MAX) return new Problems([`the clocks are ${apart} ms apart`])
      return `at most ${apart} ms apart`
    },
  ],
  [
    'free disk',
    async (db, { names }) => {
      const { rows } = await sql<{ size: string }>`
        SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::text AS size FROM pg_class c
        WHERE c.relnamespace = to_regnamespace(${names.schema}) AND c.relkind = 'r'`.execute(db)
      const size = Number(rows[0]?.size)
      const free = await askAll(db, 'SELECT available_disk_size FROM citus_local_disk_space_stats()')
      // One worker may get all rows, because the rows of one tenant are never divided.
      const small = free.filter(({ text }) => Number(text) < size)
      if (small.length > 0) return new Problems(small.map(({ node }) => `${node} has less than ${mebibytes(size)}`))
      return `the tables have ${mebibytes(size)}, and every server has more than that`
    },
  ],
  [
    'owner',
    async (db, { names }) => {
      const { name, isKnown } = await findOwner(db, names)
      const make = `CREATE TYPE owned AS (id int); ALTER TYPE owned OWNER TO "${name}"; DROP TYPE owned`
      return isKnown
        ? name
        : new Problems([`Citus does not know ${name}; run as a superuser on the coordinator: ${make}`])
    },
  ],
  [
    'internal functions of Citus',
    async (db, { names }) => {
      const { name } = await findOwner(db, names)
      const open = await listOpenInternals(db, name)
      if (open.length === 0) return `of all but superusers, ${name} alone may call them`
      return new Problems([...open, `run as a superuser on the coordinator: ${closeInternals(name)}`])
    },
  ],
  [
    'keys',
    async (db, subject) => {
      const wrong = await listWrongKeys(db, subject)
      return wrong.length > 0 ? new Problems(wrong) : `each contains ${subject.target.column}`
    },
  ],
]

/**
 * Checks whether a server can reach itself by its own address. This address may differ from the one that other servers use. Citus
 * uses the own address when it moves rows.
 */
const OWN_ADDRESS = `SELECT CASE WHEN citus_check_connection_to_node(current_setting('citus.local_hostname'),
  current_setting('port')::int) THEN 'reached' ELSE format('%s, where it does not reach itself by port %s',
  current_setting('citus.local_hostname'), current_setting('port')) END`

/** Logs in at every server as each role that needs a login there. The first run of `distribute` creates the logins. */
async function tryLogins(db: Kysely<unknown>, { names, logins }: Subject): Promise<string | Problems> {
  if (logins.length === 0) return 'the service works as its own user'
  const state = await readState(db, names)
  const [made, unmade, problems]: [NodeLogin[], NodeLogin[], string[]] = [[], [], []]
  for (const login of logins) {
    const lacks = await listLoginLacks(db, login)
    if (lacks.length === 0) {
      made.push(login)
      problems.push(...(await listRefusedLogins(db, login)))
    } else if (state !== 'distributed') unmade.push(login)
    else problems.push(...lacks.map(({ node, missing }) => `${node} lacks ${missing}: run distribute --rebalance`))
  }
  if (problems.length > 0) return new Problems(problems)
  return [
    ...(made.length > 0 ? [`every server lets ${rolesOf(made).join(' and ')} of every other in`] : []),
    ...(unmade.length > 0
      ? [`distribute makes that of ${rolesOf(unmade).join(' and ')}, and tries it before rows move`]
      : []),
  ].join('; ')
}

const VERSION = "SELECT extversion FROM pg_extension WHERE extname = 'citus'"

interface Answer {
  readonly node: string
  readonly text: string
}

/** Runs a query on all servers. Returns their answers, the coordinator's first. If a server fails, its answer is the error. */
async function askAll(db: Kysely<unknown>, query: string): Promise<readonly Answer[]> {
  const { rows } = await sql<Answer>`
    SELECT n.nodename || ':' || n.nodeport AS node, coalesce(r.result, '') AS text
    FROM run_command_on_all_nodes(${query}) r JOIN pg_dist_node n ON n.nodeid = r.nodeid
    ORDER BY n.groupid`.execute(db)
  return rows
}

async function expectEverywhere(
  db: Kysely<unknown>,
  query: string,
  isGood: (text: string, own: string) => boolean,
): Promise<string | Problems> {
  const answers = await askAll(db, query)
  const own = answers[0]?.text ?? ''
  const wrong = answers.filter(({ text }) => !isGood(text, own))
  return wrong.length > 0 ? new Problems(wrong.map(({ node, text }) => `${node} has ${text || 'none'}`)) : own
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`
}

interface SchemaOwner {
  readonly name: string
  /** Whether Citus knows the role on every server. */
  readonly isKnown: boolean
}

/**
 * Returns the owner of the tables. Before the first migration, this is the current user. Citus creates types and functions of the
 * owner on other servers. If the owner's role does not exist there, Citus first creates the role. It does so with the rights of
 * the owner, who may not create roles, and fails.
 */
async function findOwner(db: QueryExecutorProvider, { schema }: Names): Promise<SchemaOwner> {
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
 * Returns keys of distributed tables that Citus would refuse or that would not hold across servers, one per line. Every key must
 * contain the distribution column, and no key may change rows of another table.
 */
async function listWrongKeys(
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
