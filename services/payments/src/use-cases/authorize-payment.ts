import { callerColumns, type Repeat } from '../access/caller.ts'
import type { AuthorizationOutcome } from '../acquirers/acquirer.ts'
import { referenceOf } from '../bodies/fields.ts'
import { lastDay } from '../cards/card-expiry.ts'
import { visibleDigits } from '../cards/card-number.ts'
import type { PaymentsDeps } from '../deps.ts'
import { conflict, requestInvalid, tokenInvalid } from '../errors.ts'
import { schemeName } from '../payments/card-judgement.ts'
import type { PaymentEnd } from '../payments/checkout-repository.ts'
import { toDescriptor } from '../payments/order.ts'
import {
  type BeginInput,
  type BegunPayment,
  callBeginPayment,
  callFinishPayment,
} from '../payments/payment-repository.ts'
import { processingErrorOf } from '../processing/status-code.ts'
import { claimTokens } from './claim-tokens.ts'
import type { OpenOrder } from './open-checkout.ts'

export type AuthorizeDeps = Pick<PaymentsDeps, 'lanes' | 'acquirers' | 'vault' | 'wait'>

/** An order that goes no further: its card is to be asked about, or has been refused. */
export interface DecidedOrder {
  readonly opened: OpenOrder
  readonly repeat: Repeat | undefined
  /** How the transaction is to be marked, or the status code of its refusal. */
  readonly decision: { readonly tds: 'full' | 'attempt' | null } | { readonly refusal: string }
}

const POLL_MS = 250
const POLLS = 20
/** The status code of a payment whose outcome nobody knows yet. */
const UNKNOWN_OUTCOME = 'PAYMENT_METHOD_ERROR'

/**
 * Writes down the attempt, asks the acquirer unless the order is refused already, and writes down the transaction, refused ones
 * too (reference: Paying once). Undefined when the session has just ended.
 * @throws 400 when another merchant was the first to use a token
 */
export async function authorizePayment(deps: AuthorizeDeps, decided: DecidedOrder): Promise<PaymentEnd | undefined> {
  await claimTokens(deps, decided.opened)
  const begun = await beginOnceFree(deps, toBeginInput(deps, decided))
  if ('end' in begun) return begun.end
  if ('refusal' in begun) return refuseBegin(begun.refusal)
  const outcome = await askFor(deps, decided, begun.attemptId)
  const statusCode = statusCodeOf(outcome)
  const transactionId = await callFinishPayment(deps.lanes, {
    merchantId: decided.opened.payee.id,
    attemptId: begun.attemptId,
    outcome: outcome.verdict,
    statusCode,
    errorCode: statusCode === null ? null : processingErrorOf(statusCode),
    acquirerRef: outcome.verdict === 'approved' ? outcome.ref : null,
    networkRef: outcome.verdict === 'approved' ? outcome.networkRef : null,
  })
  // Another has called it unknown, so late it was: an approval is then reversed.
  if (transactionId === undefined) return { statusCode: UNKNOWN_OUTCOME }
  return statusCode === null ? { transactionId } : { statusCode }
}

/** Another request may be asking the acquirer for the same session: its end is waited for, within 5 s. */
async function beginOnceFree({ lanes, wait }: AuthorizeDeps, input: BeginInput): Promise<BegunPayment> {
  let begun = await callBeginPayment(lanes, input)
  for (let polls = 0; 'refusal' in begun && begun.refusal === 'running' && polls < POLLS; polls++) {
    await wait(POLL_MS)
    begun = await callBeginPayment(lanes, input)
  }
  return begun
}

function refuseBegin(refusal: Extract<BegunPayment, { refusal: string }>['refusal']): undefined {
  if (refusal === 'running') throw conflict()
  if (refusal === 'spent') throw tokenInvalid({ details: { path: 'card.number' } })
  if (refusal === 'key-mismatch') throw requestInvalid({ message: 'Idempotency-Key was used with another body' })
}

function toBeginInput({ vault }: AuthorizeDeps, { opened, repeat, decision }: DecidedOrder): BeginInput {
  const { order, payee, money, tokens, network, changes, instrumentId, session } = opened
  const number = tokens.number.value
  const { sealed, mac, keyId } = vault.seal(number, { merchantId: payee.id, instrumentId })
  return {
    ...callerColumns({ keyMac: null, person: null, repeat }),
    merchantId: payee.id,
    sessionId: session?.id ?? null,
    panSealed: sealed,
    panMac: mac,
    payment: {
      ...{ test: payee.test, acquirer: payee.test ? null : payee.acquirer, ...money },
      descriptor: descriptorOf(opened),
      reference: order.reference ?? referenceOf(order.custom),
      custom: order.custom,
      tds: 'tds' in decision ? decision.tds : null,
      plan: order.plan,
      unplanned: order.unplanned,
      tokens: [tokens.number, tokens.code].map(({ jti, expires }) => ({ jti, expires })),
      instrument: {
        ...{ id: instrumentId, keyId, ...visibleDigits(number), expiry: lastDay(order.card.expiry) },
        ...{ scheme: schemeName(network), scenario: changes, planned: order.plan !== undefined },
      },
    },
  }
}

function descriptorOf({ order, payee }: OpenOrder): string {
  return (order.text === undefined ? undefined : toDescriptor(order.text)) ?? payee.descriptor
}

function askFor(
  { acquirers }: AuthorizeDeps,
  { opened, decision }: DecidedOrder,
  attemptId: string,
): Promise<AuthorizationOutcome> | AuthorizationOutcome {
  if ('refusal' in decision) return { verdict: 'declined', statusCode: decision.refusal }
  const { order, payee, money, tokens, network, scenario } = opened
  return acquirers.authorize(payee.test ? null : payee.acquirer, {
    ...{ idempotencyRef: attemptId, merchantId: payee.id, money, descriptor: descriptorOf(opened), scenario },
    card: {
      number: () => tokens.number.value,
      code: () => tokens.code.value,
      expiry: lastDay(order.card.expiry),
      scheme: schemeName(network),
    },
    ...{ initiator: 'customer', planned: order.plan !== undefined, networkRef: null },
  })
}

function statusCodeOf(outcome: AuthorizationOutcome): string | null {
  if (outcome.verdict === 'approved') return null
  return outcome.verdict === 'unknown' ? UNKNOWN_OUTCOME : outcome.statusCode
}
