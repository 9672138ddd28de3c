import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { createBenchFolder, inSeconds, say, time } from '../program.ts'
import {
  askAll,
  type Business,
  type Cluster,
  fillDatabase,
  findPrograms,
  open,
  type Programs,
  startCluster,
  writeUntil,
} from './restore/business.ts'

// Loses the database of all three services and restores it from a dump into an empty server: `scripts/restore-drill [rows]`, by
// default with 20,000 users, transactions and products. Clients keep writing during the dump. Afterwards, every table must have
// the rows of the time of the dump. The objects must equal those of the migrations, and ledger and stock must be consistent. The
// services must accept tokens and keys from before the loss. The exit status is 1 if a check fails. The drill needs a PostgreSQL
// with its client programs. PG_BIN gives their folder if it is not found.

const DATABASE = 'trestle'
const JOBS = '2'

const rows = Number(process.argv[2] ?? 20_000)
if (!Number.isInteger(rows) || rows < 100) throw new Error('the number of rows is a whole number of at least 100')
const folder = createBenchFolder()
const dumpFile = join(folder, 'trestle.dump')
const rolesFile = join(folder, 'roles.sql')

try {
  await using started = new AsyncDisposableStack()
  const programs = findPrograms(process.env.PG_BIN)
  say(`programs: ${programs.directory}`)
  const lost = await startCluster(programs, join(folder, 'lost'))
  started.defer(lost.end)
  await programs.run('createdb', ['--maintenance-db', lost.url('postgres'), DATABASE])
  const before = await open(folder, lost.url(DATABASE))
  started.defer(before.stop)
  const belongings = await time('filled', () => fillDatabase(before, lost.url(DATABASE), folder, rows))

  let isOver = false
  const writing = writeUntil(before, belongings, () => isOver)
  const prints = await time('dumped', () => dump(programs, lost))
  isOver = true
  say(`  ${Math.ceil(statSync(dumpFile).size / 1024 / 1024)} MiB, while ${await writing} writes were answered`)
  await before.stop()
  await lost.end()

  const found = await startCluster(programs, join(folder, 'found'))
  started.defer(found.end)
  const emptyMs = performance.now()
  await time('restored', () => restore(programs, found))
  const restoreMs = performance.now() - emptyMs
  // Compare before a service changes the tables.
  await time('compared', () => compareRows(found, prints))
  const after = await open(folder, found.url(DATABASE))
  started.defer(after.stop)
  say(
    `recovery takes ${inSeconds(restoreMs + after.readyMs)}: the restore, and ${inSeconds(after.readyMs)} until all are ready`,
  )
  await time('proved', () => prove(after))
  for (const line of await askAll(after, belongings)) say(`answered: ${line}`)
  say(`the drill is passed, in ${inSeconds(performance.now())}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Dumps roles and database like the runbook, and returns the fingerprints of the dumped tables. */
async function dump({ run }: Programs, cluster: Cluster): Promise<Fingerprints> {
  const snapshot = await openSnapshot(cluster.url(DATABASE))
  const target = cluster.url(DATABASE)
  writeFileSync(rolesFile, await run('pg_dumpall', ['--roles-only', '--no-role-passwords', '--dbname', target]))
  await run('pg_dump', ['--format=custom', `--snapshot=${snapshot.id}`, `--file=${dumpFile}`, '--dbname', target])
  const prints = await snapshot.fingerprints()
  await snapshot.close()
  return prints
}

async function restore({ run }: Programs, cluster: Cluster): Promise<void> {
  // The role of the restoring user already exists. psql reports this and continues.
  await run('psql', ['--quiet', `--file=${rolesFile}`, '--dbname', cluster.url('postgres')])
  await run('createdb', ['--maintenance-db', cluster.url('postgres'), DATABASE])
  await run('pg_restore', ['--exit-on-error', `--jobs=${JOBS}`, '--dbname', cluster.url(DATABASE), dumpFile])
  await run('vacuumdb', ['--quiet', '--analyze-only', '--dbname', cluster.url(DATABASE)])
}

/** @throws Error if a table differs from the dump */
async function compareRows(cluster: Cluster, prints: Fingerprints): Promise<void> {
  const snapshot = await openSnapshot(cluster.url(DATABASE))
  const differences = compareFingerprints(prints, await snapshot.fingerprints())
  await snapshot.close()
  for (const line of differences) say(line)
  if (differences.length > 0) throw new Error(`${differences.length} tables are not as they were`)
  say(`${prints.size} tables hold the rows that they held`)
}

/** @throws Error if an object differs from the migrations, or ledger or stock are inconsistent */
async function prove({ deployments }: Business): Promise<void> {
  for (const [name, deployment] of Object.entries(deployments)) {
    await deployment.runCommand('migrate', 'drift')
    say(`${name}: no drift`)
  }
  await deployments.payments.runCommand('ledger', 'verify')
  say('payments: the ledger holds')
  await deployments.inventory.runCommand('doctor')
  say('inventory: every level is the sum of its movements')
}

/** For each table, the number of rows and the sum of their hashes, which does not depend on the order of rows. */
type Fingerprints = ReadonlyMap<string, string>

/** A snapshot of a database that stays available while clients write. */
interface Snapshot {
  /** The id for `pg_dump --snapshot`. */
  readonly id: string
  readonly fingerprints: () => Promise<Fingerprints>
  close(): Promise<void>
}

async function openSnapshot(url: string): Promise<Snapshot> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
  const { rows } = await client.query<{ id: string }>('SELECT pg_export_snapshot() AS id')
  return { id: rows[0]?.id ?? '', fingerprints: () => readFingerprints(client), close: () => client.end() }
}

/** Returns the fingerprints of all tables outside PostgreSQL's own schemas. */
async function readFingerprints(client: pg.Client): Promise<Fingerprints> {
  await client.query("SET LOCAL TimeZone = 'UTC'")
  const { rows: tables } = await client.query<{ name: string }>(`
    SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`)
  const found = new Map<string, string>()
  for (const { name } of tables) {
    const { rows } = await client.query<{ print: string }>(`
      SELECT format('%s rows, hash %s', count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)) AS print
      FROM ${name} t`)
    found.set(name, rows[0]?.print ?? '')
  }
  return found
}

function compareFingerprints(before: Fingerprints, after: Fingerprints): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((table) => before.get(table) !== after.get(table))
    .map((table) => `${table}: was ${before.get(table) ?? 'not there'}, is ${after.get(table) ?? 'not there'}`)
}
