import { Command } from 'commander'
import { createShop, DATABASE, deployPayments, distribute } from '../drills/loads/cluster-payments.ts'
import { insertTransactions } from '../fixtures.ts'
import { positiveInteger, runCommand, say, secondsSince } from '../program.ts'
import { DURABLE, startCitusCluster } from '../servers/citus-cluster.ts'
import { execute } from '../servers/database.ts'
import { openWorkplace } from '../servers/workplace.ts'

// Measures how long `payments distribute` blocks writes: `CITUS_PG_BIN=… node bench/src/speed/distribute-size.ts`, with a million
// transactions that have one capture each. Prints the slowest steps, and the time to verify the ledger after writes have resumed.
// Use an idle machine.

const WORKERS = 2
const MERCHANTS = 200
const GOAL_SECONDS = 60
/** The number of captures in one call. */
const BATCH = 100
/** The number of connections that make captures. */
const FILLERS = 2
const SLOWEST = 3

const command = new Command('distribute-size')
  .description('measure how long a large database is distributed; needs a PostgreSQL with Citus 13, in CITUS_PG_BIN')
  .option('--transactions <count>', 'transactions of the database', positiveInteger, 1_000_000)
  .action(run)
await runCommand(command)

async function run({ transactions }: { readonly transactions: number }): Promise<void> {
  await using workplace = await openWorkplace('distribute-size')
  const cluster = await startCitusCluster(workplace, WORKERS, { ...DURABLE, 'citus.shard_count': 32 })
  const shop = createShop(MERCHANTS)
  const deployment = await deployPayments(workplace, cluster, { ...shop, seed: { ...shop.seed, transactions: [] } })
  const fromMs = performance.now()
  await fill(cluster.url(DATABASE), shop.merchantIds, Math.ceil(transactions / MERCHANTS))
  say(`${Math.ceil(transactions / MERCHANTS) * MERCHANTS} transactions were captured in ${secondsSince(fromMs)}`)
  const startMs = performance.now()
  const printed = await distribute(cluster, deployment)
  const steps = readSteps(printed, (performance.now() - startMs) / 1_000)
  const last = steps.at(-1)
  if (last === undefined) throw new Error(`payments distribute has printed no step: ${printed}`)
  const verdict = last.atSeconds <= GOAL_SECONDS ? 'met' : 'NOT MET'
  say(`without writes: ${last.atSeconds.toFixed(1)} s (goal ${GOAL_SECONDS} s: ${verdict})`)
  const slowest = steps.slice(0, -1).toSorted((one, other) => other.seconds - one.seconds)
  for (const { title, seconds } of slowest.slice(0, SLOWEST)) say(`${title}: ${seconds.toFixed(1)} s`)
  say(`the ledger was verified in ${last.seconds.toFixed(1)} s`)
}

/** Authorizes and captures the same number of transactions for each merchant. */
async function fill(url: string, merchantIds: readonly string[], each: number): Promise<void> {
  const waiting = [...merchantIds]
  const work = async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      await insertTransactions((statement) => execute(url, statement), each, id)
      await execute(url, captureAll(id))
    }
  }
  await Promise.all(Array.from({ length: FILLERS }, work))
  await execute(url, 'VACUUM ANALYZE')
}

/** Returns SQL that captures every transaction of a merchant with the function of requests. It fails if one is refused. */
function captureAll(merchantId: string): string {
  return `DO $$ DECLARE
    asked json;
    refused text;
  BEGIN
    FOR asked IN
      SELECT json_agg(json_build_object('keyMac', k.mac, 'kind', 'capture', 'transactionId', t.id, 'amount', 1000))
      FROM (
        SELECT id, (row_number() OVER (ORDER BY id) - 1) / ${BATCH} AS batch FROM payments.transactions
        WHERE merchant_id = '${merchantId}'
      ) t, (SELECT encode(mac, 'hex') AS mac FROM payments.app_keys) k
      GROUP BY t.batch ORDER BY t.batch
    LOOP
      SELECT string_agg(DISTINCT r.verdict, ', ') INTO refused
      FROM payments.run_operations(asked, 0, 3650) r WHERE r.verdict <> 'done';
      IF refused IS NOT NULL THEN RAISE EXCEPTION 'captures are refused: %', refused; END IF;
    END LOOP;
  END $$`
}

interface TimedStep {
  readonly title: string
  /** Seconds since the start of the run. */
  readonly atSeconds: number
  readonly seconds: number
}

/** Reads the steps in the output of `payments distribute`: `7/50 distribute transactions (3.4 s)`. */
function readSteps(printed: string, totalSeconds: number): readonly TimedStep[] {
  const begins = [...printed.matchAll(/^\d+\/\d+ (.+) \((\d+\.\d) s\)$/gm)].map(([, title = '', at]) => ({
    title,
    atSeconds: Number(at),
  }))
  return begins.map((begin, nth) => ({
    ...begin,
    seconds: (begins[nth + 1]?.atSeconds ?? totalSeconds) - begin.atSeconds,
  }))
}
