import { z } from 'zod'
import { post } from '../services/http-client.ts'
import type { Load } from './load/load.ts'
import type { Endpoint, Scenario, ScenarioContext } from './scenario.ts'

const MERCHANTS = 1_000
/** Transactions of each merchant, and of the busiest merchant in addition. */
const TRANSACTIONS_EACH = 100
const TRANSACTIONS_OF_ONE = 50_000
const PAGE_ROWS = 20
/** How many amounts and last digits of cards there are, so that searches for one of them find few rows. */
const VALUES = 9_973

const CreatedApp = z.object({ app: z.object({ key: z.string() }) })
const CreatedMerchant = z.object({ merchant: z.object({ id: z.string() }) })
const Ids = z.array(z.object({ id: z.string() })).transform((rows) => rows.map(({ id }) => id))

type Headers = Readonly<Record<string, string>>

/** Measures what merchants do all day: take money, look at a transaction, turn pages. */
export const paymentsScenario: Scenario = {
  service: 'payments',
  env: { PAYMENTS_RATE_KEY: '0', PAYMENTS_RATE_APPS: '0', PAYMENTS_RATE_FAILURES: '0' },
  referenceEnv: ({ PAYMENTS_PEPPER }) => ({ PEPPER: PAYMENTS_PEPPER }),
  prepare: async ({ url, execute }) => {
    const { app } = CreatedApp.parse(await post(`${url}/apps`, { name: 'bench' }))
    const headers = { authorization: `Basic ${Buffer.from(`:${app.key}`).toString('base64')}` }
    const merchants: string[] = []
    while (merchants.length < MERCHANTS) {
      const many = Array.from({ length: 20 }, () => post(`${url}/merchants`, merchantBody(merchants.length), headers))
      merchants.push(...(await Promise.all(many)).map((answer) => CreatedMerchant.parse(answer).merchant.id))
    }
    const [busiest = ''] = merchants
    await insertTransactions(execute, TRANSACTIONS_EACH)
    const transactions = await listTransactions(execute, 'ORDER BY substr(id, 12, 5), id')
    await insertTransactions(execute, TRANSACTIONS_OF_ONE, busiest)
    const ofBusiest = await listTransactions(execute, `WHERE merchant_id = '${busiest}' ORDER BY md5(id)`)
    return endpoints({ headers, merchants, transactions, busiest, ofBusiest })
  },
}

interface Data {
  readonly headers: Headers
  readonly merchants: readonly string[]
  /** The transactions of all merchants, ordered so that one after the other is below another merchant. */
  readonly transactions: readonly string[]
  readonly busiest: string
  readonly ofBusiest: readonly string[]
}

const CAPTURES = `captures, ${MERCHANTS} merchants`

function endpoints({ headers, merchants, transactions, busiest, ofBusiest }: Data): readonly Endpoint[] {
  const get =
    (path: string, tokens: readonly string[] = []) =>
    async (): Promise<Load> => ({
      method: 'GET',
      path,
      headers,
      tokens,
      connections: 64,
    })
  const capture = (tokens: readonly string[]) => async (): Promise<Load> => ({
    method: 'POST',
    path: '/transactions/{token}/captures',
    body: '{"amount":1000}',
    headers,
    tokens: startElsewhere(tokens),
    connections: 32,
  })
  const page = `/merchants/${busiest}/transactions?limit=${PAGE_ROWS}&before={token}`
  return [
    { name: 'GET /me', goal: 0.8, nextLoad: get('/me') },
    { name: 'GET /merchants/:merchantId', goal: 0.8, nextLoad: get('/merchants/{token}', merchants) },
    { name: 'GET /transactions/:transactionId', goal: 0.8, nextLoad: get('/transactions/{token}', transactions) },
    { name: 'GET …/transactions, any depth', goal: 0.8, nextLoad: get(page, ofBusiest) },
    { name: CAPTURES, goal: 0.8, nextLoad: capture(transactions) },
    { name: 'captures, one merchant', goal: 0.8, ofOther: { name: CAPTURES, goal: 0.6 }, nextLoad: capture(ofBusiest) },
  ]
}

/** Each sample begins elsewhere, so that no transaction is captured more often than the others. */
function startElsewhere(tokens: readonly string[]): readonly string[] {
  const at = Math.floor(Math.random() * tokens.length)
  return [...tokens.slice(at), ...tokens.slice(0, at)]
}

/**
 * Adds authorized transactions below each merchant, or below one. Nobody can charge their cards. A column that an older checkout
 * lacks is left out there.
 */
export async function insertTransactions(
  execute: ScenarioContext['execute'],
  count: number,
  merchantId?: string,
): Promise<void> {
  const condition = merchantId === undefined ? '' : `WHERE b.merchant_id = '${merchantId}'`
  await execute(`
    WITH card AS (
      INSERT INTO payments.instruments (merchant_id, id, created, pan_sealed, key_id, pan_mac, bin, last4, expiry, scheme)
      SELECT b.merchant_id, payments.id_at(t.first, t.tag), payments.created_at(t.first), '', 0,
        decode(repeat('00', 32), 'hex'), '100000', '0000', '2066-08-31', 'visa'
      FROM payments.merchant_balances b CROSS JOIN LATERAL payments.take_ids(b.merchant_id, ${count + 1}) t ${condition}
      RETURNING merchant_id, id
    )
    INSERT INTO payments.transactions
    SELECT t.*
    FROM card c, generate_series(1, ${count}) n, jsonb_populate_record(NULL::payments.transactions, jsonb_build_object(
      'merchant_id', c.merchant_id, 'id', payments.id_at(payments.id_number(c.id) + n, right(c.id, 8)),
      'created', payments.created_at(payments.id_number(c.id) + n), 'instrument_id', c.id, 'test', true,
      'last4', lpad((n % ${VALUES})::text, 4, '0'), 'currency', 'DKK', 'funding_currency', 'DKK', 'amount', 100000000 + n % ${VALUES},
      'descriptor', 'BENCH SHOP', 'pending', 100000000 + n % ${VALUES}, 'captured', 0, 'refunded', 0,
      'voided', 0, 'disputed', 0, 'lost', 0, 'trail_length', 0, 'disputed_at_capture', false, 'recurring', false,
      'successful', true, 'code_present', true
    )) t`)
  // Sets what the functions that make transactions set; without it \`ledger verify\` reports the rows as forged.
  await execute(`
    SELECT payments.record_states(b.merchant_id, 'transactions', ARRAY(
      SELECT t.id FROM payments.transactions t WHERE t.merchant_id = b.merchant_id AND NOT EXISTS (
        SELECT FROM payments.state_entries s
        WHERE s.merchant_id = t.merchant_id AND s.table_name = 'transactions' AND s.row_id = t.id
      )
    )) FROM payments.merchant_balances b ${condition}`)
}

async function listTransactions(execute: ScenarioContext['execute'], rest: string): Promise<readonly string[]> {
  return Ids.parse(await execute(`SELECT id FROM payments.transactions ${rest}`))
}

/** The smallest row of a test merchant. */
export function merchantBody(count: number): object {
  return {
    name: `Shop ${count}`,
    currency: 'DKK',
    test: true,
    email: 'owner@bench.example',
    website: 'https://bench.example',
    descriptor: 'BENCH SHOP',
    company: { country: 'DK' },
  }
}
