import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** A server on which the tests may create databases, with the rights of a superuser. */
    readonly postgresUrl: string
    /** A pooler in transaction mode in front of the server, which tests use. Undefined: there is none. */
    readonly poolerUrl: string | undefined
  }
}

/** Whether the way to the server carries named statements: the setting `…_DB_PREPARED`. */
export const prepared = inject('poolerUrl') === undefined

/** A database for one test file. */
export interface TemporaryDatabase {
  /** `postgres://…/<name>`: a database for one test file, through the pooler if there is one. */
  readonly url: string
  /** The same database by TCP and without a pooler, for tests about the connection to the server itself. */
  readonly directUrl: string
  readonly drop: () => Promise<void>
}

/** How a migrated database is made. */
export interface TemporaryDatabaseOptions {
  /** Identifies a template: the service, and what its migrations depend on. */
  readonly template: string
  /** Migrates an empty database. It runs once for each template, in the first test file that needs it. */
  readonly migrate: (url: string) => Promise<unknown>
}

/** Makes a migrated database, as a copy of a template. The first caller makes the template. */
export async function createTemporaryDatabase(options: TemporaryDatabaseOptions): Promise<TemporaryDatabase> {
  const name = `template_${createHash('sha256').update(options.template).digest('hex').slice(0, 12)}`
  const template = templates.get(name) ?? ensureTemplate(name, options.migrate)
  templates.set(name, template)
  await template
  return createFrom(name)
}

/** Templates by name that this worker has found or is making. */
const templates = new Map<string, Promise<void>>()

async function ensureTemplate(name: string, migrate: TemporaryDatabaseOptions['migrate']): Promise<void> {
  const serverUrl = inject('postgresUrl')
  const client = await connect(serverUrl)
  try {
    // Held until the connection ends.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [name])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1 AND datistemplate', [name])
    if (rowCount === 1) return
    await client.query(`DROP DATABASE IF EXISTS ${name}`)
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0`)
    await migrate(databaseUrl(serverUrl, name))
    await client.query(`ALTER DATABASE ${name} IS_TEMPLATE true`)
  } finally {
    await client.end()
  }
}

/** Makes an empty database, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<TemporaryDatabase> {
  return createFrom('template0')
}

/** Copies a database. Nobody may be connected to it meanwhile. */
export function copyDatabase({ directUrl }: TemporaryDatabase): Promise<TemporaryDatabase> {
  return createFrom(new URL(directUrl).pathname.slice(1))
}

async function createFrom(template: string): Promise<TemporaryDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)
  const serverUrl = inject('postgresUrl')
  return {
    url: databaseUrl(inject('poolerUrl') ?? serverUrl, name),
    directUrl: byTcp(databaseUrl(serverUrl, name)),
    drop: () => administer(`DROP DATABASE ${name} WITH (FORCE)`),
  }
}

let administration: pg.Pool | undefined

/** Runs a statement on a connection that this worker keeps, after those that wait for it already. */
async function administer(statement: string): Promise<void> {
  administration ??= new pg.Pool({ connectionString: inject('postgresUrl'), max: 1, idleTimeoutMillis: 0 })
  await administration.query(statement)
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}

/** The embedded server has a socket file too, which `host` names. */
function byTcp(serverUrl: string): string {
  const url = new URL(serverUrl)
  url.searchParams.delete('host')
  return url.href
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
