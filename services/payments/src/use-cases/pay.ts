import { callerColumns, type IdempotentRequest } from '../access/caller.ts'
import { refuseRunning } from '../access/require-access.ts'
import type { AuthorizationOutcome } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import { finishAttempt } from '../acquirers/finish-attempt.ts'
import { cardRefusal } from '../acquirers/simulator.ts'
import { lastDay } from '../cards/card-expiry.ts'
import { visibleDigits } from '../cards/card-number.ts'
import {
  type NextStep,
  nextOf,
  type Step,
  type TdsStatus,
  type TdsVerdict,
  tdsVerdict,
} from '../checkout/authentication.ts'
import { refusalDetails, schemeName } from '../checkout/card-judgement.ts'
import { type Challenge, challengesOf } from '../checkout/challenge.ts'
import { claimTokens, type PaymentEnd, type PaymentOutcome, refuseToken } from '../checkout/checkout-repository.ts'
import {
  type CheckoutDeps,
  type EndedOrder,
  judgeCardOf,
  type OpenOrder,
  type OrderRequest,
  openCheckout,
} from '../checkout/open-checkout.ts'
import { refuseUsedKey, toDescriptor } from '../checkout/order.ts'
import { type BeginPaymentCall, callBeginPayment, callFinishPayment } from '../checkout/payment-repository.ts'
import { updateOfferedStep } from '../checkout/session-repository.ts'
import { orderRefused } from '../errors.ts'
import type { LimitRefusals } from '../rate-limits/card-testing.ts'
import { referenceOf } from '../requests/fields.ts'
import { beginOnceFree } from '../transactions/begin-once-free.ts'
import type { PanVault } from '../vault/pan-vault.ts'

export type PayDeps = CheckoutDeps & {
  readonly acquirers: Acquirers
  readonly vault: PanVault
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly limitRefusals: LimitRefusals
}

/** The challenges that an order must pass before it is paid, or the transaction of the paid order. */
export type PaymentAnswer =
  | { readonly verdict: 'challenged'; readonly challenges: readonly Challenge[] }
  | { readonly verdict: 'paid'; readonly transactionId: string; readonly replayed: boolean }

/**
 * Takes a customer's order one step further. Offers the next challenge or, if none is left, asks the acquirer for the
 * authorization. The same order with the same hints never pays twice (reference: Paying once).
 * @throws orderRefused with the status code of the refusal, rateLimited if too many cards from the address were refused, conflict
 * if another request is making the payment, and the errors of `openCheckout`
 */
export async function pay(deps: PayDeps, request: OrderRequest): Promise<PaymentAnswer> {
  const opened = await openCheckout(deps, request)
  if (opened.verdict === 'ended') return toAnswer(opened)
  const decision = decideOrder(opened)
  if (decision.verdict === 'step') return offerStep(deps, opened, decision.step)
  const authorize = () => authorizePayment(deps, { opened, idempotentRequest: request.idempotentRequest, decision })
  const end = await (opened.payee.test ? authorize() : deps.limitRefusals(request.ip, authorize))
  // 3-D Secure must start again. The card lookup creates a new session.
  if (end.verdict === 'gone') return offerStep(deps, { ...opened, session: undefined }, 'card-lookup')
  return toAnswer({ end, scheme: opened.scheme, replayed: false })
}

/** Whether to ask the acquirer: the authentication is accepted, or the payment is refused with a status code. */
type Decision = TdsVerdict | { readonly verdict: 'refused'; readonly statusCode: string }

/** An order that has passed all challenges, and the decision about it. */
interface DecidedOrder {
  readonly opened: OpenOrder
  readonly idempotentRequest: IdempotentRequest | undefined
  readonly decision: Decision
}

/** Returns the next step of an order: offer a challenge, ask the acquirer, or refuse the order without asking. */
function decideOrder(opened: OpenOrder): Extract<NextStep, { verdict: 'step' }> | Decision {
  const statusCode = judgeCardOf(opened)
  if (statusCode !== undefined) return { verdict: 'refused', statusCode }
  const next = nextOf(opened.session, opened.done)
  switch (next.verdict) {
    case 'step':
      return next
    case 'final':
      return judgeAuthentication(opened, next.status)
  }
}

/** Judges the result of 3-D Secure. For a test merchant, a refusal of the card takes precedence over a refusal by 3-D Secure. */
function judgeAuthentication({ payee, scenario }: OpenOrder, status: TdsStatus): Decision {
  const judged = tdsVerdict(status, payee.tdsMode)
  switch (judged.verdict) {
    case 'accepted':
      return judged
    case 'refused':
      return {
        verdict: 'refused',
        statusCode: (payee.test ? cardRefusal(scenario, 'customer') : undefined) ?? judged.statusCode,
      }
  }
}

async function offerStep({ pools }: PayDeps, { order, payee, session }: OpenOrder, step: Step): Promise<PaymentAnswer> {
  if (session && session.step !== step) {
    await updateOfferedStep(pools, { merchantId: payee.id, id: session.id }, { from: session.step, to: step })
  }
  const polls = session?.enrolment.polls ?? false
  return { verdict: 'challenged', challenges: challengesOf(step, { polls, canReturn: order.returnUrl !== undefined }) }
}

function toAnswer({ end, scheme, replayed }: Omit<EndedOrder, 'verdict' | 'bound'>): PaymentAnswer {
  switch (end.verdict) {
    case 'paid':
      return { verdict: 'paid', transactionId: end.transactionId, replayed }
    case 'refused':
      throw orderRefused(end.statusCode, { replayed, details: refusalDetails(end.statusCode, scheme) })
  }
}

/**
 * Inserts the attempt, asks the acquirer unless the order is already refused, and inserts the transaction. A refused payment has
 * a transaction too (reference: Paying once).
 */
async function authorizePayment(deps: PayDeps, decided: DecidedOrder): Promise<PaymentOutcome> {
  const { payee, tokens } = decided.opened
  await claimTokens(deps.pools, payee.id, tokens)
  const input = toPaymentColumns(deps, decided)
  const begun = await beginOnceFree({
    begin: () => callBeginPayment(deps.pools, input),
    isRunning: ({ verdict }) => verdict === 'running',
    wait: deps.wait,
  })
  switch (begun.verdict) {
    case 'begun':
      return completePayment(deps, decided, begun.attemptId)
    case 'ended':
      return begun.end
    case 'gone':
      return { verdict: 'gone' }
    case 'running':
      return refuseRunning()
    case 'spent':
      return refuseToken('card.number')
    case 'key-mismatch':
      return refuseUsedKey()
  }
}

/** Asks the acquirer without a lock or a connection, then inserts the transaction when the database is available. */
async function completePayment(deps: PayDeps, decided: DecidedOrder, attemptId: string): Promise<PaymentEnd> {
  const { pools, wait } = deps
  const end = await finishAttempt({
    outcome: await askAcquirer(deps, decided, attemptId),
    finish: (columns) => callFinishPayment(pools, { merchantId: decided.opened.payee.id, attemptId, ...columns }),
    wait,
  })
  if (end.verdict === 'approved') return { verdict: 'paid', transactionId: end.transactionId }
  return { verdict: 'refused', statusCode: end.statusCode }
}

function toPaymentColumns({ vault }: PayDeps, { opened, idempotentRequest, decision }: DecidedOrder): BeginPaymentCall {
  const { order, payee, money, tokens, scheme, changes, instrumentId, session } = opened
  const number = tokens.number.value
  const { encrypted, mac, keyId } = vault.encrypt(number, { merchantId: payee.id, instrumentId })
  return {
    ...callerColumns({ keyMac: null, userEmail: null, idempotentRequest }),
    merchantId: payee.id,
    sessionId: session?.id ?? null,
    encryptedPan: encrypted,
    panMac: mac,
    payment: {
      ...money,
      test: payee.test,
      acquirer: payee.test ? null : payee.acquirer,
      descriptor: descriptorOf(opened),
      reference: order.reference ?? referenceOf(order.custom),
      custom: order.custom,
      tds: decision.verdict === 'accepted' ? decision.tds : null,
      plan: order.plan,
      unplanned: order.unplanned,
      tokens: [tokens.number, tokens.code].map(({ jti, expires }) => ({ jti, expires })),
      instrument: {
        ...visibleDigits(number),
        id: instrumentId,
        keyId,
        expiry: lastDay(order.card.expiry),
        scheme: schemeName(scheme),
        scenario: changes,
        planned: order.plan !== undefined,
      },
    },
  }
}

function descriptorOf({ order, payee }: OpenOrder): string {
  return (order.text === undefined ? undefined : toDescriptor(order.text)) ?? payee.descriptor
}

function askAcquirer(
  { acquirers }: PayDeps,
  { opened, decision }: DecidedOrder,
  attemptId: string,
): Promise<AuthorizationOutcome> | AuthorizationOutcome {
  if (decision.verdict === 'refused') return { verdict: 'declined', statusCode: decision.statusCode }
  const { order, payee, money, tokens, scheme, scenario } = opened
  return acquirers.authorize(payee.test ? null : payee.acquirer, {
    idempotencyRef: attemptId,
    merchantId: payee.id,
    money,
    descriptor: descriptorOf(opened),
    scenario,
    card: {
      number: () => tokens.number.value,
      code: () => tokens.code.value,
      expiry: lastDay(order.card.expiry),
      scheme: schemeName(scheme),
    },
    initiator: 'customer',
    planned: order.plan !== undefined,
    networkRef: null,
  })
}
