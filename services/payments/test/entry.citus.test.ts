import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { undoDistribution } from '@trestle/citus/undo.ts'
import { programEnvironment } from '@trestle/testing/command-server.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import type { TemporaryDatabase } from '@trestle/testing/temporary-database.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { createMigratedDatabase, distributionOptions } from './payments-app.ts'

const PROGRAM = join(import.meta.dirname, '..', 'src', 'main.ts')

let database: TemporaryDatabase
/** The database's URL on a worker. */
let workerUrl: string
let worker: pg.Client
beforeAll(async () => {
  database = await createMigratedDatabase()
  const [server = ''] = inject('workerUrls')
  workerUrl = Object.assign(new URL(server), { pathname: new URL(database.url).pathname }).href
  worker = new pg.Client({ connectionString: workerUrl })
  await worker.connect()
})
afterAll(async () => {
  await worker.end()
  await database.drop()
})

/** Returns everything that exists on the worker. */
async function catalogue(): Promise<readonly unknown[]> {
  const { rows } = await worker.query(`
    SELECT 'schema ' || nspname AS what FROM pg_namespace WHERE nspname !~ '^pg_'
    UNION ALL SELECT 'relation ' || oid || relname FROM pg_class
    UNION ALL SELECT 'function ' || oid || md5(prosrc) FROM pg_proc ORDER BY 1`)
  return rows
}

/** Starts the service on a worker, and waits until it has ended. @returns why it did not start */
async function startByWorker(settings: Readonly<Record<string, string>>) {
  const env = {
    ...programEnvironment,
    PAYMENTS_DEV: 'true',
    PAYMENTS_BASE_URL: 'http://localhost',
    PAYMENTS_PORT: String(await freePort()),
    PAYMENTS_DATABASE_URL: workerUrl,
    PGCONNECT_TIMEOUT: '1',
    ...settings,
  }
  return promisify(execFile)(process.execPath, [PROGRAM, 'serve'], { env, timeout: 20_000 }).then(
    () => 'it has started',
    ({ code, stderr }: { readonly code: number; readonly stderr: string }) => ({ code, stderr }),
  )
}

it.each([
  [
    'no coordinator is set',
    async () => ({}),
    'PAYMENTS_DATABASE_URL enters by a worker of a Citus cluster: set PAYMENTS_COORDINATOR_URL to the address of its coordinator',
  ],
  [
    'the coordinator is away',
    async () => ({ PAYMENTS_COORDINATOR_URL: `postgres://127.0.0.1:${await freePort()}/away` }),
    'PostgreSQL does not answer at 127.0.0.1',
  ],
  [
    'the coordinator is a worker',
    async () => ({ PAYMENTS_COORDINATOR_URL: workerUrl }),
    'PAYMENTS_COORDINATOR_URL leads to a worker of a Citus cluster, not to its coordinator',
  ],
])('refuses a start by a worker when %s, and migrates nothing', async (_what, settings, reason) => {
  const before = await catalogue()
  expect(await startByWorker(await settings())).toEqual({ code: 1, stderr: expect.stringContaining(reason) })
  expect(await catalogue()).toEqual(before)
})

it('no way back begins while processes enter by a worker, and the error names it', async () => {
  const entered = new pg.Client({ connectionString: workerUrl, application_name: 'entered' })
  await entered.connect()
  try {
    await expect(undoDistribution(distributionOptions(database.url))).rejects.toThrow(
      new Error(
        `processes enter by ${new URL(workerUrl).host}, which will have no tables: let them enter by the coordinator, and run distribute --undo again`,
      ),
    )
  } finally {
    await entered.end()
  }
  const { rows } = await worker.query("SELECT FROM citus_tables WHERE table_name = 'payments.transactions'::regclass")
  expect(rows).toHaveLength(1)
})

it('refuses a start by a worker once all rows are back on the coordinator', async () => {
  await undoDistribution(distributionOptions(database.url))
  expect(await startByWorker({ PAYMENTS_COORDINATOR_URL: database.url })).toEqual({
    code: 1,
    stderr: expect.stringContaining(
      'PAYMENTS_DATABASE_URL enters by a worker of a Citus cluster, and the database is not distributed: set it to the address of the coordinator',
    ),
  })
})
