import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '@trestle/testing/free-port.ts'
import { execute } from './database.ts'
import { killTree, processorMsOf } from './process-tree.ts'
import { POSTGRES_BIN, type SystemProgram, type Workplace } from './workplace.ts'

export const DEBIAN_POSTGRES: SystemProgram = { file: join(POSTGRES_BIN, 'postgres'), debianPackage: 'postgresql-15' }
export const PGBOUNCER: SystemProgram = { file: '/usr/sbin/pgbouncer', debianPackage: 'pgbouncer' }
/** The superuser of every PostgreSQL server of a drill. */
export const SUPERUSER = 'postgres'

/** Disables durability, because no test database must survive a crash. */
const FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: 400,
  max_prepared_transactions: 10,
  jit: 'off',
}
const POSTGRES_START_MS = 20_000
const PGBOUNCER_START_MS = 10_000
const POLL_MS = 50

/** Starts Debian's PostgreSQL for tests. It trusts every local user. @returns its port */
export async function startDebianPostgres(workplace: Workplace): Promise<number> {
  const start = { name: 'postgres', bin: POSTGRES_BIN, settings: {}, password: undefined }
  return (await startPostgres(workplace, start)).port
}

export interface PostgresServer {
  readonly port: number
  /** Kills the server with all its processes. Like in a crash, data in the system's cache stays. */
  kill(): Promise<void>
  /** Starts the server again on its data. Resolves when it accepts writes. */
  revive(): Promise<void>
  /** Returns the processor time since the server's start, in milliseconds. */
  processorMs(): number
}

export interface ServerStart {
  readonly name: string
  readonly bin: string
  readonly settings: Readonly<Record<string, string | number>>
  /** The password of the superuser. `undefined` if the server trusts every local user. */
  readonly password: string | undefined
}

/** Starts a PostgreSQL server. It is not durable unless its settings say so. */
export async function startPostgres(workplace: Workplace, start: ServerStart): Promise<PostgresServer> {
  const { name, bin, settings, password } = start
  const data = await createCluster(workplace, start)
  const port = await freePort()
  const all = { listen_addresses: '127.0.0.1', port, unix_socket_directories: '', ...FAST, ...settings }
  const args = ['-D', data, ...Object.entries(all).flatMap(([setting, value]) => ['-c', `${setting}=${value}`])]
  const launch = async () => {
    const child = await workplace.start({ name, program: join(bin, 'postgres'), args })
    await waitUntilWritable(`postgres://${SUPERUSER}:${password ?? ''}@127.0.0.1:${port}/postgres`, POSTGRES_START_MS)
    return child
  }
  let child = await launch()
  return {
    port,
    kill: async () => {
      killTree([child.pid])
      await child.ended
    },
    revive: async () => {
      child = await launch()
    },
    processorMs: () => processorMsOf(child.pid),
  }
}

/** Creates the files of a server. @returns their folder */
async function createCluster(workplace: Workplace, { name, bin, password }: ServerStart): Promise<string> {
  const data = workplace.createFolder(`${name}-data`)
  const { account } = workplace
  const access =
    password === undefined
      ? ['--auth=trust']
      : ['--auth=scram-sha-256', `--pwfile=${workplace.write('superuser-password', password)}`]
  const args = ['--pgdata', data, '--username', SUPERUSER, ...access, '--encoding=UTF8', '--locale=C.UTF-8']
  await promisify(execFile)(join(bin, 'initdb'), [...args, '--no-sync'], {
    cwd: '/',
    ...(account && { uid: account.uid, gid: account.gid }),
  })
  return data
}

/** Waits for a database that accepts writes. @throws Error with the last failure if the time is over */
function waitUntilWritable(url: string, withinMs: number): Promise<void> {
  return waitUntilExecuted(url, 'BEGIN READ WRITE; COMMIT', withinMs)
}

/** Repeats a statement until it succeeds. @throws Error with the last failure if the time is over */
export async function waitUntilExecuted(url: string, statement: string, withinMs: number): Promise<void> {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    try {
      await execute(url, statement)
      return
    } catch (error) {
      if (performance.now() > deadlineMs) throw error
      await delay(POLL_MS)
    }
  }
}

/**
 * Starts PgBouncer in transaction mode for a PostgreSQL server that trusts local users. It otherwise has PgBouncer's defaults, so
 * it refuses unknown startup parameters.
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
  await waitUntilWritable(`postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`, PGBOUNCER_START_MS)
  return port
}
