import type { Repeat } from '../access/caller.ts'
import { completeScenario, type Scenario, type ScenarioChanges } from '../acquirers/scenario.ts'
import { scenarioOfPayment } from '../acquirers/test-object.ts'
import { type SchemeVerdict, schemeOf } from '../cards/card-number.ts'
import type { PaymentsDeps } from '../deps.ts'
import { cardDataInsecure } from '../error-body.ts'
import {
  integrationDisabled,
  integrationKeyUnknown,
  rateUnavailable,
  requestInvalid,
  testModeMixed,
  tokenInvalid,
  tokenTypeUnexpected,
} from '../errors.ts'
import type { Money } from '../merchants/merchant.ts'
import { sharesSite } from '../merchants/site.ts'
import {
  type Checkout,
  findCheckout,
  type Payee,
  type PaymentEnd,
  type Session,
} from '../payments/checkout-repository.ts'
import { readHints } from '../payments/hint.ts'
import { moneyOf, orderDigest, orderProblem } from '../payments/order.ts'
import type { Order } from '../payments/payment-body.ts'
import type { Step } from '../tds/enrolment.ts'
import { type CardToken, type OpenedToken, openToken } from '../vault/card-token.ts'

/** An order as a request brings it. */
export interface OrderRequest {
  readonly order: Order
  readonly repeat: Repeat | undefined
  /** Where it comes from; refused cards are counted by it. */
  readonly address: string
  /** Whether it came by TLS. */
  readonly isSecure: boolean
  /** Told the merchant once it is known, for the log. */
  readonly onMerchant?: (merchantId: string) => void
}

/** An order that nothing is wrong with, but perhaps its card. */
export interface OpenOrder {
  readonly order: Order
  readonly payee: Payee
  readonly money: Money
  readonly digest: Buffer
  readonly tokens: { readonly number: CardToken; readonly code: CardToken }
  readonly network: SchemeVerdict
  /** What a test merchant's card is to do; of no meaning to others. */
  readonly changes: ScenarioChanges
  readonly scenario: Scenario
  /** The id that the card is kept under, should it be. */
  readonly instrumentId: string
  readonly session: Session | undefined
  /** The steps that the client has shown to have done. */
  readonly done: ReadonlySet<Step>
}

/** What the same order has come to before. */
export interface EndedOrder {
  readonly end: PaymentEnd
  readonly network: SchemeVerdict
  /** Whether it is told by its Idempotency-Key. */
  readonly replayed: boolean
  /** What the hints of the order are bound to; undefined where it brings none. */
  readonly bound: { readonly digest: Buffer; readonly sessionId: string } | undefined
}

export type CheckoutDeps = Pick<
  PaymentsDeps,
  'lanes' | 'seals' | 'acquirers' | 'requireTls' | 'posUrl' | 'rateAgeDaysMax' | 'now'
>

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Judges an order up to its tokens, with one statement (reference: Order of checks at the checkout). An order that has ended is
 * answered first: its tokens are spent by then, and its merchant or its dates may have changed. @throws 400
 */
export async function openCheckout(deps: CheckoutDeps, request: OrderRequest): Promise<OpenOrder | EndedOrder> {
  const { order, repeat } = request
  const number = openToken(deps.seals.tokens, order.card.number, 'pcn')
  const code = openToken(deps.seals.tokens, order.card.code, 'pcsc')
  const digest = 'token' in number ? orderDigest(order, number.token.jti) : undefined
  const progress = digest && readHints(deps.seals.hints, digest, order.hints)
  const checkout = UUID.test(order.integration.key)
    ? await findCheckout(deps.lanes, {
        merchantKey: order.integration.key,
        currency: order.amount?.currency ?? null,
        rateAgeDaysMax: deps.rateAgeDaysMax,
        digest: digest ?? null,
        sessionId: progress?.sessionId ?? null,
        jtis: [number, code].flatMap((opened) => ('token' in opened ? [opened.token.jti] : [])),
        repeat,
      })
    : undefined
  if (!checkout) throw integrationKeyUnknown()
  request.onMerchant?.(checkout.payee.id)
  const { payee, session, repeated, spent, instrumentId } = checkout
  judgeRequest(deps, request, payee)
  if (repeated === 'mismatch') throw requestInvalid({ message: 'Idempotency-Key was used with another body' })
  const network = schemeOf('token' in number ? number.token.value : '', payee)
  const end = repeated ?? session?.end
  if (end) {
    const bound = digest && progress?.sessionId ? { digest, sessionId: progress.sessionId } : undefined
    return { end, network, replayed: repeated !== undefined, bound }
  }
  judgeOrder(deps, order, checkout)
  const use = { now: deps.now(), spent }
  const tokens = { number: takeToken(number, 'card.number', use), code: takeToken(code, 'card.code', use) }
  const changes = payee.test ? scenarioOfPayment(tokens.number.value, order.test ?? {}) : {}
  return {
    ...{ order, payee, tokens, network, changes, scenario: completeScenario(changes), instrumentId, session },
    money: moneyOf(order, payee.currency),
    digest: digest ?? orderDigest(order, tokens.number.jti),
    done: session ? (progress?.done ?? new Set()) : new Set(),
  }
}

/** What an order is, and how it came: the same each time that it is sent. */
function judgeRequest({ requireTls }: CheckoutDeps, { order, isSecure }: OrderRequest, { test }: Payee): void {
  if (test !== (order.test !== undefined)) {
    throw testModeMixed({ message: test ? 'test is required for a test merchant' : 'test is not for a live merchant' })
  }
  if (requireTls && !test && !isSecure) throw cardDataInsecure()
}

/** What may have changed since the order was first sent: the merchant's permission, dates, rates. */
function judgeOrder({ acquirers, posUrl }: CheckoutDeps, order: Order, { payee, rate }: Checkout): void {
  const hasAcquirer = payee.test || acquirers.names.includes(payee.acquirer ?? '')
  if (!payee.canChargeCard || !hasAcquirer) throw integrationDisabled()
  const problem = orderProblem(order, payee.now) ?? (rate === null ? 'amount.currency has no exchange rate' : undefined)
  if (problem !== undefined) throw requestInvalid({ message: problem })
  if (!mayReturn(order.returnUrl, payee, posUrl)) throw requestInvalid({ message: OTHER_SITE })
  if (rate === 'stale') throw rateUnavailable()
}

const OTHER_SITE = "returnUrl must be on the site of the merchant's website"

/** A live merchant's customers are led nowhere but to its site, or back to our own page of payment links. */
function mayReturn(returnUrl: string | undefined, { test, website }: Payee, posUrl: string): boolean {
  if (returnUrl === undefined || test) return true
  return sharesSite(returnUrl, website) || new URL(returnUrl).origin === new URL(posUrl).origin
}

function takeToken(
  opened: OpenedToken,
  path: string,
  { now, spent }: { readonly now: Date; readonly spent: readonly string[] },
): CardToken {
  const details = { path }
  if ('flaw' in opened) throw opened.flaw === 'invalid' ? tokenInvalid({ details }) : tokenTypeUnexpected({ details })
  const { token } = opened
  if (token.expires <= now || spent.includes(token.jti)) throw tokenInvalid({ details })
  return token
}
