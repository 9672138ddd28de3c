import { execFile } from 'node:child_process'
import { chownSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type Supervised, supervise } from '../processes/child.ts'
import { StackFailure } from '../stack-failure.ts'
import { chooseAccount, chooseHome, createPrivateFolder, findBinaries, type PostgresHome } from './home.ts'
import { endLeftoverServer, serverEndSteps, startServer } from './server.ts'

/** The port, the password and the log of the embedded server, and the signal that aborts its start. */
interface EmbeddedDatabaseOptions {
  readonly port: number
  readonly password: string
  readonly logFile: string
  readonly say: (line: string) => void
  readonly stop: AbortSignal
}

export interface EmbeddedDatabase extends Supervised {
  readonly url: string
}

/**
 * Chooses the folders of the server. Stops a server that a killed stack left running, so that its port is free.
 * @throws StackFailure if there is no package for this system or no user for it, or if the server does not stop
 */
export async function prepareHome(dataDirectory: string, stateDirectory: string): Promise<PostgresHome> {
  const binaries = findBinaries(process.platform, process.arch)
  const account = process.getuid?.() === 0 ? await chooseAccount() : undefined
  const home = await chooseHome({ binaries, dataDirectory, stateDirectory, account })
  await endLeftoverServer(home.data)
  return home
}

/**
 * Starts the server and creates its database if it is missing. Restarts the server if it ends unexpectedly.
 *
 * @throws StackFailure if the server does not start
 */
export async function startDatabase(home: PostgresHome, options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const { port, password, logFile, say, stop } = options
  if (await createClusterOnce(home, password)) say(`PostgreSQL keeps its data in ${home.data}`)
  else if (home.isOutside) say(`PostgreSQL has its data in ${home.data}: it cannot reach the checkout as its own user`)
  const start = () => startServer({ home, port, logFile, signal: stop })
  const server = supervise(await start(), {
    start,
    endSteps: serverEndSteps,
    onEnd: (name) => say(`${name} has ended by itself and is restarted; its log is ${logFile}`),
  })
  try {
    await createDatabaseOnce(port, password)
  } catch (error) {
    await server.end()
    throw error
  }
  return { url: databaseUrl(port, password), ...server }
}

/** The database of the stack. It contains one schema for each service. */
const DATABASE_NAME = 'trestle'

const CONNECT_TIMEOUT_MS = 5_000
const WRONG_PASSWORD = '28P01'

/** Returns the URL of the embedded server's database, including the password. */
function databaseUrl(port: number, password: string): string {
  return `postgres://${DATABASE_USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${DATABASE_NAME}`
}

/**
 * Creates the database if it does not exist.
 *
 * @throws StackFailure if the password is not the password of the cluster
 */
async function createDatabaseOnce(port: number, password: string): Promise<void> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: DATABASE_USER,
    password,
    database: 'postgres',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  try {
    await client.connect()
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE_NAME])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE_NAME}`)
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError && cause.code === WRONG_PASSWORD)) throw cause
    const problem = 'The password of the database is not the one in secrets.env: they were made by different starts.'
    throw new StackFailure([problem, 'Put the old secrets.env back, or remove the data to start over.'], { cause })
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The superuser of the embedded server. Services work in restricted roles, to which the superuser can switch. */
export const DATABASE_USER = 'trestle'

const LOCALE = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']

/**
 * Creates the cluster if it is missing: UTF-8, sorted by code point on every system, with SCRAM passwords. It is created under a
 * temporary name and then renamed, so that an interrupted start leaves nothing that looks complete.
 *
 * @returns whether it was created
 * @throws StackFailure with the last lines of `initdb`
 */
export async function createClusterOnce({ binaries, data, account }: PostgresHome, password: string): Promise<boolean> {
  if (existsSync(join(data, 'PG_VERSION'))) return false
  const draft = `${data}.new`
  const passwordFile = `${data}.password`
  createPrivateFolder(draft, account)
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  if (account) chownSync(passwordFile, account.uid, account.gid)
  const args = [`--pgdata=${draft}`, `--username=${DATABASE_USER}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  try {
    await promisify(execFile)(join(binaries, 'bin', 'initdb'), [...args, ...LOCALE], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      ...(account && { uid: account.uid, gid: account.gid }),
    })
  } catch (cause) {
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim().split('\n') : [String(cause)]
    throw new StackFailure([`PostgreSQL could not create ${draft}:`, ...said.slice(-3)], { cause })
  } finally {
    rmSync(passwordFile, { force: true })
  }
  renameSync(draft, data)
  return true
}
