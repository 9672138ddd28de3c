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

/** How to reach a database. Times are in milliseconds. */
export interface DatabaseConfig {
  /** `postgres://…`. It may name several hosts, one of which each connection picks. */
  readonly url: string
  /** The address of the coordinator of a cluster. Undefined: `url` leads to it, or there is no cluster. */
  readonly coordinatorUrl?: string | undefined
  readonly names: Names
  /** Tells whose a connection is, in `pg_stat_activity`. */
  readonly applicationName: string
  readonly poolSize: number
  /** The role that the service takes on connecting (`SET ROLE`). Undefined: the user of the URL. */
  readonly role?: string | undefined
  /** The schema in which names without a schema are looked for, after `pg_catalog`. Default: none. */
  readonly searchPath?: string | undefined
  /** Longest time of a statement on any pool. 0: no limit. */
  readonly statementTimeoutMs: number
  /** Longest time of a statement on the write pool, which may wait for locks. By default `statementTimeoutMs`. */
  readonly writeTimeoutMs?: number
  /** Connections for `readLagging` and `readLong`, on each server. They open when they are needed. By default 4. */
  readonly laggingConnections?: number
  /** Connections of the read pool. By default 2; 0 for a process that does not use it. */
  readonly readConnections?: number
  /** Longest wait for a lock (55P03). Keep it below the statement timeout, so that the error names the lock. */
  readonly lockTimeoutMs: number
  /** Longest wait for a connection of a pool. By default 5,000. */
  readonly connectionWaitMs?: number
  /**
   * False behind a pooler in transaction mode, where nothing may stay in a session: prepared queries lose their names, and role
   * and limits go with each transaction.
   */
  readonly prepared: boolean
  /** Type of timestamptz values: a Date (the default), or RFC 3339 text, which keeps microseconds. */
  readonly timestamps?: 'date' | 'rfc3339'
  /** How the owner of an object is found at first. Undefined: the database is not distributed. */
  readonly findOwner?: DatabaseMode['findTenant']
  /** How a read that finds nothing is repeated where the database is distributed. Undefined: it is not. */
  readonly readAgain?: ReadAgain | undefined
  /** A standby for reads that may lag behind. Undefined: the primary serves these reads too. */
  readonly standby?: StandbyConfig | undefined
  /** Undefined where requests are not traced. */
  readonly spans?: QuerySpans | undefined
  /** Called for every lost or refused connection. Requests get their own errors. */
  readonly onConnectionError: (error: Error) => void
}

/** How long after the server's own time limit a silent connection counts as dead. */
const SILENCE_MS = 2_000
const LAGGING_CONNECTIONS = 4
/** How long a call waits for a connection, where a service sets nothing else. */
export const CONNECTION_WAIT_MS = 5_000
/** The part of that time for which a statement waits on a pool that keeps its connections open. */
const KEPT_OPEN_PART = 0.2
/** How long a connection stays on the host that it has picked. */
const HOST_SECONDS = 300

/**
 * The read pool runs only prepared queries that find rows by key, so one plan fits all values. PostgreSQL would plan some of
 * them again for each call, which took a quarter of the time of a read. A plan that was made while tables were small must not
 * read them whole.
 */
const KEEP_PLANS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' } as const
/** A distributed database plans a query with its values, which name the node of the rows. */
const PLAN_WITH_VALUES = { plan_cache_mode: 'auto' } as const

export interface Server<Tables> {
  readonly db: Kysely<Tables>
  readonly until: CancellablePool['until']
  readonly pool: pg.Pool
  readonly readers: PipelinedClients
  readonly lagging: ReturnType<typeof openLagging<Tables>>
  /** Opens the connections again, as the mode wants them. Call it once the mode has changed. */
  readonly reopen: () => void
  readonly close: () => Promise<void>
}

/** Opens the pools of a server, and its connections for reads. They connect in the background. */
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

/** Opens connections of their own for reads that may lag behind. */
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

/** Opens a pool of the service, under its limits and its role. */
export function openServicePool(config: DatabaseConfig): pg.Pool {
  const { statementTimeoutMs, poolSize, onConnectionError } = config
  const hosts = urlsOfHosts(config.url).length
  return openPool({
    ...connectionOptions(config),
    // Connections return to a host that was unavailable.
    ...(hosts > 1 && { maxLifetimeSeconds: HOST_SECONDS }),
    max: poolSize,
    hosts,
    connectionWaitMs: config.connectionWaitMs ?? CONNECTION_WAIT_MS,
    silenceMs: statementTimeoutMs > 0 ? statementTimeoutMs + SILENCE_MS : 0,
    onConnectionError,
  })
}

/** Builds queries over a pool. */
export function openQueries<Tables>({ names, spans }: DatabaseConfig, pool: PostgresPool): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new TablePrefixPlugin(names)],
    ...(spans && { log: (event) => spans.record('query', event.queryDurationMillis, event.level === 'error') }),
  })
}

export async function closePool<Tables>(db: Kysely<Tables>, pool: pg.Pool): Promise<void> {
  await db.destroy()
  // Kysely ends the pool only if it has used it. The write pool uses the pool without Kysely.
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
 * Adds the schema and the prefix to every table and function name of a query, so that code says `users`. It leaves out names of
 * common table expressions, aliases in FROM, and `excluded`.
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

/** Names that exist only inside the query. The alias of a selected column is not one: it may equal the name of a table. */
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
 * Turns PostgreSQL's text of a timestamptz in UTC into RFC 3339 with six fractional digits: `2026-01-02T03:04:05.100000+00:00`.
 * A Date would lose the microseconds. A time that RFC 3339 cannot express becomes the earliest or latest time that it can: a
 * user who is banned until `infinity` must not count as one who is not banned.
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
 * Parses a timestamptz as a session in UTC writes it. As in pg, `infinity` becomes a number. The parser of the JavaScript
 * engine takes a third of the time of pg's parser.
 */
export function toDate(text: string): Date {
  const hasUsualForm = text.charAt(4) === '-' && text.endsWith('+00')
  return hasUsualForm ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : parseDate(text)
}

const { INT8, TIMESTAMPTZ } = pg.types.builtins

/** How the values of each type are read. bigint columns become bigint: exact, and never taken for a number by accident. */
export function typeParsers(timestamps: 'date' | 'rfc3339' = 'date'): pg.CustomTypesConfig['getTypeParser'] {
  const parseTimestamp = timestamps === 'rfc3339' ? toRfc3339 : toDate
  return (oid, format) => {
    if (oid === INT8 && format !== 'binary') return BigInt
    if (oid === TIMESTAMPTZ && format !== 'binary') return parseTimestamp
    return pg.types.getTypeParser(oid, format)
  }
}
