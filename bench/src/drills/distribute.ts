import { join } from 'node:path'
import { distributeDatabase } from '@trestle/citus/distribute.ts'
import { openWire } from '@trestle/testing/cut-wire.ts'
import { app, merchant, transaction } from '../fixtures.ts'
import { ROOT, say, time } from '../program.ts'
import { startCitusCluster } from '../servers/citus-cluster.ts'
import { openWorkplace, type Workplace } from '../servers/workplace.ts'
import { expectClosed, expectDone, expectUpgraded, readFingerprint } from './distribute/expectations.ts'
import { type KilledEverywhere, killEverywhere } from './distribute/killed-share.ts'
import { createLaterRelease } from './distribute/later-release.ts'
import { openRelease } from './distribute/payments-runs.ts'

// `CITUS_PG_BIN=… node bench/src/drills/distribute.ts [cuts|commits|all [distribute] [migrate] [undo]]`. Kills `payments
// distribute`, `payments distribute --undo` and `payments migrate` of a later release at statements, and runs them again. Each
// command is killed at 10 statements by default, and with `commits` at the statements that commit. With `all` it is killed at
// every statement, inside this process; names select commands. The database must be like after a run without kills: no work is
// left, there is no drift, the rows are the same, and `payments ledger verify` finds nothing. Then a server is added and rows
// move to it. Exit status 1 if a check fails. It needs a PostgreSQL with Citus 13.

const WORKERS = 2
const [cuts = '10', ...chosen] = process.argv.slice(2)

await using workplace = await openWorkplace('distribute-drill')
const release = await openRelease(ROOT)
const laterFolder = join(workplace.folder, 'later')
const later = createLaterRelease(ROOT, laterFolder)
const laterRelease = await openRelease(laterFolder)
const cluster = await time('started a coordinator and two workers', () => startCitusCluster(workplace, WORKERS))
await cluster.create('plain')
await time('migrated, and filled with payments', () => fill(workplace, cluster.url('plain')))
await cluster.join('plain')
await expectFailure('plain', ['distribute', '--check'], 'owner: Citus does not know trestle')
await cluster.introduceOwner('plain')
const rows = await readFingerprint(cluster, 'plain')
say(`${rows.size} tables have rows`)

const failures: unknown[] = []
const kill = cuts === 'all' ? killAtAll : killAt
await kill({
  title: 'distribute',
  words: ['distribute'],
  from: 'plain',
  to: 'done',
  release,
  expect: expectPlaced,
  work: (url) => distributeDatabase(release.distributeOptions(url)),
  parts: [
    ['distribute', '--dry-run'],
    ['ledger', 'verify'],
  ],
})
await kill({
  title: 'migrate of a later release',
  words: ['migrate'],
  from: 'done',
  to: 'upgraded',
  release: laterRelease,
  parts: [],
  expect: (database) => expectUpgraded({ cluster, database, rows, release: laterRelease }, later, WORKERS),
})
await kill({
  title: 'distribute --undo',
  words: ['distribute', '--undo'],
  from: 'done',
  to: 'undone',
  release,
  expect: (database) => expectDone({ cluster, database, rows, release }, ['distribute', '--undo'], WORKERS),
  parts: [
    ['migrate', 'drift'],
    ['ledger', 'verify'],
  ],
})
await grow()
if (failures.length > 0) throw new AggregateError(failures, failures.join('\n'))
say('the drill is passed')

type Killed = Omit<KilledEverywhere, 'cluster'>

/** Kills a selected command at all statements. After a failure, the next command still runs. */
async function killAtAll(killed: Killed): Promise<void> {
  const { title, words, from, to, expect } = killed
  if (chosen.length > 0 && !chosen.some((name) => words.at(-1)?.endsWith(name))) {
    const url = await cluster.copy(from, to)
    await time(`${title}, not killed`, () => killed.release.runHere(url, words))
    return expect(to)
  }
  const fail = (error: unknown) => {
    failures.push(error)
    say(`${title} FAILED: ${error}`)
  }
  await time(`${title}, killed at all statements`, () => killEverywhere({ ...killed, cluster }).catch(fail))
}

/** Kills a command at some of its statements, on copies of a database. */
async function killAt({ title, words, from, to, release: { run }, expect }: Killed): Promise<void> {
  const wire = await openWire(await cluster.copy(from, to))
  await time(`${title}, not killed`, () => run(wire.url, words))
  const statements = wire.statements()
  const commits = wire.commits()
  await wire.close()
  await expect(to)
  say(`it sends ${statements} statements, of which ${commits.length} commit`)
  for (const cutAt of cuts === 'commits' ? commits : spread(statements - 1)) {
    const database = `cut_${cutAt}`
    const cut = await openWire(await cluster.copy(from, database), cutAt)
    const killed = await run(cut.url, words).then(
      () => 'ended by itself',
      () => 'killed',
    )
    await cut.close()
    await time(`${title}, ${killed} at statement ${cutAt}, and run again`, () => run(cluster.url(database), words))
    await expect(database)
    await cluster.drop(database)
  }
}

/** Chooses the statements at which a command is killed. */
function spread(statements: number): readonly number[] {
  const length = Number(cuts)
  return Array.from({ length }, (_, index) => Math.ceil(((index + 1) * statements) / length))
}

function expectPlaced(database: string): Promise<void> {
  return expectDone({ cluster, database, rows, release }, ['distribute'], WORKERS)
}

/** @throws Error unless a command fails with this reason */
async function expectFailure(database: string, words: readonly string[], reason: string): Promise<void> {
  const said = await release.run(cluster.url(database), words).then(
    () => 'nothing is wrong',
    (error: unknown) => (error instanceof Error ? `${error.message}${'stdout' in error ? error.stdout : ''}` : ''),
  )
  if (!said.includes(reason)) throw new Error(`${database}: ${words.join(' ')} says: ${said}`)
  say(`${words.join(' ')} finds: ${reason}`)
}

async function grow(): Promise<void> {
  // Do not use a copy, because Citus identifies a database by its name.
  const url = cluster.url('plain')
  await release.run(url, ['distribute'])
  const worker = await cluster.addWorker('plain')
  const address = cluster.address(worker)
  await expectFailure('plain', ['doctor'], `${address} lacks sequence payments.id_counter`)
  await expectFailure('plain', ['doctor'], `on ${address}, such as`)
  await time('a server was added, and rows moved to it', () => release.run(url, ['distribute', '--rebalance']))
  await expectClosed(cluster, 'plain', worker)
  await release.run(url, ['doctor'])
  const count = `SELECT count(*)::int AS count FROM citus_shards WHERE nodeport = ${address.split(':')[1]}`
  const [moved] = await cluster.asSuperuser(0, 'plain', `${count} AND citus_table_type = 'distributed'`)
  say(`it has parts of tables: ${JSON.stringify(moved)}`)
  await time('a merchant moved to a server of its own', () =>
    release.run(url, ['distribute', '--isolate', merchant.id, '--node', address]),
  )
  await expectPlaced('plain')
}

async function fill(place: Workplace, url: string): Promise<void> {
  await release.run(url, ['migrate'])
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
  await release.run(url, ['seed', place.write('seed.json', JSON.stringify(seed))])
}
