import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    /** A server on which the tests may create databases, with the rights of a superuser. */
    readonly postgresUrl: string
    /** A pooler in transaction mode before that server, for what is tested to go through; undefined: there is none. */
    readonly poolerUrl: string | undefined
  }
}

/** Whether what lies between the tests and the server carries named statements: the setting `…_DB_PREPARED`. */
export const prepared = inject('poolerUrl') === undefined

export interface TemporaryDatabase {
  /** `postgres://…/<name>`: a database of the caller's own; through the pooler, where there is one. */
  readonly url: string
  /** The same without a pooler, for tests about the connection to the server itself. */
  readonly directUrl: string
  readonly drop: () => Promise<void>
}

export interface TemporaryDatabaseOptions {
  /** What tells one template from another: the service and whatever its migrations depend on. */
  readonly template: string
  /** Brings an empty database up to date. Runs once a template, whichever test file comes first. */
  readonly migrate: (url: string) => Promise<unknown>
}

/** A migrated database, copied from a template that the first caller of the run makes. */
export async function createTemporaryDatabase(options: TemporaryDatabaseOptions): Promise<TemporaryDatabase> {
  const name = `template_${createHash('sha256').update(options.template).digest('hex').slice(0, 12)}`
  const template = templates.get(name) ?? ensureTemplate(name, options.migrate)
  templates.set(name, template)
  await template
  return createFrom(name)
}

/** By name, those that this worker knows to be there or makes. */
const templates = new Map<string, Promise<void>>()

async function ensureTemplate(name: string, migrate: TemporaryDatabaseOptions['migrate']): Promise<void> {
  const serverUrl = inject('postgresUrl')
  const client = await connect(serverUrl)
  try {
    // Until the connection ends.
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

/** An empty database, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<TemporaryDatabase> {
  return createFrom('template0')
}

/** A database like another, which nobody may be connected to meanwhile. */
export function copyDatabase({ directUrl }: TemporaryDatabase): Promise<TemporaryDatabase> {
  return createFrom(new URL(directUrl).pathname.slice(1))
}

async function createFrom(template: string): Promise<TemporaryDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)
  const serverUrl = inject('postgresUrl')
  return {
    url: databaseUrl(inject('poolerUrl') ?? serverUrl, name),
    directUrl: databaseUrl(serverUrl, name),
    drop: () => administer(`DROP DATABASE ${name} WITH (FORCE)`),
  }
}

let administration: Promise<pg.Client> | undefined

/** Runs a statement on a connection that this worker keeps. */
async function administer(statement: string): Promise<void> {
  administration ??= connect(inject('postgresUrl'))
  await (await administration).query(statement)
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
