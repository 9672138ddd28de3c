import { setTimeout as delay } from 'node:timers/promises'
import { Command, Option } from 'commander'
import { z } from 'zod'
import { positiveInteger, runCommand, say } from '../program.ts'
import { type CitusCluster, DURABLE, startCitusCluster } from '../servers/citus-cluster.ts'
import type { Deployment } from '../servers/deployment.ts'
import { openWorkplace } from '../servers/workplace.ts'
import { compareReferences } from './loads/acknowledgements.ts'
import {
  type ClusterLoad,
  type Entry,
  judge,
  type Outage,
  type RequestTally,
  startClusterLoad,
} from './loads/cluster-load.ts'
import {
  type ClusterShop,
  countWrites,
  createShop,
  DATABASE,
  deployPayments,
  distribute,
  startPayments,
} from './loads/cluster-payments.ts'

// Kills and restarts servers of a Citus cluster while payments captures, refunds and charges: `CITUS_PG_BIN=…
// scripts/citus-drill`. Workers are killed in turn. After half of the kills a worker is added, and rows move to it. Each server
// of the cluster has a service process that connects to it, and one more process connects to all servers. Exit status 1 if an
// acknowledged write is lost or stored twice, if `payments ledger verify` finds a problem, or if requests fail although the
// server of their process and the server of their merchant were up. For the process with all servers, a running server counts,
// unless a server ends during the request. A quick try: `--kills 1 --coordinator-kills 1`.

const WORKERS = 2
/** The maximum number of failures in a thousand undisturbed requests. */
const FAILED_IN_A_THOUSAND = 1
/** How long a killed server is down. */
const DOWN_MS = 3_000
const LIFE_MS = 4_000

const Places = z.array(z.object({ address: z.string() }))

interface Words {
  readonly kills: number
  readonly coordinatorKills: number
  readonly merchants: number
  readonly clients: number
  readonly entry: 'any' | 'coordinator'
}

interface Drill {
  readonly cluster: CitusCluster
  readonly deployment: Deployment
  readonly shop: ClusterShop
  readonly entries: Entry[]
  readonly outages: Outage[]
  /** The server of each merchant, in the order of the shop. */
  places: readonly number[]
  workers: number
}

const command = new Command('citus-drill')
  .description('kill servers of a Citus cluster under load; needs a PostgreSQL with Citus 13, in CITUS_PG_BIN')
  .option('--kills <count>', 'kills of workers', positiveInteger, 10)
  .option('--coordinator-kills <count>', 'kills of the coordinator', positiveInteger, 3)
  .option('--merchants <count>', 'merchants that are written for', positiveInteger, 200)
  .option('--clients <count>', 'clients that write at a time', positiveInteger, 12)
  .addOption(
    new Option('--entry <server>', 'where the service enters').choices(['any', 'coordinator']).default('any' as const),
  )
  .action(run)
await runCommand(command)

async function run(words: Words): Promise<void> {
  await using workplace = await openWorkplace('citus-drill')
  const cluster = await startCitusCluster(workplace, WORKERS, { ...DURABLE, 'citus.shard_count': 12 })
  const shop = createShop(words.merchants)
  const deployment = await deployPayments(workplace, cluster, shop)
  await distribute(cluster, deployment)
  say(`a coordinator and ${WORKERS} workers have the rows of ${words.merchants} merchants`)
  await using started = new AsyncDisposableStack()
  const drill: Drill = { cluster, deployment, shop, entries: [], outages: [], places: [], workers: WORKERS }
  drill.places = await findPlaces(drill)
  for (let node = 0; node <= (words.entry === 'any' ? WORKERS : 0); node += 1) await startEntry(drill, node, started)
  if (words.entry === 'any') await startEntry(drill, undefined, started)
  const nodeOf = (merchant: number) => drill.places[merchant] ?? 0
  const load = startClusterLoad({ shop, entries: drill.entries, nodeOf, clients: words.clients })
  started.defer(async () => {
    await load.stop()
  })
  await runKills(drill, words, { load, started })
  await delay(LIFE_MS)
  const givenUp = await load.stop()
  if (!(await report(drill, load, givenUp))) process.exitCode = 1
}

/** Starts a process that connects to one server, or to all existing servers. */
async function startEntry(drill: Drill, node: number | undefined, started: AsyncDisposableStack): Promise<void> {
  const { cluster, deployment } = drill
  const nodes = node === undefined ? Array.from({ length: drill.workers + 1 }, (_, number) => number) : [node]
  const server = await startPayments(cluster, deployment, nodes)
  started.defer(server.stop)
  drill.entries.push({ url: server.url, node })
  say(`a process enters by ${nodes.map(cluster.address).join(', ')}`)
}

async function findPlaces({ cluster, shop, workers }: Drill): Promise<readonly number[]> {
  const ids = shop.merchantIds.map((id) => `'${id}'`).join(', ')
  const rows = await cluster.asSuperuser(
    0,
    DATABASE,
    `SELECT n.nodename || ':' || n.nodeport AS address FROM unnest(ARRAY[${ids}]) WITH ORDINALITY m (id, nth)
     JOIN pg_dist_placement p ON p.shardid = get_shard_id_for_distribution_column('payments.merchant_balances', m.id)
     JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary' ORDER BY m.nth`,
  )
  const numbers = Array.from({ length: workers + 1 }, (_, number) => number)
  return Places.parse(rows).map(({ address }) => numbers.find((number) => cluster.address(number) === address) ?? 0)
}

async function runKills(
  drill: Drill,
  words: Words,
  { load, started }: { readonly load: ClusterLoad; readonly started: AsyncDisposableStack },
): Promise<void> {
  const { kills, coordinatorKills } = words
  await delay(LIFE_MS)
  let ofCoordinator = 0
  for (let nth = 1; nth <= kills; nth += 1) {
    await kill(drill, 1 + (nth % drill.workers), load)
    for (; ofCoordinator < Math.floor((nth * coordinatorKills) / kills); ofCoordinator += 1) await kill(drill, 0, load)
    if (nth !== Math.ceil(kills / 2)) continue
    await grow(drill, load)
    if (words.entry === 'any') await startEntry(drill, drill.workers, started)
  }
}

async function kill(drill: Drill, node: number, load: ClusterLoad): Promise<void> {
  const never = Number.POSITIVE_INFINITY
  const outage: Outage = { node, fromMs: performance.now(), downMs: never, untilMs: never }
  drill.outages.push(outage)
  await drill.cluster.server(node).kill()
  outage.downMs = performance.now()
  await delay(DOWN_MS)
  await drill.cluster.server(node).revive()
  outage.untilMs = performance.now()
  await delay(LIFE_MS)
  const downTime = `${((outage.untilMs - outage.fromMs) / 1_000).toFixed(1)} s`
  sayRequests(drill, load, {
    what: `${node === 0 ? 'the coordinator' : `worker ${node}`} was killed, and down for ${downTime}`,
    ...outage,
  })
}

async function grow(drill: Drill, load: ClusterLoad): Promise<void> {
  const fromMs = performance.now()
  const worker = await drill.cluster.addWorker(DATABASE)
  drill.workers += 1
  await drill.deployment.runCommand('distribute', '--rebalance')
  drill.places = await findPlaces(drill)
  const moved = drill.places.filter((place) => place === worker).length
  const seconds = ((performance.now() - fromMs) / 1_000).toFixed(1)
  sayRequests(drill, load, {
    what: `worker ${worker} was added, and has ${moved} merchants after ${seconds} s`,
    fromMs,
    untilMs: performance.now(),
  })
}

function sayRequests(
  { outages }: Drill,
  { requests }: ClusterLoad,
  { what, fromMs, untilMs }: { readonly what: string; readonly fromMs: number; readonly untilMs: number },
): void {
  const { undisturbed, bySeveral, atKill, disturbed } = judge(
    requests.filter((request) => request.untilMs >= fromMs && request.fromMs <= untilMs),
    outages,
  )
  say(
    `${what}; undisturbed requests: ${describe(undisturbed)}; by all servers: ${describe(bySeveral)}, at the kill: ${describe(atKill)}; others: ${describe(disturbed)}`,
  )
}

/** Prints the clients' results, and compares acknowledged writes with stored rows. @returns whether every goal is met */
async function report(
  { cluster, deployment, outages }: Drill,
  { acknowledged, reversed, requests }: ClusterLoad,
  givenUp: number,
): Promise<boolean> {
  const { undisturbed, bySeveral, atKill, disturbed } = judge(requests, outages)
  say(`requests whose entry and whose merchant's server were there: ${describe(undisturbed)}`)
  for (const line of listLate(requests, outages)) say(`  ${line}`)
  say(`requests by the process that enters by all servers, whose merchant's server was there: ${describe(bySeveral)}`)
  say(`the same, under way as a server ended that may have been their entry: ${describe(atKill)}`)
  say(`requests that needed a stopped server: ${describe(disturbed)}`)
  const { lost, doubled } = compareReferences(acknowledged, await countWrites(cluster))
  say(`${acknowledged.size} writes acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${givenUp} given up`)
  say(`${reversed.size} charges were lost with a server before their end, and reversed`)
  const verified = await deployment.runCommand('ledger', 'verify').then(
    () => 'nothing wrong',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  say(`ledger verify: ${verified}`)
  const missed = [
    ...(lost.length > 0 ? ['acknowledged writes are lost'] : []),
    ...(doubled.length > 0 ? ['writes are stored twice'] : []),
    ...(givenUp > 0 ? ['writes still failed when all servers were back'] : []),
    ...([undisturbed, bySeveral].some((tally) => failedOf(tally) * 1_000 >= FAILED_IN_A_THOUSAND * tally.sent)
      ? ['undisturbed requests failed']
      : []),
    ...(verified === 'nothing wrong' ? [] : ['the ledger does not hold']),
  ]
  say(missed.length === 0 ? 'the drill is passed' : `the drill is not passed: ${missed.join(', ')}`)
  return missed.length === 0
}

/** The undisturbed requests that failed, each with the time since the last kill and the last restart of a server. */
function listLate(requests: ClusterLoad['requests'], outages: readonly Outage[]): readonly string[] {
  const late = requests.filter((request) => {
    const { undisturbed, bySeveral } = judge([request], outages)
    return request.failure !== undefined && undisturbed.sent + bySeveral.sent > 0
  })
  return late.map(({ what, entry, failure, fromMs, untilMs }) => {
    const last = (all: readonly number[]) => fromMs - Math.max(0, ...all.filter((ms) => ms < fromMs))
    const killed = last(outages.map(({ downMs }) => downMs))
    const back = last(outages.map((outage) => outage.untilMs))
    const [afterKill, afterBack, took] = [killed, back, untilMs - fromMs].map((ms) => (ms / 1_000).toFixed(1))
    return `${failure} to ${what} by ${entry === undefined ? 'all servers' : `server ${entry}`}, sent ${afterKill} s after a kill, ${afterBack} s after a server was back, answered in ${took} s`
  })
}

function failedOf({ failed }: RequestTally): number {
  return [...failed.values()].reduce((sum, count) => sum + count, 0)
}

/** `3 of 2000 failed (0.150 %): 2 × 503, 1 × 409` */
function describe(tally: RequestTally): string {
  const failed = failedOf(tally)
  const share = tally.sent === 0 ? 0 : (100 * failed) / tally.sent
  const causes = [...tally.failed].map(([cause, count]) => `${count} × ${cause}`).join(', ')
  return `${failed} of ${tally.sent} failed (${share.toFixed(3)} %)${causes && `: ${causes}`}`
}
