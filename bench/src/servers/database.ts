import { appendFileSync, chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createClusterOnce, DATABASE_USER, prepareHome } from '@trestle/stack/postgres/embedded-database.ts'
import type { PostgresHome } from '@trestle/stack/postgres/home.ts'
import { serverEndSteps, startServer } from '@trestle/stack/postgres/server.ts'
import type { Child } from '@trestle/stack/processes/child.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import pg from 'pg'
import { closeAtSignal } from './close-at-signal.ts'
import { moveToCores } from './cores.ts'
import { runProgram } from './run-program.ts'

/** A PostgreSQL server with durable commits. */
export interface DatabaseServer {
  /** Creates a database, empty or as a copy of another one without connections. Returns its URL. */
  create(name: string, template?: string): Promise<string>
  /** Kills the server with SIGKILL and starts it on the same data. @throws Error if it is a server of the caller */
  crash(): Promise<void>
  /**
   * Starts a standby on a copy of the data, while there are no other connections, and returns its URL. It stops with the server.
   * @throws Error if it is a server of the caller
   */
  startStandby(): Promise<string>
  /** Drops all created databases, and stops the server unless it belongs to the caller. */
  close(): Promise<void>
}

/** Opens the server. A new server has PostgreSQL's default settings, so every commit waits for the disk. */
export async function openDatabaseServer({
  url,
  folder,
  cores,
}: {
  /** A server of the caller, with rights to create databases and roles. `undefined` for a new server. */
  readonly url: string | undefined
  /** The folder of data and log. Other users must be able to enter its parent folder. */
  readonly folder: string
  /** The cores of the server. `undefined` if the system chooses. */
  readonly cores?: string | undefined
}): Promise<DatabaseServer> {
  const own = url === undefined ? await startOwn(folder, cores) : undefined
  const serverUrl = own?.url ?? url ?? ''
  const created: string[] = []
  return {
    create: async (name, template) => {
      // An earlier run may have left a database with this name.
      await execute(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await execute(serverUrl, `CREATE DATABASE ${name}${template === undefined ? '' : ` TEMPLATE ${template}`}`)
      created.push(name)
      return Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href
    },
    crash: async () => {
      if (!own) throw new Error('the bench kills only its own server')
      await own.crash()
    },
    startStandby: async () => {
      if (!own) throw new Error('the bench copies only its own server')
      return own.startStandby()
    },
    close: async () => {
      if (own) return own.end()
      for (const name of created) await execute(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

async function startOwn(folder: string, cores: string | undefined) {
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true })
  // If this process is root, PostgreSQL runs as another user, who must be able to enter the folder.
  chmodSync(folder, 0o711)
  const home = await prepareHome(data, join(folder, 'state'))
  await createClusterOnce(home, PASSWORD)
  const port = await freePort()
  const launch = async (at: PostgresHome, atPort: number, logFile: string) => {
    const server = await startServer({ home: at, port: atPort, logFile, signal: new AbortController().signal })
    if (cores !== undefined) moveToCores(server.pid, cores)
    return server
  }
  const start = () => launch(home, port, join(folder, 'postgres.log'))
  let server = await start()
  let standby: Child | undefined
  const end = async () => {
    await standby?.end(serverEndSteps)
    await server.end(serverEndSteps)
  }
  const forget = closeAtSignal(end)
  return {
    url: urlOf(port),
    crash: async () => {
      process.kill(server.pid, 'SIGKILL')
      await server.ended
      server = await start()
    },
    startStandby: async () => {
      // The server is stopped, so a plain copy of its files is consistent.
      await server.end(serverEndSteps)
      const copy = { ...home, data: `${home.data}-standby` }
      await runProgram({ program: 'cp', args: ['-a', home.data, copy.data] })
      server = await start()
      appendFileSync(join(copy.data, 'standby.signal'), '')
      const primary = `host=127.0.0.1 port=${port} user=${DATABASE_USER} password=${PASSWORD}`
      appendFileSync(join(copy.data, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`)
      const standbyPort = await freePort()
      standby = await launch(copy, standbyPort, join(folder, 'standby.log'))
      return urlOf(standbyPort)
    },
    end: async () => {
      await end()
      forget()
    },
  }
}

const PASSWORD = 'bench'

function urlOf(port: number): string {
  return `postgres://${DATABASE_USER}:${PASSWORD}@127.0.0.1:${port}/postgres`
}

/** Runs one statement over a new connection, and returns the rows. */
export async function execute(url: string, statement: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}
