import { z } from 'zod'
import { openBench } from '../bench.ts'
import { createApp, insertTransactions, merchantBody, post, request } from '../fixtures.ts'
import { say } from '../program.ts'
import { distributionOf } from '../statistics.ts'

// Measures how the time of a request grows with the rows of a merchant: `node bench/src/speed/ledger-growth.ts [sizes]`, by
// default 1000,100000,1000000 transactions and as many lines. Each size has its own database and service. All get requests in
// turn, so that a disturbance of the machine affects all. The goal is at most 1.2 times the time of the smallest.

const GOAL = 1.2
const ROUNDS = 61
const PAGE_ROWS = 100

const sizes = (process.argv[2] ?? '1000,100000,1000000').split(',').map(Number)
if (!sizes.every((size) => Number.isInteger(size) && size >= PAGE_ROWS))
  throw new Error(`sizes are ${PAGE_ROWS} or more, by commas`)

interface Grown {
  readonly size: number
  readonly url: string
  readonly merchantId: string
  readonly headers: Readonly<Record<string, string>>
  /** Some transaction ids, from the newest to the oldest. */
  readonly transactions: readonly string[]
  /** The newest transactions, because captures usually follow soon after the authorization. */
  readonly recent: readonly string[]
}

const CreatedMerchant = z.object({ merchant: z.object({ id: z.string() }) })
const Ids = z.array(z.object({ id: z.string() }))

/** The measured requests. `at` ranges from 0 for the newest transaction to 1 for the oldest. */
const questions: readonly (readonly [name: string, ask: (grown: Grown, round: number) => Promise<unknown>])[] = [
  ...[0, 0.5, 0.9].flatMap((at) => [
    [`page of transactions at ${at}`, (grown: Grown) => readPage(grown, 'transactions', at)] as const,
    [`page of lines at ${at}`, (grown: Grown) => readPage(grown, 'lines', at)] as const,
  ]),
  [
    'page of transactions, oldest first',
    (grown) => read(grown, `/merchants/${grown.merchantId}/transactions?limit=${PAGE_ROWS}&after=${'0'.repeat(24)}`),
  ],
  ['transaction by id', (grown, round) => read(grown, `/transactions/${pick(grown.transactions, round)}`)],
  [
    'capture',
    (grown, round) =>
      post(`${grown.url}/transactions/${pick(grown.recent, round)}/captures`, { amount: 1 }, grown.headers),
  ],
]

await using bench = await openBench()
const all: Grown[] = []
for (const size of sizes) all.push(await fillMerchant(size))
say(`median of ${ROUNDS} requests in turn, one at a time; a page has ${PAGE_ROWS} rows`)
say(['', ...sizes.map((size) => `${size} rows`), 'times'].map(pad).join(' '))
for (const [name, ask] of questions) {
  const times = all.map((): number[] => [])
  for (let round = -5; round < ROUNDS; round += 1) {
    for (const [index, grown] of all.entries()) {
      const startMs = performance.now()
      await ask(grown, round + 5)
      if (round >= 0) times[index]?.push(performance.now() - startMs)
    }
  }
  const medians = times.map((each) => distributionOf(each).median)
  const growth = (medians.at(-1) ?? 0) / (medians[0] ?? 1)
  const verdict = `${growth.toFixed(2)} ${growth <= GOAL ? 'met' : 'NOT MET'}`
  say([name, ...medians.map((median) => `${median.toFixed(2)} ms`), verdict].map(pad).join(' '))
}

async function fillMerchant(size: number): Promise<Grown> {
  const databaseName = `trestle_bench_growth_${size}`
  const { execute, serve } = await bench.deploy('payments', { databaseName, env: { PAYMENTS_RATE_KEY: '0' } })
  const server = await serve()
  const headers = await createApp(server.url)
  const { merchant } = CreatedMerchant.parse(await post(`${server.url}/merchants`, merchantBody(size), headers))
  await insertTransactions(execute, size)
  await execute(insertLines(merchant.id, size))
  await execute('VACUUM ANALYZE')
  const list = async (text: string) => Ids.parse(await execute(text)).map(({ id }) => id)
  const transactions = await list(
    `SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM payments.transactions) t
     WHERE n % ${Math.max(1, Math.floor(size / 1_000))} = 0 ORDER BY id DESC`,
  )
  const recent = await list(`SELECT id FROM payments.transactions ORDER BY id DESC LIMIT ${PAGE_ROWS}`)
  return { size, url: server.url, merchantId: merchant.id, headers, transactions, recent }
}

/** Inserts lines with the ids of transactions. They only fill the lists, and the ledger does not verify with them. */
function insertLines(merchantId: string, count: number): string {
  return `INSERT INTO payments.lines (merchant_id, id, created, kind, balance, fee, description, transaction_id, amount, currency,
      balance_after, journal_id, test, hash, hash_version)
    SELECT merchant_id, id, created, 'capture', 98, 2, 'Capture ' || id, id, 100, currency, 98, id, test,
      decode(repeat('00', 32), 'hex'), 1
    FROM payments.transactions WHERE merchant_id = '${merchantId}' ORDER BY id LIMIT ${count}`
}

function readPage(grown: Grown, list: string, at: number): Promise<unknown> {
  const before = grown.transactions[Math.floor(at * grown.transactions.length)]
  return read(grown, `/merchants/${grown.merchantId}/${list}?limit=${PAGE_ROWS}&before=${before}`)
}

function read({ url, headers }: Grown, path: string): Promise<unknown> {
  return request(url + path, { headers })
}

function pick(ids: readonly string[], round: number): string {
  return ids[(round * 7) % ids.length] ?? ''
}

function pad(cell: string, index: number): string {
  return index === 0 ? cell.padEnd(36) : cell.padStart(14)
}
