import { execFile } from 'node:child_process'
import { chmodSync, chownSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { closeInternals } from '@trestle/citus/citus.ts'
import pg from 'pg'
import { execute } from './database.ts'
import { type PostgresServer, SUPERUSER, startPostgres } from './debian-postgres.ts'
import { POSTGRES_BIN, type Workplace } from './workplace.ts'

/** The owner of the cluster's databases. Its only special right is to create roles. */
const OWNER = 'trestle'
/** The password of every user except the role of operators, also between the servers. */
export const PASSWORD = 'drill'
export const OPERATOR_PASSWORD = 'drill of operators'

/** A Citus cluster on loopback. Number 0 is the coordinator. */
export interface CitusCluster {
  url(database: string, node?: number): string
  /** Creates an empty database on every server without the extension. @returns its URL at the coordinator */
  create(database: string): Promise<string>
  /** Joins the servers of a database into one cluster, whether it has rows or not. */
  join(database: string): Promise<void>
  /** Makes the owner of a database known to Citus. Only the owner may then call Citus's internal functions. */
  introduceOwner(database: string): Promise<void>
  /** Copies a database on every server and ends its connections. A copy cannot get more servers. @returns its URL */
  copy(from: string, database: string): Promise<string>
  drop(database: string): Promise<void>
  /** Adds a server to a database's cluster. @returns its number */
  addWorker(database: string): Promise<number>
  /** Returns the address of a server for the coordinator: `127.0.0.1:5432`. */
  address(node: number): string
  server(node: number): PostgresServer
  /** Returns the URL of the database `postgres` on each server, as a superuser. The coordinator is first. */
  superuserUrls(): readonly string[]
  /** Opens a superuser connection to a server, for repeated statements. */
  watch(node: number, database: string): Promise<Watcher>
  /** Runs a statement on a server as a superuser, and returns its rows. */
  asSuperuser(node: number, database: string, statement: string): Promise<readonly unknown[]>
}

export interface Watcher {
  readonly query: (statement: string) => Promise<readonly unknown[]>
  readonly end: () => Promise<void>
}

/** @throws Error if CITUS_PG_BIN is not a PostgreSQL with Citus */
async function findCitusPrograms(): Promise<string> {
  const bin = process.env.CITUS_PG_BIN ?? POSTGRES_BIN
  const { stdout } = await promisify(execFile)(join(bin, 'pg_config'), ['--sharedir'])
  if (existsSync(join(stdout.trim(), 'extension', 'citus.control'))) return bin
  throw new Error(`the PostgreSQL in ${bin} has no Citus: set CITUS_PG_BIN to the programs of one that has`)
}

/** Settings with which an acknowledged commit survives a kill. */
export const DURABLE: Settings = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' }

type Settings = Readonly<Record<string, string | number>>

/**
 * Starts a coordinator and workers in a production-like set-up: passwords between the servers, and an owner of the databases who
 * is not a superuser. Disposing of the workplace stops them.
 * @param settings further settings of every server
 * @throws Error if CITUS_PG_BIN is not a PostgreSQL with Citus
 */
export async function startCitusCluster(
  workplace: Workplace,
  workers: number,
  settings: Settings = {},
): Promise<CitusCluster> {
  const servers = await startServers(workplace, settings)
  const { add, port, asSuperuser } = servers
  for (let count = 0; count <= workers; count += 1) await add()
  const everywhere = async (statement: string) => {
    // Copy workers first, because the copy of a coordinator looks for its workers.
    for (const number of [...servers.numbers()].reverse()) await asSuperuser(number, 'postgres', statement)
  }
  const joinServer = async (database: string, number: number) => {
    await asSuperuser(number, database, 'CREATE EXTENSION citus')
    const call = number === 0 ? 'citus_set_coordinator_host' : 'citus_add_node'
    await asSuperuser(0, database, `SELECT ${call}('127.0.0.1', ${port(number)})`)
  }
  const url = (database: string, number = 0) => urlOf(OWNER, port(number), database)
  return {
    ...servers,
    url,
    address: (number) => `127.0.0.1:${port(number)}`,
    create: async (database) => {
      await everywhere(`CREATE DATABASE ${database} OWNER ${OWNER}`)
      return url(database)
    },
    join: async (database) => {
      for (const number of servers.numbers()) await joinServer(database, number)
    },
    introduceOwner: async (database) => {
      await asSuperuser(0, database, closeInternals(OWNER))
      // Otherwise Citus would change the role on the workers with the rights of the owner, who may not do this.
      await asSuperuser(0, database, 'CREATE TYPE owned AS (id int)')
      await asSuperuser(0, database, `ALTER TYPE owned OWNER TO ${OWNER}`)
      await asSuperuser(0, database, 'DROP TYPE owned')
    },
    copy: async (from, database) => {
      await everywhere(`ALTER DATABASE ${from} ALLOW_CONNECTIONS false`)
      await everywhere(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${from}'`)
      await everywhere(`CREATE DATABASE ${database} TEMPLATE ${from} STRATEGY FILE_COPY OWNER ${OWNER}`)
      await everywhere(`ALTER DATABASE ${from} ALLOW_CONNECTIONS true`)
      return url(database)
    },
    drop: (database) => everywhere(`DROP DATABASE ${database} WITH (FORCE)`),
    addWorker: async (database) => {
      const number = await add()
      await asSuperuser(number, 'postgres', `CREATE DATABASE ${database} OWNER ${OWNER}`)
      await joinServer(database, number)
      await asSuperuser(0, database, closeInternals(OWNER))
      return number
    },
  }
}

interface Servers extends Pick<CitusCluster, 'asSuperuser' | 'server' | 'superuserUrls' | 'watch'> {
  readonly numbers: () => Iterable<number>
  readonly port: (number: number) => number
  /** Starts another server. @returns its number */
  readonly add: () => Promise<number>
}

async function startServers(workplace: Workplace, settings: Settings): Promise<Servers> {
  const bin = await findCitusPrograms()
  writePasswordFile(workplace)
  const all: PostgresServer[] = []
  const server = (number: number) => {
    const found = all[number]
    if (found === undefined) throw new Error(`there is no server ${number}`)
    return found
  }
  const portOf = (number: number) => server(number).port
  const asSuperuser: Servers['asSuperuser'] = (number, database, statement) =>
    execute(urlOf(SUPERUSER, portOf(number), database), statement)
  return {
    asSuperuser,
    watch: async (number, database) => {
      const client = new pg.Client({ connectionString: urlOf(SUPERUSER, portOf(number), database) })
      await client.connect()
      return { query: async (statement) => (await client.query(statement)).rows, end: () => client.end() }
    },
    server,
    superuserUrls: () => all.map(({ port }) => urlOf(SUPERUSER, port, 'postgres')),
    numbers: () => all.keys(),
    port: portOf,
    add: async () => {
      const number = all.length
      const own = { ...CITUS, ...settings }
      all.push(await startPostgres(workplace, { name: `citus-${number}`, bin, settings: own, password: PASSWORD }))
      await asSuperuser(number, 'postgres', `CREATE ROLE ${OWNER} LOGIN CREATEROLE PASSWORD '${PASSWORD}'`)
      return number
    },
  }
}

const CITUS = {
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
  // Without this, a rebalance may lose a commit, so `payments distribute` refuses to run.
  synchronous_commit: 'on',
  max_connections: 600,
  max_prepared_transactions: 600,
  // Citus needs a process in each database.
  max_worker_processes: 400,
  max_locks_per_transaction: 256,
  'citus.enable_unsafe_triggers': 'on',
  'citus.node_conninfo': 'sslmode=disable',
  'citus.enable_statistics_collection': 'off',
  // Few shards, because each test file copies them all.
  'citus.shard_count': 4,
  // With this value, Citus moves the rows of even a small table in several parts.
  'citus.copy_switchover_threshold': '1kB',
}

/** Writes the passwords to the home of the servers' user, where they are in production too. */
function writePasswordFile({ folder, account }: Workplace): void {
  const file = join(folder, 'home', '.pgpass')
  writeFileSync(file, `*:*:*:payments_operators:${OPERATOR_PASSWORD}\n*:*:*:*:${PASSWORD}\n`)
  chmodSync(file, 0o600)
  if (account) chownSync(file, account.uid, account.gid)
}

function urlOf(user: string, port: number, database: string): string {
  return `postgres://${user}:${PASSWORD}@127.0.0.1:${port}/${database}`
}
