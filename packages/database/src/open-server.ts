import type { Names } from '@trestle/migrations/migration.ts'
import {
  AliasNode,
  IdentifierNode,
  Kysely,
  type KyselyPlugin,
  type OperationNode,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  PostgresDialect,
  type PostgresPool,
  type QueryResult,
  type RootOperationNode,
  type SchemableIdentifierNode,
  TableNode,
  type UnknownRow,
} from 'kysely'
import pg from 'pg'
import { overHosts, urlsOfHosts } from './driver/hosts.ts'
import { type PipelinedClients, startPipelinedClients } from './driver/pipelined-clients.ts'
import {
  type CancellablePool,
  createCancellablePool,
  keepConnections,
  openPool,
  replaceConnections,
} from './driver/pool.ts'
import { OWN_PATH, type SettingsOptions, underSettings } from './driver/session-settings.ts'
import { type DatabaseMode, type QuerySpans, type ReadAgain, rebalancing } from './pools.ts'
import type { StandbyConfig } from './standby.ts'

/** How to connect to a database. Times are in milliseconds. */
export interface DatabaseConfig {
  /** A URL `postgres://…`. If it contains several hosts, each connection chooses one of them. */
  readonly url: string
  /** The URL of the cluster's coordinator. `undefined` if `url` leads to the coordinator or there is no cluster. */
  readonly coordinatorUrl?: string | undefined
  readonly names: Names
  /** The name of the program in `pg_stat_activity`. */
  readonly applicationName: string
  readonly poolSize: number
  /** The role that the service sets after it connects (`SET ROLE`). `undefined` to use the user of the URL. */
  readonly role?: string | undefined
  /** The schema that is searched for unqualified names, after `pg_catalog`. By default, only `pg_catalog` is searched. */
  readonly searchPath?: string | undefined
  /** The longest time of a statement on any pool. 0 means no limit. */
  readonly statementTimeoutMs: number
  /** The longest time of a statement on the write pool, which may wait for locks. `statementTimeoutMs` by default. */
  readonly writeTimeoutMs?: number
  /** The number of connections for `readLagging` and `readLong`, on each server. They open on demand. 4 by default. */
  readonly laggingConnections?: number
  /** The number of connections of the read pool. 2 by default. 0 for a process that does not use it. */
  readonly readConnections?: number
  /** The longest wait for a lock (55P03). Keep it below the statement timeout, so that the error names the lock. */
  readonly lockTimeoutMs: number
  /** The longest wait for a connection of a pool. 5,000 by default. */
  readonly connectionWaitMs?: number
  /**
   * `false` behind a pooler in transaction mode, which keeps no state in a session. Prepared queries then have no names, and each
   * transaction sets the role and the limits.
   */
  readonly prepared: boolean
  /** The type of timestamptz values: a Date (the default), or RFC 3339 text, which keeps microseconds. */
  readonly timestamps?: 'date' | 'rfc3339'
  /** How to find the tenant of an object, until the mode changes. `undefined` if the database is not distributed. */
  readonly findOwner?: DatabaseMode['findTenant']
  /** How to repeat a read that finds nothing in a distributed database. `undefined` if such a read is not repeated. */
  readonly readAgain?: ReadAgain | undefined
  /** A standby for reads that may return old data. `undefined` if the primary serves these reads too. */
  readonly standby?: StandbyConfig | undefined
  /** `undefined` if requests are not traced. */
  readonly spans?: QuerySpans | undefined
  /** Called for every lost or refused connection. Requests also get their own errors. */
  readonly onConnectionError: (error: Error) => void
}

/** A connection that is silent for this long after the server's own time limit counts as dead. */
const SILENCE_MS = 2_000
const LAGGING_CONNECTIONS = 4
/** The default time that a call waits for a connection. */
export const CONNECTION_WAIT_MS = 5_000
/** The fraction of this time that a statement waits for a connection of the read pool, whose connections stay open. */
const KEPT_OPEN_PART = 0.2
/** The longest time that a connection stays on its chosen host. */
const HOST_SECONDS = 300

/**
 * The read pool runs only prepared queries that find rows by key, so one plan fits all values. PostgreSQL would plan some of
 * these queries again for each call, which took a quarter of the time of a read. Sequential scans are off, because a plan made
 * while tables were small would still be used after they have grown.
 */
const KEEP_PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' } as const
/** In a distributed database, each query is planned with its values, because they determine the server of the rows. */
const PLAN_WITH_VALUES = { plan_cache_mode: 'auto' } as const

export interface Server<Tables> {
  readonly db: Kysely<Tables>
  readonly until: CancellablePool['until']
  readonly pool: pg.Pool
  readonly readers: PipelinedClients
  readonly lagging: ReturnType<typeof openLagging<Tables>>
  /** Opens the connections again as the mode requires. Call it after the mode has changed. */
  readonly reopen: () => void
  readonly close: () => Promise<void>
}

/** Opens the pools and the read connections of a server. They connect in the background. */
export function openServer<Tables>(config: DatabaseConfig, url: string, mode: () => DatabaseMode): Server<Tables> {
  const { statementTimeoutMs, writeTimeoutMs = statementTimeoutMs, connectionWaitMs = CONNECTION_WAIT_MS } = config
  const pool = openServicePool({ ...config, url, statementTimeoutMs: writeTimeoutMs })
  const readerOptions = () => connectionOptions({ ...config, url }, mode().findTenant ? PLAN_WITH_VALUES : KEEP_PLANS)
  const readers = startPipelinedClients(readerOptions(), {
    count: config.readConnections ?? 2,
    silenceMs: statementTimeoutMs + SILENCE_MS,
    connectMs: connectionWaitMs,
    acceptMs: connectionWaitMs * KEPT_OPEN_PART,
    parserOf: typeParsers(config.timestamps),
    onConnectionError: config.onConnectionError,
  })
  const { pool: queryPool, until } = createCancellablePool(pool, () => {
    if (mode().isRebalancing) throw rebalancing()
  })
  const db = openQueries<Tables>(config, queryPool)
  const lagging = openLagging<Tables>({ ...config, url })
  return {
    db,
    until,
    pool,
    readers,
    lagging,
    reopen: () => {
      replaceConnections(pool)
      if (!mode().isRebalancing) keepConnections(pool)
      readers.reopen(readerOptions())
    },
    close: async () => {
      await Promise.all([closePool(db, pool), lagging.close(), readers.close()])
    },
  }
}

/** Opens separate connections for reads that may return old data. */
function openLagging<Tables>(config: DatabaseConfig) {
  const pool = openServicePool({ ...config, poolSize: config.laggingConnections ?? LAGGING_CONNECTIONS })
  const cancellable = createCancellablePool(pool)
  const db = openQueries<Tables>(config, cancellable.pool)
  return {
    pool,
    run: <T>(read: (db: Kysely<Tables>) => Promise<T>, signal?: AbortSignal): Promise<T> =>
      cancellable.until(signal, () => read(db)),
    close: () => closePool(db, pool),
  }
}

/** Opens a pool with the time limits and the role of the service. */
export function openServicePool(config: DatabaseConfig): pg.Pool {
  const { statementTimeoutMs, poolSize, onConnectionError } = config
  const hosts = urlsOfHosts(config.url).length
  return openPool({
    ...connectionOptions(config),
    // Close old connections, so that connections return to a host that was unavailable.
    ...(hosts > 1 && { maxLifetimeSeconds: HOST_SECONDS }),
    max: poolSize,
    hosts,
    connectionWaitMs: config.connectionWaitMs ?? CONNECTION_WAIT_MS,
    silenceMs: statementTimeoutMs > 0 ? statementTimeoutMs + SILENCE_MS : 0,
    onConnectionError,
  })
}

export function openQueries<Tables>({ names, spans }: DatabaseConfig, pool: PostgresPool): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new TablePrefixPlugin(names)],
    ...(spans && { log: (event) => spans.record('query', event.queryDurationMillis, event.level === 'error') }),
  })
}

export async function closePool<Tables>(db: Kysely<Tables>, pool: pg.Pool): Promise<void> {
  await db.destroy()
  // Kysely ends the pool only if Kysely has used it. The write pool may be used without Kysely.
  if (!pool.ending) await pool.end()
}

function connectionOptions(
  config: DatabaseConfig,
  more: Readonly<Record<string, string>> = {},
): pg.ClientConfig & SettingsOptions {
  const { searchPath = OWN_PATH.search_path } = config
  const settings = {
    search_path: searchPath,
    statement_timeout: config.statementTimeoutMs,
    lock_timeout: config.lockTimeoutMs,
    TimeZone: 'UTC',
    ...more,
    ...(config.role === undefined ? {} : { role: config.role }),
  }
  const { connectionString, Client } = underSettings(settings, { url: config.url, hasSession: config.prepared })
  return {
    ...overHosts(connectionString, Client),
    application_name: config.applicationName,
    keepAlive: true,
    types: { getTypeParser: typeParsers(config.timestamps) },
  }
}

/**
 * Adds the schema and the prefix to every table and function name of a query, so that code can say `users`. Names of common table
 * expressions, aliases in FROM, and `excluded` do not change.
 */
class TablePrefixPlugin implements KyselyPlugin {
  readonly #names: Names

  constructor(names: Names) {
    this.#names = names
  }

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    const local = new Set(['excluded'])
    collectLocalNames(node, local)
    return new TablePrefixTransformer(this.#names, local).transformNode(node)
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result
  }
}

class TablePrefixTransformer extends OperationNodeTransformer {
  readonly #names: Names
  readonly #local: ReadonlySet<string>

  constructor(names: Names, local: ReadonlySet<string>) {
    super()
    this.#names = names
    this.#local = local
  }

  protected override transformSchemableIdentifier(node: SchemableIdentifierNode): SchemableIdentifierNode {
    if (node.schema || this.#local.has(node.identifier.name)) return node
    return {
      ...node,
      schema: IdentifierNode.create(this.#names.schema),
      identifier: IdentifierNode.create(this.#names.prefix + node.identifier.name),
    }
  }
}

/** Names that exist only inside the query, without aliases of columns, which may equal the name of a table. */
function collectLocalNames(node: OperationNode, into: Set<string>): void {
  for (const [key, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (!isNode(child)) continue
      if (node.kind === 'CommonTableExpressionNameNode' && TableNode.is(child)) into.add(child.table.identifier.name)
      if (isTablePosition(node, key) && AliasNode.is(child) && IdentifierNode.is(child.alias)) {
        into.add(child.alias.name)
      }
      collectLocalNames(child, into)
    }
  }
}

function isTablePosition(parent: OperationNode, key: string): boolean {
  return key === 'froms' || key === 'tables' || key === 'into' || (key === 'table' && !TableNode.is(parent))
}

function isNode(value: unknown): value is OperationNode {
  return typeof value === 'object' && value !== null && 'kind' in value
}

const FIRST = '0001-01-01T00:00:00.000000+00:00'
const LAST = '9999-12-31T23:59:59.999999+00:00'

/**
 * Turns PostgreSQL's text of a timestamptz in UTC into RFC 3339 with six fractional digits: `2026-01-02T03:04:05.100000+00:00`. A
 * Date would lose the microseconds. Times outside the range of RFC 3339 become its earliest or latest time. For example, a user
 * who is banned until `infinity` must still count as banned.
 * @param text plain (`2026-01-02 03:04:05.1+00`), or from a JSON function (`2026-01-02T03:04:05.1+00:00`)
 */
export function toRfc3339(text: string): string {
  if (text.charAt(4) !== '-' || text.endsWith('BC')) return isBefore(text) ? FIRST : LAST
  const offsetStart = text.length - (text.charAt(10) === 'T' ? 6 : 3)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, offsetStart).padEnd(6, '0')}+00:00`
}

function isBefore(text: string): boolean {
  return text === '-infinity' || text.endsWith('BC')
}

const parseDate = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ)

/**
 * Parses a timestamptz of a session in UTC. As in pg, `infinity` becomes a number. The parser of the JavaScript engine takes a
 * third of the time of pg's parser.
 */
export function toDate(text: string): Date {
  const hasUsualForm = text.charAt(4) === '-' && text.endsWith('+00')
  return hasUsualForm ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : parseDate(text)
}

const { INT8, TIMESTAMPTZ } = pg.types.builtins

/** Returns the parsers of column values. bigint columns become `bigint`, which is exact and cannot be confused with a number. */
export function typeParsers(timestamps: 'date' | 'rfc3339' = 'date'): pg.CustomTypesConfig['getTypeParser'] {
  const parseTimestamp = timestamps === 'rfc3339' ? toRfc3339 : toDate
  return (oid, format) => {
    if (oid === INT8 && format !== 'binary') return BigInt
    if (oid === TIMESTAMPTZ && format !== 'binary') return parseTimestamp
    return pg.types.getTypeParser(oid, format)
  }
}
