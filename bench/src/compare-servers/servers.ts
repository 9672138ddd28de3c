import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort } from '@trestle/testing/free-port.ts'
import { signAdminToken } from '../fixtures.ts'
import { type DatabaseServer, execute } from '../servers/database.ts'
import { runProgram } from '../servers/run-program.ts'
import { startServer } from '../servers/server.ts'
import { startPeers } from './peers.ts'
import type { Side } from './run-steps.ts'
import { settingsOf } from './settings.ts'
import type { Round } from './step.ts'
import { SECRET } from './tokens.ts'

/** How one of the two servers is started in each round. */
export interface ServerKind {
  readonly name: 'theirs' | 'ours'
  /** The prefix of its settings. */
  readonly prefix: 'GOTRUE_' | 'AUTH_'
  /** Prepares an empty database. */
  migrate(databaseUrl: string): Promise<void>
  /** Starts the server. The URL of the database and the port are in the environment. */
  start(
    env: Readonly<Record<string, string>>,
    url: string,
  ): Promise<{
    stop(): Promise<void>
    /** Kills it by SIGKILL. */
    kill(): Promise<void>
  }>
  /** Names that the server wants for its port and database. */
  environment(databaseUrl: string, port: number): Readonly<Record<string, string>>
}

/** The program of supabase/auth. */
export function theirServer(program: string, folder: string): ServerKind {
  const base = { PATH: process.env.PATH ?? '' }
  const environment = (databaseUrl: string, port: number) => ({
    ...base,
    // Its statements name most tables without their schema.
    DATABASE_URL: `${databaseUrl}?search_path=auth`,
    GOTRUE_DB_DRIVER: 'postgres',
    // Without these two it opens a connection for each statement.
    GOTRUE_DB_MAX_POOL_SIZE: '10',
    GOTRUE_DB_MAX_IDLE_POOL_SIZE: '10',
    // Old versions read their migrations from the folder of the program.
    GOTRUE_DB_MIGRATIONS_PATH: join(dirname(program), 'migrations'),
    GOTRUE_LOG_LEVEL: 'warn',
    PORT: String(port),
  })
  return {
    name: 'theirs',
    prefix: 'GOTRUE_',
    environment,
    migrate: async (databaseUrl) => {
      // Its migrations grant rights to this role, and expect the schema.
      await execute(databaseUrl, `DO $$ BEGIN CREATE ROLE postgres; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
      await execute(databaseUrl, 'CREATE SCHEMA auth')
      const needed = {
        GOTRUE_JWT_SECRET: SECRET,
        GOTRUE_SITE_URL: 'http://localhost',
        API_EXTERNAL_URL: 'http://localhost',
      }
      const env = { ...environment(databaseUrl, 0), ...needed, GOTRUE_API_HOST: '127.0.0.1' }
      await runProgram({ program, args: ['migrate'], env, cwd: folder })
    },
    start: (env, url) =>
      startServer({
        name: program,
        program,
        args: ['serve'],
        env,
        cwd: folder,
        cores: undefined,
        url,
        signs: ['/health'],
      }),
  }
}

/** The service of this checkout. */
export function ourServer(checkout: string, folder: string, profile: string): ServerKind {
  const entry = join(checkout, 'services', 'auth', 'src', 'main.ts')
  const base = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: join(folder, 'cache') }
  const environment = (databaseUrl: string, port: number) => ({
    ...base,
    AUTH_PROFILE: profile,
    AUTH_DB_DRIVER: 'postgres',
    DATABASE_URL: databaseUrl,
    AUTH_API_PORT: String(port),
    AUTH_LOG_FILE: join(folder, 'ours.log'),
  })
  return {
    name: 'ours',
    prefix: 'AUTH_',
    environment,
    migrate: async (databaseUrl) => {
      const needed = {
        AUTH_JWT_SECRET: SECRET,
        AUTH_SITE_URL: 'http://localhost',
        AUTH_API_EXTERNAL_URL: 'http://localhost',
      }
      const smtp = { AUTH_SMTP_HOST: '127.0.0.1', AUTH_SMTP_PORT: '25', AUTH_SMTP_ADMIN_EMAIL: 'auth@example.com' }
      const env = { ...environment(databaseUrl, 0), ...needed, ...smtp }
      await runProgram({ program: process.execPath, args: [entry, 'migrate'], env, cwd: folder })
    },
    start: (env, url) =>
      startServer({ name: 'auth', args: [entry, 'serve'], env, cwd: folder, cores: undefined, url, signs: ['/ready'] }),
  }
}

/** A server of a kind that runs with the settings of a round, on a database of its own. */
export interface StartedSide {
  readonly side: Side
  close(): Promise<void>
}

/** Makes one of the two servers ready, for one round after another. */
export interface Sides {
  start(round: Round): Promise<StartedSide>
}

/** Starts servers of a kind, each on a copy of one migrated database. */
export async function openSides(kind: ServerKind, database: DatabaseServer): Promise<Sides> {
  const template = `trestle_bench_compare_${kind.name}`
  await kind.migrate(await database.create(template))
  return {
    start: async (round) => {
      await using opened = new AsyncDisposableStack()
      const peers = await startPeers({ http: 0, smtp: 0 })
      opened.defer(peers.close)
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      const databaseUrl = await database.create(`${template}_${round.name.replaceAll(/\W/g, '_')}`, template)
      const settings = settingsOf(round, { url, peers })
      const own = Object.entries(settings).map(([name, value]) => [kind.prefix + name, value])
      const env = { ...kind.environment(databaseUrl, port), ...Object.fromEntries(own), API_EXTERNAL_URL: url }
      const server = await kind.start(env, url)
      opened.defer(server.stop)
      const all = opened.move()
      return { side: { url, peers, adminToken: signAdminToken(SECRET) }, close: () => all.disposeAsync() }
    },
  }
}

/** The ports on which the peers of a server listen that somebody else has started. */
const FIXED_PORTS = { http: 8126, smtp: 8125 } as const

/** The settings that a server needs for a round when somebody else starts it, as lines of an environment. */
export function printableSettings(round: Round, url: string): readonly string[] {
  const peers = `http://127.0.0.1:${FIXED_PORTS.http}`
  const context = { url, peers: { url: peers, realm: `${peers}/realms/test`, smtpPort: FIXED_PORTS.smtp } }
  const own = Object.entries(settingsOf(round, context)).map(([name, value]) => `GOTRUE_${name}=${value}`)
  return [...own, `API_EXTERNAL_URL=${url}`]
}

/** A server that runs already, with the settings of a round and an empty database. */
export function attachSides(url: string): Sides {
  return {
    start: async () => {
      const peers = await startPeers(FIXED_PORTS)
      return { side: { url, peers, adminToken: signAdminToken(SECRET) }, close: peers.close }
    },
  }
}

/** Creates the folder in which a server runs. */
export function createServerFolder(folder: string, name: ServerKind['name']): string {
  const own = join(folder, name)
  mkdirSync(own, { recursive: true })
  return own
}
