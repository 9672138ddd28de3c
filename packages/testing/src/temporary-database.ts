import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { closeInternals } from '@trestle/citus/citus.ts'
import pg from 'pg'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** A server on which tests may create databases, with the rights of a superuser. */
    readonly postgresUrl: string
    /** A pooler in transaction mode in front of the server, which the tests use. `undefined` if there is none. */
    readonly poolerUrl: string | undefined
    /** The workers of a Citus cluster whose coordinator is the server. Empty if the server is plain PostgreSQL. */
    readonly workerUrls: readonly string[]
    /** The password of the role of operators in the cluster. `undefined` if the servers trust each other. */
    readonly operatorPassword: string | undefined
    readonly entersByWorkers: boolean
    readonly adopted: boolean
  }
}

/** Whether the connection to the server supports named statements: the setting `…_DB_PREPARED`. */
export const prepared = inject('poolerUrl') === undefined

/** Whether migrated databases are distributed over a Citus cluster. */
export const distributed = inject('workerUrls').length > 0

/** Whether the databases of auth are adopted from supabase/auth instead of created by `migrate`. */
export const adopted = inject('adopted')

export interface TemporaryDatabase {
  /** `postgres://…/<name>`. The connection goes through the pooler if there is one. */
  readonly url: string
  /** The URL for the service. It has several hosts if the service enters a cluster through its workers. */
  readonly entryUrl: string
  /** The URL over TCP and without a pooler, for tests of the connection to the server itself. */
  readonly directUrl: string
  readonly drop: () => Promise<void>
}

/** How to create a migrated database. */
export interface TemporaryDatabaseOptions {
  /** Identifies a template: the service, and everything that its migrations depend on. */
  readonly template: string
  /** Migrates an empty database. It runs once for each template, in the first test file that needs the template. */
  readonly migrate: (url: string) => Promise<unknown>
  /** Distributes a migrated database if the tests run on a cluster. `undefined` leaves it on the coordinator. */
  readonly distribute?: (url: string) => Promise<unknown>
}

/** Creates a migrated database as a copy of a template. The first caller creates the template. */
export async function createTemporaryDatabase(options: TemporaryDatabaseOptions): Promise<TemporaryDatabase> {
  const name = `template_${createHash('sha256').update(options.template).digest('hex').slice(0, 12)}`
  const nodes = nodesOf(options)
  const template = templates.get(name) ?? ensureTemplate(name, options)
  templates.set(name, template)
  await template
  return createFrom(name, nodes)
}

/** The templates by name that this worker has found or is creating. */
const templates = new Map<string, Promise<void>>()

/** The servers that have a copy of a database: all servers of a cluster, or the single server. The coordinator is last. */
function nodesOf({ distribute }: TemporaryDatabaseOptions): readonly string[] {
  return distribute ? [...inject('workerUrls'), inject('postgresUrl')] : [inject('postgresUrl')]
}

async function ensureTemplate(name: string, options: TemporaryDatabaseOptions): Promise<void> {
  const serverUrl = inject('postgresUrl')
  const nodes = nodesOf(options)
  const client = await connect(serverUrl)
  try {
    // The lock is held until the connection ends.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [name])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1 AND datistemplate', [name])
    if (rowCount === 1) return
    for (const node of nodes) {
      await administer(node, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await administer(node, `CREATE DATABASE ${name} TEMPLATE template0`)
    }
    if (nodes.length > 1) await joinNodes(name, nodes)
    await options.migrate(databaseUrl(serverUrl, name))
    if (nodes.length > 1) await options.distribute?.(databaseUrl(serverUrl, name))
    for (const node of nodes) {
      // PostgreSQL can copy a database only if no session is connected to it. Citus keeps a process connected to each of its
      // databases. So refuse new connections first, then end existing ones.
      await administer(node, `ALTER DATABASE ${name} IS_TEMPLATE true ALLOW_CONNECTIONS false`)
      await administer(node, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`)
    }
  } finally {
    await client.end()
  }
}

/** Joins the databases with this name on all servers to one cluster. */
async function joinNodes(name: string, nodes: readonly string[]): Promise<void> {
  const coordinator = await connect(databaseUrl(inject('postgresUrl'), name))
  for (const node of nodes) {
    const client = await connect(databaseUrl(node, name))
    await client.query('CREATE EXTENSION citus')
    await client.end()
  }
  const [own, ...workers] = nodes.toReversed().map((node) => new URL(node))
  await coordinator.query('SELECT citus_set_coordinator_host($1, $2)', [own?.hostname, own?.port])
  for (const { hostname, port } of workers) await coordinator.query('SELECT citus_add_node($1, $2)', [hostname, port])
  // Close internal functions of Citus, as operators do. Otherwise the service could call forbidden functions in tests.
  await coordinator.query(closeInternals(own?.username ?? ''))
  await coordinator.end()
}

/** Creates an empty database, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<TemporaryDatabase> {
  return createFrom('template0', [inject('postgresUrl')])
}

/** Copies a database. No session may be connected to it at the same time. */
export function copyDatabase({ directUrl }: TemporaryDatabase): Promise<TemporaryDatabase> {
  return createFrom(new URL(directUrl).pathname.slice(1), [inject('postgresUrl')])
}

async function createFrom(template: string, nodes: readonly string[]): Promise<TemporaryDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  for (const node of nodes) {
    await administer(node, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)
  }
  const serverUrl = inject('postgresUrl')
  const url = databaseUrl(inject('poolerUrl') ?? serverUrl, name)
  return {
    url,
    entryUrl: inject('entersByWorkers') && nodes.length > 1 ? overWorkers(url) : url,
    directUrl: byTcp(databaseUrl(serverUrl, name)),
    drop: async () => {
      for (const node of nodes.toReversed()) await dropDatabase(node, name)
    },
  }
}

const DROP_TRIES = 20
const DROP_PAUSE_MS = 100

/** Retries while a server of a cluster is about to commit a prepared transaction, which blocks the drop. */
async function dropDatabase(node: string, name: string, tries = DROP_TRIES): Promise<void> {
  try {
    await administer(node, `DROP DATABASE ${name} WITH (FORCE)`)
  } catch (error) {
    if (tries === 0 || !(error instanceof pg.DatabaseError) || error.code !== OBJECT_IN_USE) throw error
    await pause(DROP_PAUSE_MS)
    await dropDatabase(node, name, tries - 1)
  }
}

const OBJECT_IN_USE = '55006'

/** The connection to each server, which this worker keeps open. */
const administrations = new Map<string, pg.Pool>()

/** Runs a statement on a connection that this worker keeps open. Statements for one server run one after the other. */
async function administer(serverUrl: string, statement: string): Promise<void> {
  const pool =
    administrations.get(serverUrl) ?? new pg.Pool({ connectionString: serverUrl, max: 1, idleTimeoutMillis: 0 })
  administrations.set(serverUrl, pool)
  await pool.query(statement)
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}

/** Returns a connection string with the hosts of all workers. */
function overWorkers(url: string): string {
  return url.replace(
    new URL(url).host,
    inject('workerUrls')
      .map((worker) => new URL(worker).host)
      .join(','),
  )
}

/** Returns the URL without `host`, so that clients use TCP. `host` names the Unix socket of the embedded server. */
function byTcp(serverUrl: string): string {
  const url = new URL(serverUrl)
  url.searchParams.delete('host')
  return url.href
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
