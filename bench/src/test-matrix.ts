import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startEmbeddedPostgres } from '@trestle/testing/postgres-server.ts'
import { startCitusCluster } from './high-availability/citus-cluster.ts'
import {
  DEBIAN_POSTGRES,
  PGBOUNCER,
  SUPERUSER,
  startDebianPostgres,
  startPgBouncer,
} from './high-availability/debian-postgres.ts'
import { openWorkplace, requirePrograms, type Workplace } from './high-availability/workplace.ts'

// Runs the tests on other databases than the embedded one: `scripts/test-matrix [--on NAME]… [file…]`. Options of vitest
// follow after `--`, for example `-- --testTimeout=60000` on a busy machine. Runs on each by default: postgres-18, the version
// of the lock file; postgres-15, the oldest supported version, from Debian's package; pgbouncer, Debian's 1.18 in transaction
// mode in front of that. Exit status 1 when a test fails on one of them.
//
// `--on citus` runs the tests of payments on a cluster of a coordinator and two workers, whose databases are distributed. It
// needs a PostgreSQL with Citus 13: CITUS_PG_BIN is the folder of its programs. On citus-by-workers the service enters the cluster
// by its workers, and only what must run on the coordinator goes there.

type Environment = Readonly<Record<string, string>>

const CITUS_WORKERS = 2

const places: Readonly<Record<string, (workplace: Workplace) => Promise<Environment>>> = {
  'postgres-18': async (workplace) => {
    const server = await startEmbeddedPostgres()
    workplace.defer(server.stop)
    return { TEST_DATABASE_URL: server.url }
  },
  'postgres-15': async (workplace) => ({ TEST_DATABASE_URL: urlOf(await startDebianPostgres(workplace)) }),
  pgbouncer: async (workplace) => {
    const port = await startDebianPostgres(workplace)
    return { TEST_DATABASE_URL: urlOf(port), TEST_POOLER_URL: urlOf(await startPgBouncer(workplace, port)) }
  },
  citus: startCitus,
  'citus-by-workers': async (workplace) => ({ ...(await startCitus(workplace)), TEST_ENTER_BY: 'workers' }),
}

async function startCitus(workplace: Workplace): Promise<Environment> {
  const [coordinator = '', ...workers] = (await startCitusCluster(workplace, CITUS_WORKERS)).superuserUrls()
  return { TEST_DATABASE_URL: coordinator, TEST_WORKER_URLS: workers.join(' ') }
}

/** Test files of payments that have nothing to say about a distributed database, and why. */
const NOT_ON_CITUS: Readonly<Record<string, string>> = {
  'services/payments/test/distribution.test.ts': 'prints the statements for plain PostgreSQL',
  'services/payments/test/migrations.test.ts': 'compares the catalogue of plain PostgreSQL',
  'services/payments/test/access-states.test.ts': 'makes triggers, which a distributed table cannot have',
  'services/payments/test/session-states.test.ts': 'makes a trigger, which a distributed table cannot have',
  'services/payments/test/migrate-cuts.test.ts': 'migrates a database that is not distributed yet',
  'services/payments/src/pagination/list-below-merchant.test.ts':
    'reads from a standby, which a distributed database does not use',
}

/** The same for a run that enters by the workers. */
const NOT_BY_WORKERS: Readonly<Record<string, string>> = {
  'services/payments/test/node-away.citus.test.ts': 'changes the address of a server for the coordinator alone',
}

const { values, positionals } = parseArgs({
  options: { on: { type: 'string', multiple: true, default: ['postgres-18', 'postgres-15', 'pgbouncer'] } },
  allowPositionals: true,
})
const root = join(import.meta.dirname, '..', '..')
const outcomes: string[] = []
for (const name of values.on) {
  const status = await runOn(name)
  outcomes.push(`${name.padEnd(16)} ${status === 0 ? 'all tests passed' : 'tests failed'}`)
  if (status !== 0) process.exitCode = 1
}
process.stdout.write(`${outcomes.join('\n')}\n`)

async function runOn(name: string): Promise<number> {
  const place = places[name]
  if (place === undefined) throw new Error(`--on is one of ${Object.keys(places).join(', ')}`)
  const isCitus = name.startsWith('citus')
  if (name !== 'postgres-18' && !isCitus) requirePrograms([DEBIAN_POSTGRES, PGBOUNCER])
  await using workplace = await openWorkplace('test-matrix')
  const { TEST_DATABASE_URL: _url, TEST_POOLER_URL: _pooler, ...env } = process.env
  const files = isCitus ? citusFiles(name, positionals) : positionals
  const child = spawn(process.execPath, [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...files], {
    cwd: root,
    env: { ...env, ...(await place(workplace)) },
    stdio: 'inherit',
  })
  const ended = once(child, 'exit')
  workplace.defer(async () => {
    if (child.kill('SIGTERM')) await ended
  })
  const [status] = await ended
  return typeof status === 'number' ? status : 1
}

function citusFiles(name: string, given: readonly string[]): readonly string[] {
  const left = { ...NOT_ON_CITUS, ...(name === 'citus' ? {} : NOT_BY_WORKERS) }
  const excluded = Object.keys(left).flatMap((file) => ['--exclude', file])
  const files = given.some((word) => !word.startsWith('-')) ? given : ['services/payments', ...given]
  return [...files, ...excluded]
}

function urlOf(port: number): string {
  return `postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`
}
