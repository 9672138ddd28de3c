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
  const { template, migrate } = options
  const serverUrl = inject('postgresUrl')
  const templateName = `template_${createHash('sha256').update(template).digest('hex').slice(0, 12)}`
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await withClient(serverUrl, async (client) => {
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [templateName])
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate', [
      templateName,
    ])
    if (rowCount === 0) {
      await client.query(`DROP DATABASE IF EXISTS ${templateName}`)
      await client.query(`CREATE DATABASE ${templateName} TEMPLATE template0`)
      await migrate(databaseUrl(serverUrl, templateName))
      await client.query(`ALTER DATABASE ${templateName} IS_TEMPLATE true`)
    }
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${templateName} STRATEGY FILE_COPY`)
  })
  return temporaryDatabase(name)
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
  await withClient(inject('postgresUrl'), (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`),
  )
  return temporaryDatabase(name)
}

function temporaryDatabase(name: string): TemporaryDatabase {
  const serverUrl = inject('postgresUrl')
  return {
    url: databaseUrl(inject('poolerUrl') ?? serverUrl, name),
    directUrl: databaseUrl(serverUrl, name),
    drop: () => withClient(serverUrl, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`)).then(() => {}),
  }
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
