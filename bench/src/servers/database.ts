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

/** A PostgreSQL with durable commits. */
export interface DatabaseServer {
  /** Makes a database and returns its URL: an empty one, or a copy of another one without connections. */
  create(name: string, template?: string): Promise<string>
  /** Kills the server with SIGKILL, and starts it on the same data. @throws Error when the server is not the bench's own */
  crash(): Promise<void>
  /**
   * Starts a standby on a copy of the data, while there are no other connections, and returns its URL. The standby ends with
   * the server.
   * @throws Error when the server is not the bench's own
   */
  startStandby(): Promise<string>
  /** Drops what was created, and ends the server when it is the bench's own. */
  close(): Promise<void>
}

/** Opens the server. The bench's own server has PostgreSQL's defaults, so every commit waits for the disk. */
export async function openDatabaseServer({
  url,
  folder,
  cores,
}: {
  /** A server of the caller, with the rights to create databases and roles; undefined: a server of the bench. */
  readonly url: string | undefined
  /** Holds data and log. Other users must be able to enter the folder above it. */
  readonly folder: string
  /** Cores of the server; undefined: the system chooses. */
  readonly cores?: string | undefined
}): Promise<DatabaseServer> {
  const own = url === undefined ? await startOwn(folder, cores) : undefined
  const serverUrl = own?.url ?? url ?? ''
  const created: string[] = []
  return {
    create: async (name, template) => {
      // An earlier run may have left a database of this name.
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
  // As root, PostgreSQL runs as another user, who must be able to enter the folder.
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

/** Runs one statement over a connection of its own, and returns the rows. */
export async function execute(url: string, statement: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}
