import { execFile } from 'node:child_process'
import { chmodSync, chownSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { closeInternals } from '@trestle/citus/citus.ts'
import pg from 'pg'
import { execute } from './database.ts'
import { type PostgresServer, SUPERUSER, startPostgres } from './debian-postgres.ts'
import { POSTGRES_BIN, type Workplace } from './workplace.ts'

/** The owner of the databases of a cluster. It may only create roles. */
const OWNER = 'trestle'
/** The password of every user but the role of operators. The servers use it among each other. */
export const PASSWORD = 'drill'
export const OPERATOR_PASSWORD = 'drill of operators'

/** A Citus cluster on loopback. Number 0 is the coordinator. */
export interface CitusCluster {
  url(database: string, node?: number): string
  /** Makes an empty database on every server, without the extension. @returns its URL through the coordinator */
  create(database: string): Promise<string>
  /** Makes a database one cluster, with or without rows. */
  join(database: string): Promise<void>
  /** Introduces the owner of a database to Citus, and restricts the internal functions of Citus to the owner. */
  introduceOwner(database: string): Promise<void>
  /** Copies a database on every server, and ends the connections to it. A copy accepts no further server. @returns its URL */
  copy(from: string, database: string): Promise<string>
  drop(database: string): Promise<void>
  /** Adds a server to the cluster of a database. @returns its number */
  addWorker(database: string): Promise<number>
  /** The address of a server, as the coordinator knows it: `127.0.0.1:5432`. */
  address(node: number): string
  server(node: number): PostgresServer
  /** The URL of the database `postgres` of each server, as a superuser. The coordinator comes first. */
  superuserUrls(): readonly string[]
  /** Opens a connection to a server as a superuser, for repeated statements. */
  watch(node: number, database: string): Promise<Watcher>
  /** Runs a statement on a server as a superuser, and returns the rows. */
  asSuperuser(node: number, database: string, statement: string): Promise<readonly unknown[]>
}

export interface Watcher {
  readonly query: (statement: string) => Promise<readonly unknown[]>
  readonly end: () => Promise<void>
}

/** @throws Error when CITUS_PG_BIN does not name a PostgreSQL that has Citus */
async function findCitusPrograms(): Promise<string> {
  const bin = process.env.CITUS_PG_BIN ?? POSTGRES_BIN
  const { stdout } = await promisify(execFile)(join(bin, 'pg_config'), ['--sharedir'])
  if (existsSync(join(stdout.trim(), 'extension', 'citus.control'))) return bin
  throw new Error(`the PostgreSQL in ${bin} has no Citus: set CITUS_PG_BIN to the programs of one that has`)
}

/** Settings under which an acknowledged commit survives a kill. */
export const DURABLE: Settings = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' }

type Settings = Readonly<Record<string, string | number>>

/**
 * Starts a coordinator and workers as operators have them: passwords between the servers, and an owner of the databases
 * without the rights of a superuser. Disposing of the workplace ends them.
 * @param settings further settings of every server
 * @throws Error when CITUS_PG_BIN does not name a PostgreSQL that has Citus
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
    // Workers first: a copy of a coordinator without workers would look for them.
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
      // Otherwise Citus changes the role on the workers as the owner, who may not.
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
  /** Starts a further server. @returns its number */
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
  // Without it a rebalance may lose a commit, so `payments distribute` refuses.
  synchronous_commit: 'on',
  max_connections: 600,
  max_prepared_transactions: 600,
  // Citus has a process in each database.
  max_worker_processes: 400,
  max_locks_per_transaction: 256,
  'citus.enable_unsafe_triggers': 'on',
  'citus.node_conninfo': 'sslmode=disable',
  'citus.enable_statistics_collection': 'off',
  // Few, because each test file copies them all.
  'citus.shard_count': 4,
  // Citus copies the rows of a large table to a server in parts. With this value, also those of a small table.
  'citus.copy_switchover_threshold': '1kB',
}

/** Every server finds the passwords in the home of its user, as in production. */
function writePasswordFile({ folder, account }: Workplace): void {
  const file = join(folder, 'home', '.pgpass')
  writeFileSync(file, `*:*:*:payments_operators:${OPERATOR_PASSWORD}\n*:*:*:*:${PASSWORD}\n`)
  chmodSync(file, 0o600)
  if (account) chownSync(file, account.uid, account.gid)
}

function urlOf(user: string, port: number, database: string): string {
  return `postgres://${user}:${PASSWORD}@127.0.0.1:${port}/${database}`
}
