import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findTestFolder, startEmbeddedPostgres } from '@trestle/testing/postgres-server.ts'
import { ROOT } from '../program.ts'
import { OPERATOR_PASSWORD, startCitusCluster } from '../servers/citus-cluster.ts'
import {
  DEBIAN_POSTGRES,
  PGBOUNCER,
  SUPERUSER,
  startDebianPostgres,
  startPgBouncer,
} from '../servers/debian-postgres.ts'
import { openWorkplace, requirePrograms, type Workplace } from '../servers/workplace.ts'
import { describeRun, judgeAdopted, OTHERWISE_ON_ADOPTED, type Outcomes, readOutcomes } from './adopted-databases.ts'

// Runs the tests on other databases than the embedded one: `scripts/test-matrix [--on NAME]… [file…]`. Options of vitest follow
// after `--`, for example `-- --testTimeout=300000` on a busy machine. By default it runs on each of these: postgres-18, the
// version of the lock file; postgres-15, the oldest supported version, from Debian's package; pgbouncer, Debian's 1.18 in
// transaction mode in front of postgres-15. Exit status 1 if a test fails on one of them.
//
// `--on citus` runs the tests of payments on a cluster of a coordinator and two workers, with distributed databases. It needs a
// PostgreSQL with Citus 13: CITUS_PG_BIN is the folder of its programs. On citus-by-workers the service connects to the workers,
// and uses the coordinator only for work that must run there.
//
// `--on adopted` runs the tests of auth on databases created by supabase/auth 2.196 and adopted by `auth adopt`. Tests that name
// a profile run in it, and all others in `compatible`. A list with reasons names the tests that may fail. `--on adopted-supabase`
// runs tests without a profile in `supabase`: first on databases created by `migrate`, where tests of rules of `compatible` fail,
// then on adopted databases, where no other tests may fail. A busy machine needs longer timeouts, as above.

type Environment = Readonly<Record<string, string>>

const CITUS_WORKERS = 2

const places: Readonly<Record<string, (workplace: Workplace) => Promise<Environment>>> = {
  'postgres-18': startEmbedded,
  'postgres-15': async (workplace) => ({ TEST_DATABASE_URL: urlOf(await startDebianPostgres(workplace)) }),
  pgbouncer: async (workplace) => {
    const port = await startDebianPostgres(workplace)
    return { TEST_DATABASE_URL: urlOf(port), TEST_POOLER_URL: urlOf(await startPgBouncer(workplace, port)) }
  },
  citus: startCitus,
  'citus-by-workers': async (workplace) => ({ ...(await startCitus(workplace)), TEST_ENTER_BY: 'workers' }),
  adopted: async (workplace) => ({ ...(await startEmbedded(workplace)), ...ADOPTED }),
  'adopted-supabase': async (workplace) => ({ ...(await startEmbedded(workplace)), ...ADOPTED, ...SUPABASE }),
}

const ADOPTED = { TEST_DATABASES: 'adopted' }
const SUPABASE = { TEST_AUTH_PROFILE: 'supabase' }

async function startEmbedded(workplace: Workplace): Promise<Environment> {
  const server = await startEmbeddedPostgres()
  workplace.defer(server.stop)
  return { TEST_DATABASE_URL: server.url }
}

async function startCitus(workplace: Workplace): Promise<Environment> {
  const [coordinator = '', ...workers] = (await startCitusCluster(workplace, CITUS_WORKERS)).superuserUrls()
  return {
    TEST_DATABASE_URL: coordinator,
    TEST_WORKER_URLS: workers.join(' '),
    TEST_OPERATOR_PASSWORD: OPERATOR_PASSWORD,
  }
}

/** Test files of payments that do not apply to a distributed database, with reasons. */
const NOT_ON_CITUS: Readonly<Record<string, string>> = {
  'services/payments/test/distribution.test.ts': 'prints the statements for plain PostgreSQL',
  'services/payments/test/migrations.long.test.ts': 'compares the catalogue of plain PostgreSQL',
  'services/payments/test/access-states.long.test.ts': 'makes triggers, which a distributed table cannot have',
  'services/payments/test/session-states.long.test.ts': 'makes a trigger, which a distributed table cannot have',
  'services/payments/test/row-states.long.test.ts': 'makes triggers, which a distributed table cannot have',
  'services/payments/test/token-states.test.ts': 'makes triggers, which a distributed table cannot have',
  'services/payments/test/placement-states.long.test.ts': 'lets a database that is not distributed seem to be',
  'services/payments/test/migrate-cuts.long.test.ts': 'migrates a database that is not distributed yet',
  'services/payments/src/pagination/list-below-merchant.test.ts':
    'reads from a standby, which a distributed database does not use',
}

/** Test files of payments that are omitted if the service connects to the workers, with reasons. */
const NOT_BY_WORKERS: Readonly<Record<string, string>> = {
  'services/payments/test/node-away.citus.test.ts': 'changes the address of a server for the coordinator alone',
  'services/payments/test/lost-commit.citus.test.ts': 'changes the address of a server for the coordinator alone',
  'services/payments/test/read-again.citus.test.ts':
    'holds back what the coordinator tells a server by which requests would enter',
}

const { values, positionals } = parseArgs({
  options: { on: { type: 'string', multiple: true, default: ['postgres-18', 'postgres-15', 'pgbouncer'] } },
  allowPositionals: true,
})
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
  if (name === 'postgres-15' || name === 'pgbouncer') requirePrograms([DEBIAN_POSTGRES, PGBOUNCER])
  await using workplace = await openWorkplace('test-matrix', await findTestFolder())
  const environment = await place(workplace)
  // Without `await`, the workplace would be disposed of here, and its programs would end.
  if (name.startsWith('adopted')) return await runAdopted(workplace, environment)
  return await runVitest(workplace, environment, name.startsWith('citus') ? citusFiles(name, positionals) : positionals)
}

/** Runs the tests of auth, and compares failures with the accepted ones. Runs twice in the profile supabase. */
async function runAdopted(workplace: Workplace, environment: Environment): Promise<number> {
  const isTwice = environment.TEST_AUTH_PROFILE !== undefined
  const baseline = isTwice ? await readRun(workplace, { ...environment, TEST_DATABASES: 'migrated' }) : undefined
  const run = await readRun(workplace, environment)
  const problems = judgeAdopted(run, OTHERWISE_ON_ADOPTED, baseline)
  process.stdout.write(`${[...problems, describeRun(run, baseline)].join('\n')}\n`)
  return problems.length
}

async function readRun(workplace: Workplace, environment: Environment): Promise<Outcomes> {
  const report = join(workplace.folder, `${environment.TEST_DATABASES}.json`)
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  await runVitest(workplace, environment, [...ofService('services/auth', positionals), ...reporters])
  return readOutcomes(report, ROOT)
}

async function runVitest(workplace: Workplace, environment: Environment, words: readonly string[]): Promise<number> {
  const { TEST_DATABASE_URL: _url, TEST_POOLER_URL: _pooler, ...env } = process.env
  const child = spawn(process.execPath, [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...words], {
    cwd: ROOT,
    env: { ...env, ...environment },
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
  return [...ofService('services/payments', given), ...excluded]
}

function ofService(folder: string, given: readonly string[]): readonly string[] {
  return given.some((word) => !word.startsWith('-')) ? given : [folder, ...given]
}

function urlOf(port: number): string {
  return `postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`
}
