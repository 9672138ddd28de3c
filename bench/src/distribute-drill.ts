import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openWire } from '@trestle/testing/cut-wire.ts'
import { z } from 'zod'
import { type CitusCluster, PASSWORD, startCitusCluster } from './high-availability/citus-cluster.ts'
import { openWorkplace, type Workplace } from './high-availability/workplace.ts'
import { createLaterRelease } from './later-release.ts'
import { app, merchant, transaction } from './paylike/seed.ts'

// `CITUS_PG_BIN=… node bench/src/distribute-drill.ts [cuts|commits|all]`. Kills `payments distribute`,
// `payments distribute --undo` and `payments migrate` of a later release at statements, and runs them again.
// Each command is killed at 10 statements by default, and with `commits` at the statements that commit. The
// database must be like one of a run that nobody killed: nothing is left to do, there is no drift, it has the
// same rows, and `payments ledger verify` finds nothing. Then a server is added and rows move to it. Exit
// status 1 when one of these is not so. It needs a PostgreSQL with Citus 13.

const WORKERS = 2
const ROLE = 'payments_service'
const Named = z.array(z.object({ name: z.string() }))
const Printed = z.object({ print: z.string() })
const cuts = process.argv[2] ?? '10'
const CHECKOUT = join(import.meta.dirname, '..', '..')
const PROGRAM = join(CHECKOUT, 'services/payments/src/main.ts')
const keys = { pepper: randomBytes(32).toString('base64'), vault: `1:${randomBytes(32).toString('base64')}` }

await using workplace = await openWorkplace('distribute-drill')
const later = createLaterRelease(CHECKOUT, join(workplace.folder, 'later'))
const cluster = await time('started a coordinator and two workers', () => startCitusCluster(workplace, WORKERS))
await cluster.create('plain')
await time('migrated, and filled with payments', () => fill(workplace, cluster.url('plain')))
await cluster.join('plain')
await expectFailure('plain', ['distribute', '--check'], 'owner: Citus does not know trestle')
await cluster.introduceOwner('plain')
const rows = await fingerprint(cluster, 'plain')
say(`${rows.size} tables have rows`)

await killAt({ title: 'distribute', words: ['distribute'], from: 'plain', to: 'done', expect: expectPlaced })
await killAt({
  title: 'migrate of a later release',
  words: ['migrate'],
  from: 'done',
  to: 'upgraded',
  program: later.program,
  expect: expectUpgraded,
})
await killAt({
  title: 'distribute --undo',
  words: ['distribute', '--undo'],
  from: 'done',
  to: 'undone',
  expect: (database) => expectDone(database, ['distribute', '--undo']),
})
await grow()
say('the drill is passed')

/** A command that is killed. */
interface Killed {
  readonly title: string
  readonly words: readonly string[]
  /** The database that it gets a copy of. */
  readonly from: string
  /** The name under which the result of a run that nobody killed is kept. */
  readonly to: string
  /** Undefined: that of this checkout. */
  readonly program?: string
  /** Throws when a database is not what a complete run makes. */
  readonly expect: (database: string) => Promise<void>
}

/** Kills a command at statements of its run on copies of a database. */
async function killAt({ title, words, from, to, program, expect }: Killed): Promise<void> {
  const wire = await openWire(await cluster.copy(from, to))
  await time(`${title}, not killed`, () => runPayments(wire.url, words, program))
  const statements = wire.statements()
  const commits = wire.commits()
  await wire.close()
  await expect(to)
  say(`it sends ${statements} statements, of which ${commits.length} commit`)
  for (const cutAt of cuts === 'commits' ? commits : spread(statements - 1)) {
    const database = `cut_${cutAt}`
    const cut = await openWire(await cluster.copy(from, database), cutAt)
    const killed = await runPayments(cut.url, words, program).then(
      () => 'ended by itself',
      () => 'killed',
    )
    await cut.close()
    await time(`${title}, ${killed} at statement ${cutAt}, and run again`, () =>
      runPayments(cluster.url(database), words, program),
    )
    await expect(database)
    await cluster.drop(database)
  }
}

/** The statements to kill a command at, of so many. */
function spread(statements: number): readonly number[] {
  const length = cuts === 'all' ? statements : Number(cuts)
  return Array.from({ length }, (_, index) => Math.ceil(((index + 1) * statements) / length))
}

function expectPlaced(database: string): Promise<void> {
  return expectDone(database, ['distribute'])
}

/**
 * @throws Error when the new table or the changed function is not on every server, or not all is as the later
 * release wants it
 */
async function expectUpgraded(database: string): Promise<void> {
  const { table, changed } = later
  await expectDone(database, ['distribute'], later.program)
  const own = `'payments.${table}'::regclass`
  const placed = `SELECT count(*)::int AS keys FROM pg_constraint WHERE contype = 'f' AND conrelid = ${own}
    AND EXISTS (SELECT FROM citus_tables WHERE table_name = ${own} AND citus_table_type = 'distributed')`
  const [found] = await cluster.asSuperuser(0, database, placed)
  if (JSON.stringify(found) !== '{"keys":2}') throw new Error(`${database}: ${table} is not distributed with its keys`)
  const text = `SELECT FROM pg_proc WHERE proname = '${changed.name}' AND prosrc LIKE '%${changed.mark}%'`
  for (let node = 0; node <= WORKERS; node += 1) {
    const { length } = await cluster.asSuperuser(node, database, text)
    if (length !== 1) throw new Error(`${database}: server ${node} has an older ${changed.name}`)
  }
  await runPayments(cluster.url(database), ['ledger', 'verify'], later.program)
}

/** @throws Error when a command has something left to do, when the catalogue has drifted, or when rows differ */
async function expectDone(database: string, words: readonly string[], program?: string): Promise<void> {
  const url = cluster.url(database)
  const left = await runPayments(url, [...words, '--dry-run'], program)
  if (left.trim() !== '-- nothing is left to do') throw new Error(`${database}: left to do: ${left}`)
  await runPayments(url, ['migrate', 'drift'], program)
  await expectClosed(database)
  const found = await fingerprint(cluster, database)
  for (const [table, print] of rows) {
    if (found.get(table) !== print) throw new Error(`${database}: ${table} has other rows: ${found.get(table)}`)
  }
}

/** @throws Error when the service may call a function on a server that it may not call on the coordinator */
async function expectClosed(database: string, workers = WORKERS): Promise<void> {
  const query = `SELECT f.oid::regprocedure::text AS name FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace
    WHERE n.nspname = 'payments' AND has_function_privilege('${ROLE}', f.oid, 'EXECUTE')`
  const callable = async (node: number) =>
    Named.parse(await cluster.asSuperuser(node, database, query)).map(({ name }) => name)
  const allowed = new Set(await callable(0))
  for (let node = 1; node <= workers; node += 1) {
    const more = (await callable(node)).filter((name) => !allowed.has(name))
    if (more.length > 0) throw new Error(`${database}: server ${node} lets the service call ${more.join(', ')}`)
  }
}

/** @throws Error unless a command fails, and says why */
async function expectFailure(database: string, words: readonly string[], reason: string): Promise<void> {
  const said = await runPayments(cluster.url(database), words).then(
    () => 'nothing is wrong',
    (error: unknown) => (error instanceof Error ? `${error.message}${'stdout' in error ? error.stdout : ''}` : ''),
  )
  if (!said.includes(reason)) throw new Error(`${database}: ${words.join(' ')} says: ${said}`)
  say(`${words.join(' ')} finds: ${reason}`)
}

/** Adds a server to the distributed database, and moves rows to it. */
async function grow(): Promise<void> {
  // Not a copy: Citus knows a database by its name.
  const url = cluster.url('plain')
  await runPayments(url, ['distribute'])
  const worker = await cluster.addWorker('plain')
  const address = cluster.address(worker)
  await expectFailure('plain', ['doctor'], `${address} lacks sequence payments.id_counter`)
  await expectFailure('plain', ['doctor'], `on ${address}, such as`)
  await time('a server was added, and rows moved to it', () => runPayments(url, ['distribute', '--rebalance']))
  await expectClosed('plain', worker)
  await runPayments(url, ['doctor'])
  const count = `SELECT count(*)::int AS count FROM citus_shards WHERE nodeport = ${address.split(':')[1]}`
  const [moved] = await cluster.asSuperuser(0, 'plain', `${count} AND citus_table_type = 'distributed'`)
  say(`it has parts of tables: ${JSON.stringify(moved)}`)
  await time('a merchant moved to a server of its own', () =>
    runPayments(url, ['distribute', '--isolate', merchant.id, '--node', address]),
  )
  await expectPlaced('plain')
  await runPayments(url, ['ledger', 'verify'])
}

async function fill(place: Workplace, url: string): Promise<void> {
  await runPayments(url, ['migrate'])
  const merchants = Array.from({ length: 4 }, (_, nth) => ({
    ...merchant,
    id: nth === 0 ? merchant.id : `55006bdfe0308c4cbfdbd0e${nth + 1}`,
    key: `3e9c6c4f-9c9b-4c77-8b0f-2f6c8d8f4a1${nth}`,
  }))
  const transactions = merchants.flatMap(({ id: merchantId }, nth) =>
    Array.from({ length: 5 }, (_, of) => ({
      ...transaction,
      id: `560fd96b7973ff3d2362a${nth}${of}c`,
      merchantId,
    })),
  )
  const seed = { apps: [app], merchants, transactions }
  await runPayments(url, ['seed', place.write('seed.json', JSON.stringify(seed))])
}

/** Runs a command of `payments` of a release. @returns what it prints @throws Error with its last lines when it fails */
async function runPayments(url: string, words: readonly string[], program = PROGRAM): Promise<string> {
  const env = {
    PAYMENTS_DATABASE_URL: url,
    PAYMENTS_BASE_URL: 'http://localhost',
    PAYMENTS_PEPPER: keys.pepper,
    PAYMENTS_VAULT_KEYS: keys.vault,
    PAYMENTS_DB_ROLE: ROLE,
    PAYMENTS_NODE_PASSWORD: PASSWORD,
    PAYMENTS_ALLOW_SEED: 'yes',
  }
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...words], { env, maxBuffer: 2 ** 26 })
  return stdout
}

/**
 * How many rows each table has, and a digest of all of them, whatever server they are on. A verification adds a row to the audit
 * log.
 */
async function fingerprint({ asSuperuser }: CitusCluster, database: string): Promise<ReadonlyMap<string, string>> {
  const tables = await asSuperuser(
    0,
    database,
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'payments'::regnamespace AND relkind = 'r'
       AND relname NOT LIKE 'trestle%' AND relname <> 'audit' ORDER BY 1`,
  )
  const prints = new Map<string, string>()
  for (const { name } of Named.parse(tables)) {
    const [row] = await asSuperuser(
      0,
      database,
      `SELECT count(*) || ' ' || coalesce(sum(hashtextextended(r::text, 0)), 0) AS print FROM payments.${name} r`,
    )
    prints.set(name, Printed.parse(row).print)
  }
  return prints
}

async function time<T>(what: string, act: () => Promise<T>): Promise<T> {
  const startMs = performance.now()
  const result = await act()
  say(`${what}: ${((performance.now() - startMs) / 1_000).toFixed(1)} s`)
  return result
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
