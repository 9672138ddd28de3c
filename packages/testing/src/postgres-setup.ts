import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startTestPostgres } from './postgres-server.ts'

/** The roles of PostgREST in a database of Supabase. `migrate` of auth grants rights to these roles if they exist. */
const MAKE_ROLES = ['anon', 'authenticated', 'service_role BYPASSRLS'].map(
  (role) => `DO $$ BEGIN CREATE ROLE ${role}; EXCEPTION WHEN duplicate_object THEN END $$`,
)

/**
 * The global set-up of vitest: one PostgreSQL server for the whole run. Prints its version and the program that runs it.
 * @throws StackFailure if the embedded server does not start
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, host, stop } = await startTestPostgres(process.env)
  project.provide('postgresUrl', url)
  project.provide('poolerUrl', process.env.TEST_POOLER_URL)
  project.provide('workerUrls', process.env.TEST_WORKER_URLS?.split(' ') ?? [])
  project.provide('operatorPassword', process.env.TEST_OPERATOR_PASSWORD)
  project.provide('entersByWorkers', process.env.TEST_ENTER_BY === 'workers')
  project.provide('adopted', process.env.TEST_DATABASES === 'adopted')
  process.stdout.write(` PostgreSQL ${await prepare(url)}: ${host}\n`)
  return stop
}

/** Creates the roles, which all databases of the server share. @returns the version of the server */
async function prepare(url: string): Promise<string> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    for (const statement of MAKE_ROLES) await client.query(statement)
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
    return rows[0]?.server_version ?? 'of an unknown version'
  } finally {
    await client.end()
  }
}
