import { execFile } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Account, chooseAccount } from '@trestle/stack/postgres/account.ts'
import { serverEndSteps, startServer } from '@trestle/stack/postgres/server.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { closeAtSignal } from '../../servers/close-at-signal.ts'

/** The programs of one version of PostgreSQL: server, `pg_dump`, `pg_restore` and `psql`. */
export interface Programs {
  /** The folder with `bin`, `lib` and `share`. */
  readonly directory: string
  /** Runs a program, and returns its standard output. @throws Error with its standard error */
  run(name: string, args: readonly string[]): Promise<string>
}

/** A PostgreSQL server of the drill, on loopback and without a password. */
export interface Cluster {
  /** The URL of a database of the server. @param database its name */
  url(database: string): string
  end(): Promise<void>
}

const USER = 'trestle'
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/**
 * Finds the newest installed PostgreSQL that has its client programs; the one of npm has none.
 * @param given a folder with `initdb` and `pg_dump`, from PG_BIN
 * @throws Error when no folder has `initdb` and `pg_dump`
 */
export function findPrograms(given: string | undefined): Programs {
  const places = given === undefined ? globSync('/usr/{lib/postgresql,pgsql-}*/{*/,}bin').sort().reverse() : [given]
  const path = [...places, ...(process.env.PATH ?? '').split(':')]
  const bin = path.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'pg_dump')))
  if (bin === undefined)
    throw new Error('there is no PostgreSQL with initdb and pg_dump here: set PG_BIN to its folder')
  const run = async (name: string, args: readonly string[]) => {
    const done = promisify(execFile)(join(bin, name), args, { maxBuffer: OUTPUT_BYTES_MAX, cwd: '/' })
    const { stdout } = await done.catch((error) => {
      throw new Error(`${name} failed: ${String(error.stderr).trim()}`)
    })
    return stdout
  }
  return { directory: dirname(bin), run }
}

/** Makes an empty server in a folder, and starts it with PostgreSQL's own settings, so every commit waits for the disk. */
export async function startCluster({ directory }: Programs, folder: string): Promise<Cluster> {
  const account = process.getuid?.() === 0 ? await chooseAccount() : undefined
  const data = join(folder, 'data')
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  mkdirSync(data, { mode: 0o700 })
  if (account) chownSync(data, account.uid, account.gid)
  await initialise(join(directory, 'bin', 'initdb'), data, account)
  const port = await freePort()
  const home = { binaries: directory, data, ...(account && { account }), isOutside: true }
  const logFile = join(folder, 'postgres.log')
  const server = await startServer({ home, port, logFile, signal: new AbortController().signal })
  const end = () => server.end(serverEndSteps)
  const forget = closeAtSignal(end)
  return {
    url: (database) => `postgres://${USER}@127.0.0.1:${port}/${database}`,
    end: async () => {
      await end()
      forget()
    },
  }
}

async function initialise(initdb: string, data: string, account: Account | undefined): Promise<void> {
  const args = [`--pgdata=${data}`, `--username=${USER}`, '--auth=trust', '--encoding=UTF8', '--locale=C']
  await promisify(execFile)(initdb, args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    ...(account && { uid: account.uid, gid: account.gid }),
  })
}
