import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startTestPostgres } from './postgres-server.ts'

/**
 * vitest's global set-up: one PostgreSQL for the whole run. It prints the version and what runs it.
 * @throws StackFailure when the embedded server does not start
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, host, stop } = await startTestPostgres(process.env)
  project.provide('postgresUrl', url)
  project.provide('poolerUrl', process.env.TEST_POOLER_URL)
  process.stdout.write(` PostgreSQL ${await readVersion(url)}: ${host}\n`)
  return stop
}

async function readVersion(url: string): Promise<string> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
    return rows[0]?.server_version ?? 'of an unknown version'
  } finally {
    await client.end()
  }
}
