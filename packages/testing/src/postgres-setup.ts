import type { TestProject } from 'vitest/node'
import { startTestPostgres } from './postgres-server.ts'

/** vitest's global set-up: one PostgreSQL for the whole run. @throws StackFailure when the embedded server does not start */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestPostgres(process.env)
  project.provide('postgresUrl', server.url)
  project.provide('poolerUrl', process.env.TEST_POOLER_URL)
  return server.stop
}
