import { z } from 'zod'
import { openBench } from '../bench.ts'
import { createApp, insertTransactions, merchantBody, post } from '../fixtures.ts'
import { readCount, report, say } from '../program.ts'
import { countReferences, listMiscounted } from './loads/acknowledgements.ts'
import { askUntilAnswered, crashRepeatedly } from './loads/crash-loop.ts'

// Kills payments and PostgreSQL repeatedly while clients capture and refund: `node bench/src/drills/ledger-crash.ts [kills]`, 50
// by default. Each request has an Idempotency-Key and is sent until it gets a response. Exit status 1 if a completed operation is
// not stored exactly once, if a refused one is stored, or if `payments ledger verify` finds a problem.

const MERCHANTS = 5
const TRANSACTIONS_EACH = 8
const CLIENTS = 16
const LIFE_MS = 1_200
const Ids = z.array(z.object({ id: z.string() }))

const kills = readCount('kills', 50)
await using bench = await openBench({ isOwn: true })
const payments = await bench.deploy('payments', { env: { PAYMENTS_RATE_KEY: '0', PAYMENTS_RATE_FAILURES: '0' } })
/** The expected number of rows by reference. */
const answered = new Map<string, number>()
let sent = 0
const { defects } = await crashRepeatedly({
  bench,
  service: payments,
  kills,
  victims: ['the service', 'PostgreSQL', 'both'],
  lifeMs: LIFE_MS,
  clients: CLIENTS,
  prepare: async (url) => {
    const headers = await createApp(url)
    for (let count = 0; count < MERCHANTS; count += 1) await post(`${url}/merchants`, merchantBody(count), headers)
    await insertTransactions(payments.execute, TRANSACTIONS_EACH)
    const ids = Ids.parse(await payments.execute('SELECT id FROM payments.transactions')).map(({ id }) => id)
    return async (load) => {
      const reference = `operation-${++sent}`
      const operation = Math.random() < 0.6 ? 'captures' : 'refunds'
      const path = `/transactions/${ids[Math.floor(Math.random() * ids.length)]}/${operation}`
      const request = { path, headers: { ...headers, 'idempotency-key': reference }, body: { amount: 7, reference } }
      const isAnswer = ({ status }: { readonly status: number }) => status === 201 || status === 400
      const { status } = await askUntilAnswered(load, { method: 'POST', ...request }, isAnswer)
      answered.set(reference, status === 201 ? 1 : 0)
    }
  },
  describe: () => `${answered.size} operations answered`,
})
const done = [...answered.values()].filter((times) => times > 0).length
say(`${done} operations were carried out, ${answered.size - done} refused`)
const stored = await payments.execute(
  'SELECT reference, count(*) AS times FROM payments.trail_entries GROUP BY reference',
)
const problems = [...defects, ...listMiscounted(answered, countReferences(stored))]
await payments.runCommand('ledger', 'verify').catch((error) => problems.push(String(error)))
report(problems, 'nothing acknowledged is missing, nothing is doubled, the ledger holds')
