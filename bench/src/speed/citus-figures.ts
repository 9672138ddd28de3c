import { Command, Option } from 'commander'
import { z } from 'zod'
import { createShop, DATABASE, deployPayments, distribute, startPayments } from '../drills/loads/cluster-payments.ts'
import { insertTransactions } from '../fixtures.ts'
import { positiveInteger, runCommand } from '../program.ts'
import { type CitusCluster, DURABLE, startCitusCluster } from '../servers/citus-cluster.ts'
import { execute } from '../servers/database.ts'
import type { Server } from '../servers/server.ts'
import { openWorkplace, type Workplace } from '../servers/workplace.ts'
import { createGenerator, type Load, type LoadGenerator, tryLoad } from './load.ts'

// Measures the cost of captures on a Citus cluster: `CITUS_PG_BIN=… node bench/src/speed/citus-figures.ts`. Prints captures per
// second and the processor time of a capture in the service, on the coordinator and on the workers. It measures 1, 2 and 3
// workers, with requests through the coordinator and through any server. For comparison it measures plain PostgreSQL: with calls
// for many merchants, which a cluster cannot have, and with calls for one merchant, as on a cluster. One process of the service
// gets all captures. All servers share the cores of this machine, so the rates do not add up as on separate machines, but the
// processor times do. Use an idle machine.

const TRANSACTIONS_EACH = 40
const CONNECTIONS = 32
const WARM_UP_SECONDS = 3
const Ids = z.array(z.object({ id: z.string() })).transform((rows) => rows.map(({ id }) => id))
const Count = z.tuple([z.object({ count: z.coerce.number() })]).transform(([{ count }]) => count)

interface Words {
  readonly workers: readonly number[]
  readonly merchants: number
  readonly seconds: number
  readonly entry: 'any' | 'coordinator' | 'both'
}

const ENTRIES = { any: ['any'], coordinator: ['coordinator'], both: ['coordinator', 'any'] } as const

const command = new Command('citus-figures')
  .description('measure captures on a Citus cluster; needs a PostgreSQL with Citus 13, in CITUS_PG_BIN')
  .option('--workers <counts>', 'numbers of workers', (text) => text.split(',').map(positiveInteger), [1, 2, 3])
  .option('--merchants <count>', 'merchants that are written for', positiveInteger, 200)
  .option('--seconds <count>', 'length of a sample', positiveInteger, 20)
  .addOption(
    new Option('--entry <server>', 'where the service enters').choices(['any', 'coordinator', 'both']).default('both'),
  )
  .action(run)
await runCommand(command)

async function run(words: Words): Promise<void> {
  say(['', 'captures/s', 'p50', 'p99', 'service', 'coordinator', 'workers', 'database'])
  await measurePlain(words)
  for (const workers of words.workers) await measureCluster(words, workers)
}

async function measurePlain(words: Words): Promise<void> {
  await using workplace = await openWorkplace('citus-figures')
  const cluster = await startCitusCluster(workplace, 0, { ...DURABLE, shared_preload_libraries: '' })
  const bench = await prepare(workplace, cluster, words)
  await measure(bench, { title: 'plain PostgreSQL', nodes: [0], workers: 0 })
  const settings = { PAYMENTS_BATCH: 'merchant' }
  await measure(bench, { title: 'plain, calls of one merchant', nodes: [0], workers: 0, settings })
}

async function measureCluster(words: Words, workers: number): Promise<void> {
  await using workplace = await openWorkplace('citus-figures')
  const cluster = await startCitusCluster(workplace, workers, { ...DURABLE, 'citus.shard_count': 32 })
  const bench = await prepare(workplace, cluster, words)
  await distribute(cluster, bench.deployment)
  for (const entry of ENTRIES[words.entry]) {
    const nodes = entry === 'any' ? Array.from({ length: workers + 1 }, (_, number) => number) : [0]
    const title = `${workers} worker${workers > 1 ? 's' : ''}, by ${entry === 'any' ? 'any server' : 'the coordinator'}`
    await measure(bench, { title, nodes, workers })
  }
}

type Bench = Awaited<ReturnType<typeof prepare>>

/** Starts payments only on the coordinator, with authorized transactions to capture. */
async function prepare(workplace: Workplace, cluster: CitusCluster, { merchants, seconds }: Words) {
  const shop = createShop(merchants)
  const deployment = await deployPayments(workplace, cluster, { ...shop, seed: { ...shop.seed, transactions: [] } })
  const url = cluster.url(DATABASE)
  await insertTransactions((statement) => execute(url, statement), TRANSACTIONS_EACH)
  // Each is of another merchant than the one before.
  const tokens = Ids.parse(await execute(url, 'SELECT id FROM payments.transactions ORDER BY substr(id, 12, 5), id'))
  const generate = createGenerator({ folder: workplace.folder, cores: undefined })
  const load: Load = {
    method: 'POST',
    path: '/transactions/{token}/captures',
    body: '{"amount":1}',
    headers: shop.headers,
    tokens,
    connections: CONNECTIONS,
  }
  return { cluster, deployment, generate, load, seconds }
}

/** Measures captures and prints a line. @throws Error if a capture fails */
async function measure(
  bench: Bench,
  {
    title,
    nodes,
    workers,
    settings,
  }: {
    readonly title: string
    /** The servers to which the service connects. */
    readonly nodes: readonly number[]
    readonly workers: number
    /** Further environment variables of the service. */
    readonly settings?: Readonly<Record<string, string>>
  },
): Promise<void> {
  const { cluster, deployment, generate, load, seconds } = bench
  for (let node = 0; node <= workers; node += 1) await cluster.asSuperuser(node, DATABASE, 'VACUUM ANALYZE')
  const server = await startPayments(cluster, deployment, nodes, settings)
  try {
    await tryLoad(server.url, load)
    await sample(server, { load, generate, seconds: WARM_UP_SECONDS })
    const before = await readUse(bench, server, workers)
    const { p50Ms, p99Ms } = await sample(server, { load, generate, seconds })
    const after = await readUse(bench, server, workers)
    const captures = after.captures - before.captures
    const each = (use: (from: typeof before) => number) => `${((use(after) - use(before)) / captures).toFixed(2)} ms`
    say([
      ...[title, (captures / seconds).toFixed(0), `${p50Ms.toFixed(1)} ms`, `${p99Ms.toFixed(1)} ms`],
      ...[each(({ service }) => service), each(({ coordinator }) => coordinator)],
      workers === 0 ? '–' : each(({ ofWorkers }) => ofWorkers),
      each(({ coordinator, ofWorkers }) => coordinator + ofWorkers),
    ])
  } finally {
    await server.stop()
  }
}

/** @throws Error if a capture fails */
async function sample(
  { url }: Server,
  { generate, load, seconds }: { readonly generate: LoadGenerator; readonly load: Load; readonly seconds: number },
): Promise<{ readonly p50Ms: number; readonly p99Ms: number }> {
  const result = await generate(url, load, seconds)
  if (result.errors > 0) throw new Error(`${result.errors} captures failed`)
  return result
}

/** Returns the processor time so far in milliseconds, and the number of stored captures. */
async function readUse({ cluster }: Bench, server: Server, workers: number) {
  const count = await cluster.asSuperuser(0, DATABASE, 'SELECT count(*) FROM payments.trail_entries')
  const ofWorkers = Array.from({ length: workers }, (_, nth) => cluster.server(nth + 1).processorMs())
  return {
    captures: Count.parse(count),
    service: server.processorMs() ?? Number.NaN,
    coordinator: cluster.server(0).processorMs(),
    ofWorkers: ofWorkers.reduce((sum, ms) => sum + ms, 0),
  }
}

function say([title = '', ...columns]: readonly string[]): void {
  process.stdout.write(`${title.padEnd(32)}${columns.map((column) => column.padStart(12)).join('')}\n`)
}
