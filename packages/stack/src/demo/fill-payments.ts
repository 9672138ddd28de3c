import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { z } from 'zod'
import { StackFailure } from '../stack-failure.ts'
import { createDemoClient, type DemoClient } from './demo-client.ts'

/** The address of payments, and the folders with its settings. */
interface PaymentsStack {
  readonly url: string
  readonly root: string
  readonly dataDirectory: string
  readonly now: Date
}

/** The objects that get their ids from the demo. */
interface DemoShop {
  readonly appId: string
  readonly appKey: string
  readonly merchantId: string
  readonly publicKey: string
  /** The time at which the demo was created. */
  readonly made: Date
}

const DAY_MS = 86_400_000
/** The shop was created this many days ago, before its first payment. */
const SHOP_DAYS = 40
const ID_TAIL = 8

const Transactions = z.array(
  z.object({ id: z.string(), trail: z.array(z.unknown()), reference: z.string().optional() }),
)
const Disputes = z.array(z.object({ id: z.string(), transactionId: z.string(), status: z.string() }))
const Listed = z.array(z.object({ transactionId: z.string() }))

/**
 * Adds a merchant with five weeks of payments, disputes and payouts. Returns lines for the terminal.
 *
 * @throws StackFailure if the command or a request is refused
 */
export async function fillPayments(stack: PaymentsStack): Promise<readonly string[]> {
  const shop = await nameShop(stack)
  const call = createDemoClient(stack.url, basic(shop.appKey))
  const merchantPath = `/merchants/${shop.merchantId}`
  const idOf = transactionIds(shop)
  await seed(stack, shop, idOf)
  const { body } = await call('GET', `${merchantPath}/transactions?limit=1000&after=${'0'.repeat(24)}`)
  const transactions = Transactions.parse(body)
  const trailOf = (id: string) => transactions.find((transaction) => transaction.id === id)?.trail.length ?? 0
  const payouts = z.array(z.unknown()).parse((await call('GET', `${merchantPath}/payouts?limit=1000`)).body).length
  for (const [index, group] of demoPayments.entries()) {
    for (const payment of group) await operate(call, payment, idOf(payment), trailOf(idOf(payment)))
    await recordRisks(call, shop.merchantId, group, idOf)
    if (payouts > index) continue
    // Advance the clock, because a merchant gets only one payout a day.
    if (index > 0) await call('POST', `/test${merchantPath}/clock`, { body: { advance: DAY_MS / 1_000 } })
    await call('POST', `/test${merchantPath}/payouts`, { body: {} })
  }
  await renew(call, { shop, idOf, known: transactions.map(({ reference }) => reference) })
  const link = `${stack.url}/pos?key=${shop.publicKey}&value=12.50&currency=EUR&test=1`
  return [`payments      merchant ${shop.merchantId}, key of its app: ${shop.appKey}`, `pay           ${link}`]
}

/** Derives ids and keys from a secret of the checkout: each run gets the same, and nobody can guess them. */
async function nameShop({ url, dataDirectory, now }: PaymentsStack): Promise<DemoShop> {
  const pepper = settingsOf(dataDirectory).PAYMENTS_PEPPER ?? ''
  const digits = (name: string) => createHmac('sha256', pepper).update(`demo ${name}`).digest('hex')
  const appKey = uuid(digits('app key'))
  const me = await createDemoClient(url, basic(appKey))('GET', '/me', { expected: [401] })
  const existing = z.object({ identity: z.object({ id: z.string() }) }).safeParse(me.body)
  const made = existing.success
    ? new Date(timeOf(existing.data.identity.id) + SHOP_DAYS * DAY_MS)
    : new Date(Math.floor(now.getTime() / 1_000) * 1_000)
  const founded = new Date(made.getTime() - SHOP_DAYS * DAY_MS)
  const idNamed = (name: string) => objectId(founded, 0, digits(name).slice(0, ID_TAIL))
  const publicKey = uuid(digits('public key'))
  return { appId: idNamed('app'), appKey, merchantId: idNamed('merchant'), publicKey, made }
}

function basic(key: string): string {
  return `Basic ${Buffer.from(`:${key}`).toString('base64')}`
}

function settingsOf(dataDirectory: string) {
  return parseEnv(readFileSync(join(dataDirectory, 'payments.env'), 'utf8'))
}

function uuid(digits: string): string {
  const [a, b, c, d, e] = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 15),
    digits.slice(15, 18),
    digits.slice(18, 30),
  ]
  return `${a}-${b}-4${c}-a${d}-${e}`
}

/** Returns an object id of payments. It consists of a time, a number and the merchant's tag. */
function objectId(time: Date, count: number, tail: string): string {
  const [seconds, milliseconds] = [Math.floor(time.getTime() / 1_000), time.getTime() % 1_000]
  const hex = (value: number, length: number) => value.toString(16).padStart(length, '0')
  return hex(seconds, 8) + hex(milliseconds, 3) + hex(count, 5) + tail
}

function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8), 16) * 1_000
}

function transactionIds({ made, merchantId }: DemoShop): (payment: DemoPayment) => string {
  const all = demoPayments.flat()
  const idOf = (payment: DemoPayment, index: number) =>
    objectId(new Date(made.getTime() - payment.daysAgo * DAY_MS), index, merchantId.slice(-ID_TAIL))
  const ids = new Map(all.map((payment, index) => [payment, idOf(payment, index)]))
  return (payment) => ids.get(payment) ?? ''
}

/** Inserts missing objects with the operator command `seed`, because only this command can create payments in the past. */
async function seed(stack: PaymentsStack, shop: DemoShop, idOf: (payment: DemoPayment) => string): Promise<void> {
  const expiry = { month: 12, year: shop.made.getUTCFullYear() + 3 }
  const file = join(stack.dataDirectory, 'demo-payments.json')
  const content = {
    apps: [{ id: shop.appId, name: 'Nordhavn Coffee', key: shop.appKey }],
    merchants: [
      {
        id: shop.merchantId,
        key: shop.publicKey,
        name: 'Nordhavn Coffee',
        currency: 'EUR',
        test: true,
        email: 'freja@nordhavn.example',
        website: 'https://nordhavn.example',
        descriptor: 'NORDHAVN COFFEE',
        company: { country: 'DK' },
        bank: { iban: 'DK5000400440116243' },
        apps: [shop.appId],
      },
    ],
    transactions: demoPayments.flat().map((payment) => ({
      id: idOf(payment),
      merchantId: shop.merchantId,
      currency: payment.currency,
      amount: payment.amount,
      card: { number: payment.card, expiry },
    })),
  }
  // The file is private, because it contains the key of the app.
  writeFileSync(file, JSON.stringify(content), { mode: 0o600 })
  const env = { ...process.env, ...settingsOf(stack.dataDirectory), PAYMENTS_ALLOW_SEED: 'yes' }
  try {
    await promisify(execFile)(process.execPath, ['services/payments/src/main.ts', 'seed', file], {
      cwd: stack.root,
      env,
    })
  } catch (cause) {
    throw new StackFailure([`The demo stopped: ${cause instanceof Error ? cause.message.trim() : cause}`], { cause })
  } finally {
    rmSync(file)
  }
}

/** Runs the operations that are missing in the trail. */
async function operate(call: DemoClient, payment: DemoPayment, id: string, done: number): Promise<void> {
  for (const { path, amount } of payment.operations.slice(done))
    await call('POST', `/transactions/${id}/${path}`, { body: { amount } })
}

/** Opens and closes disputes, and stores fraud alerts, as an acquirer would. */
async function recordRisks(
  call: DemoClient,
  merchantId: string,
  group: readonly DemoPayment[],
  idOf: (payment: DemoPayment) => string,
): Promise<void> {
  const list = async (path: string) => (await call('GET', `${path}?filter[merchantId]=${merchantId}&limit=1000`)).body
  const disputes = Disputes.parse(await list('/disputes'))
  const frauds = Listed.parse(await list('/frauds'))
  for (const payment of group) {
    const { dispute, fraud } = payment
    const id = idOf(payment)
    if (fraud !== undefined && !frauds.some(({ transactionId }) => transactionId === id))
      await call('POST', `/test/transactions/${id}/frauds`, { body: { reason: fraud } })
    if (dispute === undefined) continue
    const known = disputes.find(({ transactionId }) => transactionId === id)
    const opened = known ?? (await openDispute(call, id, dispute.reason))
    if (dispute.outcome !== undefined && opened.status === 'open')
      await call('POST', `/test/disputes/${opened.id}/outcomes`, { body: { outcome: dispute.outcome } })
  }
}

async function openDispute(call: DemoClient, transactionId: string, code: number) {
  const { body } = await call('POST', `/test/transactions/${transactionId}/disputes`, { body: { reason: { code } } })
  return z.object({ dispute: Disputes.element }).parse(body).dispute
}

interface RenewalContext {
  readonly shop: DemoShop
  readonly idOf: (payment: DemoPayment) => string
  /** The references of all transactions. */
  readonly known: readonly (string | undefined)[]
}

/** Charges cards again. A declined charge also becomes a transaction. */
async function renew(call: DemoClient, { shop, idOf, known }: RenewalContext): Promise<void> {
  for (const { reference, amount, card } of demoRenewals) {
    const source = demoPayments.flat().find((payment) => payment.card === card)
    if (source === undefined || known.includes(reference)) continue
    const body = { transactionId: idOf(source), amount, currency: 'EUR', reference }
    await call('POST', `/merchants/${shop.merchantId}/transactions`, { body, expected: [400] })
  }
}

/** A capture, refund or void of a payment. The amount is in minor units. */
type DemoOperation =
  | { readonly path: 'captures'; readonly amount: number }
  | { readonly path: 'refunds'; readonly amount: number }
  | { readonly path: 'voids'; readonly amount: number }

/** A payment by a customer in the past, and the operations of the shop on it. `amount` is in minor units of `currency`. */
interface DemoPayment {
  /** The number of days before the creation of the demo. */
  readonly daysAgo: number
  readonly amount: number
  readonly currency: string
  readonly card: string
  readonly operations: readonly DemoOperation[]
  readonly dispute?: { readonly reason: number; readonly outcome?: 'won' | 'lost' }
  /** The reason code of a fraud alert. */
  readonly fraud?: number
}

const VISA = '1000000000010000'
const MASTERCARD = '2000000000000000'
/** A card for which the simulator declines later charges by the shop, because it has too little money. */
const EMPTY_CARD = '1000000000090007'

type Extra = Partial<Pick<DemoPayment, 'currency' | 'card' | 'dispute' | 'fraud'>>

const payment = (
  daysAgo: number,
  amount: number,
  operations: readonly DemoOperation[],
  extra: Extra = {},
): DemoPayment => ({ daysAgo, amount, operations, currency: 'EUR', card: VISA, ...extra })

const capture = (amount: number): DemoOperation => ({ path: 'captures', amount })
const refund = (amount: number): DemoOperation => ({ path: 'refunds', amount })
const voided = (amount: number): DemoOperation => ({ path: 'voids', amount })
const paid = (daysAgo: number, amount: number, extra: Extra = {}) => payment(daysAgo, amount, [capture(amount)], extra)

/** The payments in groups, oldest first. A payout follows each group. */
const demoPayments: readonly (readonly DemoPayment[])[] = [
  [
    paid(35, 4_250),
    paid(34, 1_250, { card: MASTERCARD }),
    paid(33, 8_900, { dispute: { reason: 131, outcome: 'won' } }),
    payment(32, 3_600, [capture(3_600), refund(3_600)]),
    paid(31, 12_400, { currency: 'DKK' }),
    paid(29, 2_150),
    payment(28, 5_000, [voided(5_000)], { card: MASTERCARD }),
    paid(27, 6_475),
    paid(26, 1_250, { card: EMPTY_CARD }),
  ],
  [
    paid(24, 7_300, { card: MASTERCARD }),
    payment(22, 9_900, [capture(6_600), voided(3_300)]),
    paid(21, 15_000, { dispute: { reason: 133, outcome: 'lost' } }),
    paid(20, 3_995, { currency: 'USD' }),
    payment(18, 4_800, [capture(4_800), refund(1_600)]),
    paid(17, 1_250),
    paid(16, 2_500, { card: MASTERCARD }),
    paid(15, 11_200, { fraud: 6 }),
  ],
  [
    paid(13, 5_450),
    paid(11, 32_900, { currency: 'SEK', card: MASTERCARD }),
    payment(10, 7_800, [capture(2_600), capture(5_200), refund(2_600)]),
    paid(8, 8_400, { dispute: { reason: 4853 } }),
    paid(6, 1_250),
    paid(5, 2_750, { card: MASTERCARD }),
    paid(3, 6_100),
    paid(2, 3_600),
    payment(1, 4_150, []),
    payment(0.4, 12_500, [], { card: MASTERCARD }),
    payment(0.1, 1_250, []),
  ],
]

/** A later charge by the shop of a card that a customer has used. `amount` is in minor units. */
interface DemoRenewal {
  readonly reference: string
  readonly amount: number
  readonly card: string
}

/** Monthly deliveries. The second charge is declined. */
const demoRenewals: readonly DemoRenewal[] = [
  { reference: 'subscription-1001', amount: 1_250, card: MASTERCARD },
  { reference: 'subscription-1002', amount: 1_250, card: EMPTY_CARD },
]
