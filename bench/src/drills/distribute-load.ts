import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import { inSeconds, positiveInteger, runCommand, say } from '../program.ts'
import { DURABLE, startCitusCluster } from '../servers/citus-cluster.ts'
import { openWorkplace } from '../servers/workplace.ts'
import { compareReferences } from './loads/acknowledgements.ts'
import { type ClusterLoad, type SentRequest, startClusterLoad } from './loads/cluster-load.ts'
import { countWrites, createShop, deployPayments, distribute, startPayments } from './loads/cluster-payments.ts'

// Distributes a database and brings it back while payments captures, refunds and charges: `CITUS_PG_BIN=… node
// bench/src/drills/distribute-load.ts`. Two processes serve, without a restart. The exit status is 1 in these cases:
// - An acknowledged write is lost or stored twice.
// - A request fails before or after a move.
// - A request fails during a move with a status other than 503.
// - A charge is given back.
// - `payments ledger verify` finds a problem.

const WORKERS = 2
const PROCESSES = 2
/** How long the load runs before and after each move. */
const CALM_MS = 10_000
/** The time after which every process has noticed the end of a rebalance. */
const NOTICE_MS = 2_000

const command = new Command('distribute-load')
  .description('distribute a database under load, and bring it back; needs a PostgreSQL with Citus 13, in CITUS_PG_BIN')
  .option('--merchants <count>', 'merchants that are written for', positiveInteger, 100)
  .option('--clients <count>', 'clients that write at a time', positiveInteger, 8)
  .action(run)
await runCommand(command)

async function run({ merchants, clients }: { readonly merchants: number; readonly clients: number }): Promise<void> {
  await using workplace = await openWorkplace('distribute-load')
  const cluster = await startCitusCluster(workplace, WORKERS, { ...DURABLE, 'citus.shard_count': 12 })
  const shop = createShop(merchants)
  const deployment = await deployPayments(workplace, cluster, shop)
  await using started = new AsyncDisposableStack()
  const entries = []
  for (let count = 0; count < PROCESSES; count += 1) {
    const server = await startPayments(cluster, deployment, [0])
    started.defer(server.stop)
    entries.push({ url: server.url, node: 0 })
  }
  const load = startClusterLoad({ shop, entries, nodeOf: () => 0, clients })
  started.defer(async () => {
    await load.stop()
  })
  const missed = new Set<string>()
  const watch = (title: string, isMove: boolean, act: () => Promise<unknown>) =>
    watchPart(load, { title, isMove, act }, missed)
  await watch('before', false, () => delay(CALM_MS))
  await watch('distribute', true, () => distribute(cluster, deployment))
  await watch('on the cluster', false, () => delay(CALM_MS))
  await watch('distribute --undo', true, () => deployment.runCommand('distribute', '--undo'))
  await watch('on one server again', false, () => delay(CALM_MS))
  const givenUp = await load.stop()
  const { lost, doubled } = compareReferences(load.acknowledged, await countWrites(cluster))
  say(
    `${load.acknowledged.size} writes acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${givenUp} given up, ${load.reversed.size} charges reversed`,
  )
  if (lost.length + doubled.length + givenUp > 0) missed.add('writes')
  await deployment.runCommand('ledger', 'verify')
  say(missed.size === 0 ? 'the drill is passed' : `the drill is not passed: ${[...missed].join(', ')}`)
  if (missed.size > 0) process.exitCode = 1
}

/**
 * Counts the requests of a part of the run. Adds the title of the part to `missed` if a request failed that must succeed. A
 * request that was open when a move began or ended belongs to the move.
 */
async function watchPart(
  load: ClusterLoad,
  { title, isMove, act }: { readonly title: string; readonly isMove: boolean; readonly act: () => Promise<unknown> },
  missed: Set<string>,
): Promise<void> {
  const fromMs = performance.now()
  await act()
  if (isMove) await delay(NOTICE_MS)
  const untilMs = performance.now()
  const sent = load.requests.filter((request) =>
    isMove ? request.untilMs >= fromMs : request.fromMs >= fromMs && request.untilMs < untilMs,
  )
  const failed = Map.groupBy(sent, ({ failure }) => failure)
  failed.delete(undefined)
  const causes = [...failed].map(([failure, all]) => `${all.length} × ${failure}`).join(', ')
  const silence = longestSilence(sent, fromMs, untilMs)
  say(
    `${title} (${inSeconds(untilMs - fromMs)}): ${sent.length} requests, longest time without a write ${inSeconds(silence)}; failed: ${causes || 'none'}`,
  )
  if ([...failed.keys()].some((failure) => !(isMove && failure === '503'))) missed.add(title)
}

function longestSilence(sent: readonly SentRequest[], fromMs: number, untilMs: number): number {
  const times = sent.filter(({ failure }) => failure === undefined).map((request) => request.untilMs)
  const marks = [fromMs, ...times, untilMs]
  return Math.max(...marks.slice(1).map((ms, nth) => ms - (marks[nth] ?? ms)))
}
