import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '@trestle/testing/free-port.ts'
import { execute } from '../database.ts'
import { POSTGRES_BIN, type SystemProgram, type Workplace } from './workplace.ts'

/** The PostgreSQL server of Debian 12. */
export const DEBIAN_POSTGRES: SystemProgram = { file: join(POSTGRES_BIN, 'postgres'), debianPackage: 'postgresql-15' }
/** The pooler of Debian 12. */
export const PGBOUNCER: SystemProgram = { file: '/usr/sbin/pgbouncer', debianPackage: 'pgbouncer' }
/** The superuser of every PostgreSQL that a drill starts. */
export const SUPERUSER = 'postgres'

/** Turns durability off: nothing in a test database must survive a crash. */
const FAST = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: 400, jit: 'off' }
const POSTGRES_START_MS = 20_000
const PGBOUNCER_START_MS = 10_000
const POLL_MS = 50

/** Starts Debian's PostgreSQL for tests. It trusts everybody on this machine. @returns its port */
export function startDebianPostgres(workplace: Workplace): Promise<number> {
  return startPostgres(workplace, { name: 'postgres', bin: POSTGRES_BIN, settings: {} })
}

/** A server to start: a name of its own, the folder of its programs, and what it is set to besides. */
interface ServerStart {
  readonly name: string
  readonly bin: string
  readonly settings: Readonly<Record<string, string | number>>
}

async function startPostgres(workplace: Workplace, { name, bin, settings }: ServerStart): Promise<number> {
  const data = workplace.makeFolder(`${name}-data`)
  const { account } = workplace
  const args = ['--pgdata', data, '--username', SUPERUSER, '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8']
  await promisify(execFile)(join(bin, 'initdb'), args, {
    cwd: '/',
    ...(account && { uid: account.uid, gid: account.gid }),
  })
  const port = await freePort()
  const all = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', ...FAST, ...settings }
  await workplace.start({
    name,
    program: join(bin, 'postgres'),
    args: ['-D', data, ...Object.entries(all).flatMap(([setting, value]) => ['-c', `${setting}=${value}`])],
  })
  await untilWritable(`postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`, POSTGRES_START_MS)
  return port
}

/** The folder of the programs of a PostgreSQL that has the extension Citus. */
const CITUS_BIN = process.env.CITUS_PG_BIN ?? POSTGRES_BIN
const CITUS_WORKERS = 2
const CITUS = {
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
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
}

/** The ports of a Citus cluster whose nodes trust everybody on this machine. */
export interface CitusPorts {
  readonly coordinator: number
  readonly workers: readonly number[]
}

/**
 * Starts the nodes of a Citus cluster for tests, without a database of their own.
 * @throws Error when the PostgreSQL of CITUS_PG_BIN does not have the extension
 */
export async function startCitusNodes(workplace: Workplace): Promise<CitusPorts> {
  const { stdout } = await promisify(execFile)(join(CITUS_BIN, 'pg_config'), ['--sharedir'])
  if (!existsSync(join(stdout.trim(), 'extension', 'citus.control'))) {
    throw new Error(`the PostgreSQL in ${CITUS_BIN} has no Citus: set CITUS_PG_BIN to the programs of one that has`)
  }
  const start = (name: string) => startPostgres(workplace, { name, bin: CITUS_BIN, settings: CITUS })
  const workers = Array.from({ length: CITUS_WORKERS }, (_, worker) => start(`worker-${worker + 1}`))
  return { coordinator: await start('coordinator'), workers: await Promise.all(workers) }
}

/** Waits for a database that accepts writes. @throws Error with the last failure when the time is over */
function untilWritable(url: string, withinMs: number): Promise<void> {
  return untilExecuted(url, 'BEGIN READ WRITE; COMMIT', withinMs)
}

/** Sends a statement again until it succeeds. @throws Error with the last failure when the time is over */
export async function untilExecuted(url: string, statement: string, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs
  for (;;) {
    try {
      await execute(url, statement)
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await delay(POLL_MS)
    }
  }
}

/**
 * Starts PgBouncer in transaction mode before a PostgreSQL that trusts this machine. It keeps PgBouncer's defaults otherwise,
 * so it refuses startup parameters that it does not know.
 * @returns its port
 */
export async function startPgBouncer(workplace: Workplace, postgresPort: number): Promise<number> {
  const port = await freePort()
  const users = workplace.write('pgbouncer-users.txt', `"${SUPERUSER}" ""\n`)
  const file = workplace.write(
    'pgbouncer.ini',
    `[databases]
* = host=127.0.0.1 port=${postgresPort} auth_user=${SUPERUSER}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
max_client_conn = 4000
default_pool_size = 40
server_idle_timeout = 10
`,
  )
  await workplace.start({ name: 'pgbouncer', program: PGBOUNCER.file, args: [file] })
  await untilWritable(`postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`, PGBOUNCER_START_MS)
  return port
}
