import fc from 'fast-check'
import { customerPayment } from './customer-payment.ts'
import { createTestMerchant, type TestApp, type TestPayments } from './payments-app.ts'

/** Many clients send different operations on the same merchants and transactions at the same time. */
export interface StormOptions {
  /** The same seed gives every worker the same operations. The order between workers is random. */
  readonly seed: number
  readonly operations: number
  readonly workers: number
  readonly merchants: number
  /** `look` runs at this many equally spaced points of the storm, then at its end. */
  readonly moments: number
  readonly look: () => Promise<void>
}

/** How many times each answer came, by its name: `capture 201`. */
export type Answers = ReadonlyMap<string, number>

const MERCHANT_CURRENCIES = ['EUR', 'DKK', 'USD', 'GBP', 'SEK', 'CHF']
const CURRENCIES = ['EUR', 'DKK', 'USD', 'JPY', 'KWD', 'IDR']
const PAYMENTS_EACH = 2

/** A random operation. `share` is a part of the amount, and `place` chooses a transaction of the merchant. */
const operation = fc.record({
  kind: fc.constantFrom(
    ...([
      'capture',
      'capture',
      'capture',
      'refund',
      'refund',
      'void',
      'charge',
      'dispute',
      'outcome',
      'payout',
    ] as const),
    'repeat' as const,
  ),
  merchant: fc.nat(),
  place: fc.nat(),
  share: fc.double({ min: 0.001, max: 1.1, noNaN: true }),
  currency: fc.constantFrom(...CURRENCIES),
  outcome: fc.constantFrom('won', 'lost'),
})
type StormOperation = typeof operation extends fc.Arbitrary<infer T> ? T : never

interface StormMerchant {
  readonly id: string
  readonly transactions: { readonly id: string; readonly amount: number }[]
  readonly disputes: string[]
}

/** Runs the storm on new merchants. Returns their ids and the answers. */
export async function runStorm(
  payments: readonly TestPayments[],
  app: TestApp,
  options: StormOptions,
): Promise<{ readonly merchantIds: readonly string[]; readonly answers: Answers }> {
  const merchants = await prepare(payments, app, options.merchants)
  const answers = new Map<string, number>()
  const perWorker = Math.ceil(options.operations / options.workers)
  const lists = fc.sample(fc.array(operation, { minLength: perWorker, maxLength: perWorker }), {
    seed: options.seed,
    numRuns: options.workers,
  })
  const looks: Promise<void>[] = []
  let [done, due] = [0, 1]
  const work = async (operations: readonly StormOperation[], worker: number): Promise<void> => {
    const service = payments[worker % payments.length]
    if (!service) throw new Error('there is no service')
    const client = createClient(service, app, answers, worker)
    for (const each of operations) {
      const merchant = merchants[each.merchant % merchants.length]
      if (merchant) await client(merchant, each)
      done += 1
      if (done >= (due * options.operations) / (options.moments + 1)) {
        due += 1
        looks.push(options.look())
      }
    }
  }
  await Promise.all(lists.map(work))
  await Promise.all(looks)
  return { merchantIds: merchants.map(({ id }) => id), answers }
}

async function prepare(payments: readonly TestPayments[], app: TestApp, count: number): Promise<StormMerchant[]> {
  const [service] = payments
  if (!service) throw new Error('there is no service')
  const bank = { iban: 'DK5000400440116243' }
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const currency = MERCHANT_CURRENCIES[index % MERCHANT_CURRENCIES.length]
      const { id } = await createTestMerchant(service, app, { currency, test: true, bank })
      const transactions = []
      for (let place = 0; place < PAYMENTS_EACH; place++) {
        const amount = 90_000
        const payment = { currency: CURRENCIES[(index + place) % CURRENCIES.length] ?? 'EUR', amount }
        transactions.push({ id: await customerPayment(service, id, payment), amount })
      }
      return { id, transactions, disputes: [] }
    }),
  )
}

/** Sends the operations of one worker and counts the answers. @throws Error for a status other than 201, 400 and 409 */
function createClient(payments: TestPayments, app: TestApp, answers: Map<string, number>, worker: number) {
  let number = 0
  let last: { url: string; payload: object; headers: object; body: string } | undefined
  const send = async (kind: string, url: string, payload: object, headers: object = {}) => {
    const response = await payments.app.inject({
      method: 'POST',
      url,
      payload,
      headers: { ...app.headers, ...headers },
    })
    const status = response.statusCode
    if (status !== 201 && status !== 400 && status !== 409)
      throw new Error(`${kind} answers ${status}: ${response.body}`)
    answers.set(`${kind} ${status}`, (answers.get(`${kind} ${status}`) ?? 0) + 1)
    return { status, body: response.body, json: () => response.json() }
  }
  return async (merchant: StormMerchant, { kind, place, share, currency, outcome }: StormOperation): Promise<void> => {
    const transaction = merchant.transactions[place % merchant.transactions.length]
    const dispute = merchant.disputes[place % merchant.disputes.length]
    if (!transaction) return
    const amount = Math.max(1, Math.round(share * transaction.amount * 0.4))
    if (kind === 'capture' || kind === 'refund' || kind === 'void') {
      const key = { 'idempotency-key': `${worker}-${number++}` }
      const url = `/transactions/${transaction.id}/${kind}s`
      const { status, body } = await send(kind, url, { amount }, key)
      if (status === 201) last = { url, payload: { amount }, headers: key, body }
    } else if (kind === 'repeat' && last) {
      const { status, body } = await send(kind, last.url, last.payload, last.headers)
      if (status !== 201 || body !== last.body) throw new Error(`an idempotent request was answered ${status}: ${body}`)
    } else if (kind === 'charge') {
      const payload = { transactionId: transaction.id, currency, amount }
      const { status, json } = await send(kind, `/merchants/${merchant.id}/transactions`, payload)
      if (status === 201) merchant.transactions.push({ id: json().transaction.id, amount })
    } else if (kind === 'dispute') {
      const { status, json } = await send(kind, `/test/transactions/${transaction.id}/disputes`, { amount })
      if (status === 201) merchant.disputes.push(json().dispute.id)
    } else if (kind === 'outcome' && dispute !== undefined) {
      await send(kind, `/test/disputes/${dispute}/outcomes`, { outcome })
    } else if (kind === 'payout') {
      await send(kind, `/test/merchants/${merchant.id}/payouts`, {})
    }
  }
}
