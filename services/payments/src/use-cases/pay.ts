import { callerColumns, type Repeat } from '../access/caller.ts'
import { refuseRunning } from '../access/require-access.ts'
import type { AuthorizationOutcome } from '../acquirers/acquirer.ts'
import { cardRefusal } from '../acquirers/simulator.ts'
import { lastDay } from '../cards/card-expiry.ts'
import { visibleDigits } from '../cards/card-number.ts'
import { nextOf, tdsVerdict } from '../checkout/authentication.ts'
import { refusalDetails, schemeName } from '../checkout/card-judgement.ts'
import { type Challenge, challengesOf } from '../checkout/challenge.ts'
import type { PaymentEnd } from '../checkout/checkout-repository.ts'
import { claimTokens, refuseToken } from '../checkout/claim-tokens.ts'
import type { Step, TdsStatus } from '../checkout/enrolment.ts'
import {
  type CheckoutDeps,
  type EndedOrder,
  judgeCardOf,
  type OpenOrder,
  type OrderRequest,
  openCheckout,
} from '../checkout/open-checkout.ts'
import { refuseUsedKey, toDescriptor } from '../checkout/order.ts'
import {
  type BeginPaymentColumns,
  type BegunPayment,
  callBeginPayment,
  callFinishPayment,
} from '../checkout/payment-repository.ts'
import { updateOfferedStep } from '../checkout/session-repository.ts'
import type { PaymentsDeps } from '../deps.ts'
import { orderRefused } from '../errors.ts'
import { referenceOf } from '../requests/fields.ts'
import { beginOnceFree } from '../transactions/begin-once-free.ts'
import { processingErrorOf, UNKNOWN_OUTCOME } from '../transactions/processing-error.ts'

/** What `pay` uses of the dependencies. */
export type PayDeps = CheckoutDeps & Pick<PaymentsDeps, 'acquirers' | 'vault' | 'wait' | 'limitRefusals'>

/** What a client is to do next, or the transaction that its order became. */
export type PaymentAnswer =
  | { readonly challenges: readonly Challenge[] }
  | { readonly transactionId: string; readonly replayed: boolean }

/**
 * Takes a customer's order one step further: offers the next challenge or, when none is left, asks for the authorization. The
 * same order and hints never pay twice (reference: Paying once).
 * @throws orderRefused with the status code of the refusal, rateLimited when too many cards of the address were refused, and what
 * `authorizePayment` and `openCheckout` throw
 */
export async function pay(deps: PayDeps, request: OrderRequest): Promise<PaymentAnswer> {
  const opened = await openCheckout(deps, request)
  if ('end' in opened) return toAnswer(opened)
  const refusal = judgeCardOf(opened)
  const next = refusal === undefined ? nextOf(opened.session, opened.done) : { refusal }
  if ('step' in next) return offerStep(deps, opened, next.step)
  const decision = 'status' in next ? judgeAuthentication(opened, next.status) : next
  const authorize = () => authorizePayment(deps, { opened, repeat: request.repeat, decision })
  const end = await (opened.payee.test ? authorize() : deps.limitRefusals(request.ip, authorize))
  if (!end) return offerStep(deps, { ...opened, session: undefined }, 'card-lookup')
  return toAnswer({ end, scheme: opened.scheme, replayed: false, bound: undefined })
}

/** The simulator refuses a card before 3-D Secure refuses the payment. */
function judgeAuthentication({ payee, scenario }: OpenOrder, status: TdsStatus): AuthenticationDecision {
  const verdict = tdsVerdict(status, payee.tdsMode)
  if ('tds' in verdict) return verdict
  return { refusal: (payee.test ? cardRefusal(scenario, 'customer') : undefined) ?? verdict.refusal }
}

async function offerStep({ lanes }: PayDeps, { order, payee, session }: OpenOrder, step: Step): Promise<PaymentAnswer> {
  if (session && session.step !== step) {
    await updateOfferedStep(lanes, { merchantId: payee.id, id: session.id }, { from: session.step, to: step })
  }
  const polls = session?.enrolment.polls ?? false
  return { challenges: challengesOf(step, { polls, canReturn: order.returnUrl !== undefined }) }
}

function toAnswer({ end, scheme, replayed }: EndedOrder): PaymentAnswer {
  if ('transactionId' in end) return { transactionId: end.transactionId, replayed }
  throw orderRefused(end.statusCode, { replayed, details: refusalDetails(end.statusCode, scheme) })
}

/** How 3-D Secure marks the transaction, or the status code of its refusal. */
type AuthenticationDecision = { readonly tds: 'full' | 'attempt' | null } | { readonly refusal: string }

/** An order without further steps: an acquirer is asked about its card, unless it is refused already. */
interface DecidedOrder {
  readonly opened: OpenOrder
  readonly repeat: Repeat | undefined
  readonly decision: AuthenticationDecision
}

/**
 * Writes the attempt, asks the acquirer unless the order is refused already, and writes the transaction. A refused payment has a
 * transaction too (reference: Paying once). Undefined when the session has just ended.
 * @throws conflict while another request asks the acquirer, orderKeyUsed when the Idempotency-Key was used with another body,
 * tokenInvalid when a token is spent, or another merchant was the first to use it
 */
async function authorizePayment(deps: PayDeps, decided: DecidedOrder): Promise<PaymentEnd | undefined> {
  const { payee, tokens } = decided.opened
  await claimTokens(deps.lanes, payee.id, tokens)
  const input = toPaymentColumns(deps, decided)
  const begun = await beginOnceFree({
    begin: () => callBeginPayment(deps.lanes, input),
    isRunning: (attempted) => 'refusal' in attempted && attempted.refusal === 'running',
    wait: deps.wait,
  })
  if ('end' in begun) return begun.end
  if ('refusal' in begun) return refuseBegin(begun.refusal)
  const outcome = await askAcquirer(deps, decided, begun.attemptId)
  const statusCode = toStatusCode(outcome)
  const transactionId = await callFinishPayment(deps.lanes, {
    merchantId: payee.id,
    attemptId: begun.attemptId,
    outcome: outcome.verdict,
    statusCode,
    errorCode: statusCode === null ? null : processingErrorOf(statusCode),
    acquirerRef: outcome.verdict === 'approved' ? outcome.ref : null,
    networkRef: outcome.verdict === 'approved' ? outcome.networkRef : null,
  })
  // The answer was so late that another process has called the attempt unknown. An approval is then reversed.
  if (transactionId === undefined) return { statusCode: UNKNOWN_OUTCOME }
  return statusCode === null ? { transactionId } : { statusCode }
}

function refuseBegin(refusal: Extract<BegunPayment, { refusal: string }>['refusal']): undefined {
  if (refusal === 'running') refuseRunning()
  if (refusal === 'spent') refuseToken('card.number')
  if (refusal === 'key-mismatch') refuseUsedKey()
}

function toPaymentColumns({ vault }: PayDeps, { opened, repeat, decision }: DecidedOrder): BeginPaymentColumns {
  const { order, payee, money, tokens, scheme, changes, instrumentId, session } = opened
  const number = tokens.number.value
  const { sealed, mac, keyId } = vault.seal(number, { merchantId: payee.id, instrumentId })
  return {
    ...callerColumns({ keyMac: null, userEmail: null, repeat }),
    merchantId: payee.id,
    sessionId: session?.id ?? null,
    panSealed: sealed,
    panMac: mac,
    payment: {
      ...money,
      test: payee.test,
      acquirer: payee.test ? null : payee.acquirer,
      descriptor: descriptorOf(opened),
      reference: order.reference ?? referenceOf(order.custom),
      custom: order.custom,
      tds: 'tds' in decision ? decision.tds : null,
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
  if ('refusal' in decision) return { verdict: 'declined', statusCode: decision.refusal }
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

function toStatusCode(outcome: AuthorizationOutcome): string | null {
  if (outcome.verdict === 'approved') return null
  return outcome.verdict === 'unknown' ? UNKNOWN_OUTCOME : outcome.statusCode
}
