import type { Pools } from '@trestle/database/pools.ts'
import type { IdempotentRequest } from '../access/caller.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import { scenarioOfPayment } from '../acquirers/test-object.ts'
import { type SchemeVerdict, schemeOf } from '../cards/card-number.ts'
import { completeScenario, type Scenario, type ScenarioChanges } from '../cards/scenario.ts'
import type { DayLimits } from '../config/acquiring.ts'
import type { CheckoutConfig } from '../config/checkout.ts'
import {
  integrationDisabled,
  integrationKeyUnknown,
  returnUrlElsewhere,
  testMissing,
  testUnexpected,
  tokenTypeUnexpected,
} from '../errors.ts'
import { FIELD_TEXTS } from '../field-errors.ts'
import { sharesSite } from '../merchants/site.ts'
import type { Money } from '../money/minor-units.ts'
import { refuseOldRate } from '../transactions/refuse-entry.ts'
import { type CardToken, type DecryptedToken, decryptToken } from '../vault/card-token.ts'
import type { CheckoutCiphers } from '../vault/encryption.ts'
import { readHints, type Step } from './authentication.ts'
import { judgeCard } from './card-judgement.ts'
import {
  type Checkout,
  findCheckout,
  type Payee,
  type PaymentEnd,
  refuseToken,
  type Session,
  type TokenPath,
} from './checkout-repository.ts'
import { moneyOf, orderDigest, orderProblem, refuseInsecureCard, refuseOrder, refuseUsedKey } from './order.ts'
import type { Order } from './payment-body.ts'

export interface OrderRequest {
  readonly order: Order
  readonly idempotentRequest: IdempotentRequest | undefined
  /** The IP address of the customer. The service counts refused cards by address. */
  readonly ip: string
  /** Whether the order arrived over TLS. */
  readonly isSecure: boolean
  /** Called with the id of the merchant when it is known, for the log. */
  readonly onMerchant?: (merchantId: string) => void
}

/** A valid order. Only its card may still be refused. */
export interface OpenOrder {
  readonly verdict: 'open'
  readonly order: Order
  readonly payee: Payee
  readonly money: Money
  readonly digest: Buffer
  readonly tokens: { readonly number: CardToken; readonly code: CardToken }
  readonly scheme: SchemeVerdict
  /** The simulator's behaviour for the card of a test merchant. Empty for a live merchant. */
  readonly changes: ScenarioChanges
  readonly scenario: Scenario
  /** The id under which the card is stored if the payment begins. */
  readonly instrumentId: string
  readonly session: Session | undefined
  readonly done: ReadonlySet<Step>
}

/** The result of an earlier request for the same order. */
export interface EndedOrder {
  readonly verdict: 'ended'
  readonly end: PaymentEnd
  readonly scheme: SchemeVerdict
  /** Whether an earlier request had the same Idempotency-Key. `false` if another request paid the same order. */
  readonly replayed: boolean
  /** The digest and the session to which the hints of the order are bound. `undefined` if the order has no hints. */
  readonly bound: { readonly digest: Buffer; readonly sessionId: string } | undefined
}

export interface CheckoutDeps {
  readonly pools: Pools
  readonly ciphers: CheckoutCiphers
  readonly acquirers: Pick<Acquirers, 'names'>
  readonly config: {
    readonly checkout: Pick<CheckoutConfig['checkout'], 'requireTls' | 'posUrl'>
    readonly dayLimits: Pick<DayLimits, 'rateAgeDaysMax'>
  }
  readonly now: () => Date
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Checks an order up to its tokens, with one statement (reference: Order of checks at the checkout). An order that has ended
 * returns before the remaining checks: its tokens are spent, and the merchant or the dates may have changed.
 * @throws
 * - integrationKeyUnknown if no merchant has the key
 * - testMissing or testUnexpected if `test` does not match the merchant
 * - cardDataInsecure for a live card without TLS
 * - orderKeyUsed if the Idempotency-Key was used with another body
 * - integrationDisabled if the merchant accepts no cards
 * - orderInvalid if an amount or the plan is wrong
 * - returnUrlElsewhere if the return page belongs to another site
 * - rateUnavailable if the rate is too old for live payments
 * - tokenInvalid if a token is unknown, expired or spent
 * - tokenTypeUnexpected if a token is of another kind
 */
export async function openCheckout(deps: CheckoutDeps, request: OrderRequest): Promise<OpenOrder | EndedOrder> {
  const { order, idempotentRequest } = request
  const number = decryptToken(deps.ciphers.tokens, order.card.number, 'pcn')
  const code = decryptToken(deps.ciphers.tokens, order.card.code, 'pcsc')
  const digest = number.verdict === 'opened' ? orderDigest(order, number.token.jti) : undefined
  const progress = digest && readHints(deps.ciphers.hints, digest, order.hints)
  const checkout = UUID.test(order.integration.key)
    ? await findCheckout(deps.pools, {
        merchantKey: order.integration.key,
        currency: order.amount?.currency ?? null,
        rateAgeDaysMax: deps.config.dayLimits.rateAgeDaysMax,
        digest: digest ?? null,
        sessionId: progress?.sessionId ?? null,
        jtis: [number, code].flatMap((opened) => (opened.verdict === 'opened' ? [opened.token.jti] : [])),
        idempotentRequest,
      })
    : undefined
  if (!checkout) throw integrationKeyUnknown()
  request.onMerchant?.(checkout.payee.id)
  const { payee, session, repeated, spent, instrumentId } = checkout
  judgeRequest(deps, request, payee)
  if (repeated === 'mismatch') refuseUsedKey()
  const scheme = schemeOf(number.verdict === 'opened' ? number.token.value : '', payee)
  const end = repeated ?? session?.end
  if (end) {
    const bound = digest && progress?.sessionId ? { digest, sessionId: progress.sessionId } : undefined
    return { verdict: 'ended', end, scheme, replayed: repeated !== undefined, bound }
  }
  judgeOrder(deps, order, checkout)
  const use = { now: deps.now(), spent }
  const tokens = { number: usableToken(number, 'card.number', use), code: usableToken(code, 'card.code', use) }
  const changes = payee.test ? scenarioOfPayment(tokens.number.value, order.test ?? {}) : {}
  return {
    verdict: 'open',
    order,
    payee,
    tokens,
    scheme,
    changes,
    scenario: completeScenario(changes),
    instrumentId,
    session,
    money: moneyOf(order, payee.currency),
    digest: digest ?? orderDigest(order, tokens.number.jti),
    done: session ? (progress?.done ?? new Set()) : new Set(),
  }
}

/** The status code that refuses the card of an order before the acquirer is asked, or `undefined` if the card is not refused. */
export function judgeCardOf({ order, payee, tokens, scheme, scenario }: OpenOrder): string | undefined {
  const { test, now } = payee
  return judgeCard({ number: tokens.number.value, scheme, expiry: order.card.expiry, test, scenario, now })
}

/** Checks the mode of the order and its transport. A repeated order gets the same result. */
function judgeRequest({ config }: CheckoutDeps, { order, isSecure }: OrderRequest, { test }: Payee): void {
  if (test !== (order.test !== undefined)) {
    throw test ? testMissing() : testUnexpected()
  }
  if (config.checkout.requireTls && !test && !isSecure) refuseInsecureCard()
}

/** Checks permission, dates and rates. These may have changed since the order was first sent. */
function judgeOrder({ acquirers, config }: CheckoutDeps, order: Order, { payee, rate }: Checkout): void {
  const hasAcquirer = payee.test || acquirers.names.includes(payee.acquirer ?? '')
  if (!payee.canChargeCard || !hasAcquirer) throw integrationDisabled()
  const noRate = { field: 'amount.currency', message: FIELD_TEXTS.noRate }
  const problem = orderProblem(order, payee.now) ?? (rate === null ? noRate : undefined)
  if (problem !== undefined) refuseOrder([problem])
  if (!mayReturn(order.returnUrl, payee, config.checkout.posUrl)) throw returnUrlElsewhere()
  if (rate === 'stale') refuseOldRate()
}

/** Customers of a live merchant may return only to the merchant's site or to our payment page. */
function mayReturn(returnUrl: string | undefined, { test, website }: Payee, posUrl: string): boolean {
  if (returnUrl === undefined || test) return true
  return sharesSite(returnUrl, website) || new URL(returnUrl).origin === new URL(posUrl).origin
}

function usableToken(
  opened: DecryptedToken,
  path: TokenPath,
  { now, spent }: { readonly now: Date; readonly spent: readonly string[] },
): CardToken {
  if (opened.verdict === 'unexpected') throw tokenTypeUnexpected({ details: { path } })
  const token = opened.verdict === 'opened' ? opened.token : undefined
  if (!token || token.expires <= now || spent.includes(token.jti)) refuseToken(path)
  return token
}
