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
  /** The address of the customer. Refused cards are counted by it. */
  readonly ip: string
  /** Whether the order came by TLS. */
  readonly isSecure: boolean
  /** Called with the merchant once it is known, for the log. */
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
  /** The behaviour of the simulator for the card of a test merchant. Live merchants have none. */
  readonly changes: ScenarioChanges
  readonly scenario: Scenario
  /** The id under which the card is stored if the payment begins. */
  readonly instrumentId: string
  readonly session: Session | undefined
  /** The steps that the hints prove. */
  readonly done: ReadonlySet<Step>
}

/** The earlier end of the same order. */
export interface EndedOrder {
  readonly verdict: 'ended'
  readonly end: PaymentEnd
  readonly scheme: SchemeVerdict
  /** Whether the request repeats one with the same Idempotency-Key. False when another request paid the same order. */
  readonly replayed: boolean
  /** The digest and session that the hints of the order are bound to; undefined for an order without hints. */
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
 * Judges an order up to its tokens, with one statement (reference: Order of checks at the checkout). An order that has ended is
 * judged first: its tokens are spent, and the merchant or the dates may have changed.
 * @throws
 * - integrationKeyUnknown when no merchant has the key
 * - testMissing and testUnexpected when `test` does not fit the merchant
 * - cardDataInsecure for a live card without TLS
 * - orderKeyUsed when the Idempotency-Key was used with another body
 * - integrationDisabled when the merchant takes no cards
 * - orderInvalid for a wrong amount or plan
 * - returnUrlElsewhere for a page of another site
 * - rateUnavailable when the rate is too old for live money
 * - tokenInvalid for a token that is unknown, expired or spent
 * - tokenTypeUnexpected for a token of another kind
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

/** Why the card of an order is refused before anybody is asked; undefined when it is not. */
export function judgeCardOf({ order, payee, tokens, scheme, scenario }: OpenOrder): string | undefined {
  const { test, now } = payee
  return judgeCard({ number: tokens.number.value, scheme, expiry: order.card.expiry, test, scenario, now })
}

/** Judges the mode of the order and its transport. A repeated order gives the same result. */
function judgeRequest({ config }: CheckoutDeps, { order, isSecure }: OrderRequest, { test }: Payee): void {
  if (test !== (order.test !== undefined)) {
    throw test ? testMissing() : testUnexpected()
  }
  if (config.checkout.requireTls && !test && !isSecure) refuseInsecureCard()
}

/** Judges permission, dates and rates, which may have changed since the order was first sent. */
function judgeOrder({ acquirers, config }: CheckoutDeps, order: Order, { payee, rate }: Checkout): void {
  const hasAcquirer = payee.test || acquirers.names.includes(payee.acquirer ?? '')
  if (!payee.canChargeCard || !hasAcquirer) throw integrationDisabled()
  const noRate = { field: 'amount.currency', message: FIELD_TEXTS.noRate }
  const problem = orderProblem(order, payee.now) ?? (rate === null ? noRate : undefined)
  if (problem !== undefined) refuseOrder([problem])
  if (!mayReturn(order.returnUrl, payee, config.checkout.posUrl)) throw returnUrlElsewhere()
  if (rate === 'stale') refuseOldRate()
}

/** Customers of a live merchant return to its site, or to our own page of payment links, and nowhere else. */
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
