import { isDatabaseUnavailable, isMovingRows } from '@trestle/database/unavailable.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type Problem, requireAccess } from '../access/require-access.ts'
import type { AuthorizationOutcome } from '../acquirers/acquirer.ts'
import { completeScenario } from '../cards/scenario.ts'
import type { PaymentsDeps } from '../deps.ts'
import { currencyWithoutRate } from '../errors.ts'
import { beginOnceFree } from '../transactions/begin-once-free.ts'
import {
  type Attempt,
  type BegunCharge,
  type Charge,
  type ChargeEnd,
  callBeginCharge,
  callFinishCharge,
} from '../transactions/charge-repository.ts'
import { finishOnceBack } from '../transactions/finish-once-back.ts'
import { processingErrorOf, UNKNOWN_OUTCOME } from '../transactions/processing-error.ts'
import { refuseCard, refuseOldRate, refuseSource } from '../transactions/refuse-charge.ts'

/** A charge of a merchant's client; `asked` is null when the body was refused. */
export interface CreateTransactionInput {
  readonly caller: Caller
  readonly problem: Problem | undefined
  readonly merchantId: string
  readonly asked: AskedCharge | null
}

/** A charge as a client asks for it. */
export interface AskedCharge {
  readonly charge: Charge
  /** The field of the body that has the source, for the error about an unknown source. */
  readonly sourceField: string
}

type ChargeDeps = Pick<PaymentsDeps, 'lanes' | 'acquirers' | 'vault' | 'wait' | 'rateAgeDaysMax'>

/**
 * Charges a card again (reference: Charging again). Writes the attempt, asks the acquirer without holding a lock or a
 * connection, and writes the answer, once the database is back if it is away.
 * @throws paymentRefused with the processing error, unknownSource when the merchant has no such source, currencyWithoutRate when
 * the currency cannot be exchanged, rateUnavailable when the rate is too old for live money, idempotencyKeyUsed when
 * the key was used with another body, conflict while its first request runs, unauthorized, notFound, forbidden, and the error of
 * `problem`
 */
export async function createTransaction(
  deps: ChargeDeps,
  input: CreateTransactionInput,
): Promise<{ readonly transactionId: string; readonly replayed: boolean }> {
  const { end, replayed } = await chargeCard(deps, input)
  if (end.verdict === 'refused') refuseCard(end.errorCode, { replayed })
  return { transactionId: end.transactionId, replayed }
}

/**
 * The same for a caller that needs the failed transaction of a refused card, which the error does not name.
 * @throws unknownSource, currencyWithoutRate, rateUnavailable, idempotencyKeyUsed, conflict, unauthorized, notFound, forbidden, and
 * the error of `problem`
 */
export async function chargeCard(
  deps: ChargeDeps,
  input: CreateTransactionInput,
): Promise<{ readonly end: ChargeEnd; readonly replayed: boolean }> {
  const begun = await beginCharge(deps, input)
  const { verdict, attempt, end, refusal } = requireAccess(input.caller, begun, input.problem)
  const { merchantId, asked } = input
  if (asked === null) throw new Error('a body without values passed')
  if (refusal === 'unknown-source') refuseSource(asked.sourceField)
  if (refusal === 'no-rate') throw currencyWithoutRate()
  if (refusal === 'stale-rate') refuseOldRate()
  const replayed = verdict === 'replayed'
  if (end) return { end, replayed }
  if (!attempt) throw new Error(`begin_charge answered ${verdict} without an attempt`)
  return { end: await makeAttempt(deps, { ...asked.charge, merchantId }, attempt), replayed }
}

function beginCharge(
  { lanes, acquirers, wait, rateAgeDaysMax }: ChargeDeps,
  { caller, merchantId, asked }: CreateTransactionInput,
): Promise<BegunCharge> {
  const charge = asked?.charge ?? null
  const columns = { ...callerColumns(caller), merchantId, charge, acquirers: acquirers.names, rateAgeDaysMax }
  return beginOnceFree({
    begin: () => callBeginCharge(lanes, columns),
    isRunning: ({ verdict }) => verdict === 'key-running',
    wait,
  })
}

type MerchantCharge = Charge & { readonly merchantId: string }

async function makeAttempt(deps: ChargeDeps, charge: MerchantCharge, attempt: Attempt): Promise<ChargeEnd> {
  const outcome = attempt.expired ? EXPIRED : await authorize(deps, charge, attempt)
  const errorCode = errorCodeOf(outcome)
  const columns = {
    merchantId: charge.merchantId,
    attemptId: attempt.id,
    outcome: outcome.verdict,
    errorCode,
    acquirerRef: outcome.verdict === 'approved' ? outcome.ref : null,
  }
  const finished = await finishOnceBack({
    finish: () => callFinishCharge(deps.lanes, columns),
    isSettled: ({ verdict }) => verdict === 'settled',
    isAway: isDatabaseUnavailable,
    isMoving: isMovingRows,
    wait: deps.wait,
  })
  // The answer was so late that a job has called the attempt unknown, which repeats of the request have got.
  if (finished.verdict === 'settled') {
    return { verdict: 'refused', errorCode: processingErrorOf(UNKNOWN_OUTCOME), failedId: undefined }
  }
  const { transactionId } = finished
  return errorCode === null
    ? { verdict: 'charged', transactionId }
    : { verdict: 'refused', errorCode, failedId: transactionId }
}

/** An expired card is refused before the acquirer is asked (reference: Recurring payments). */
const EXPIRED: AuthorizationOutcome = { verdict: 'declined', statusCode: 'PAYMENT_CARD_EXPIRED' }

function authorize(
  { acquirers, vault }: ChargeDeps,
  { merchantId, currency, amount }: MerchantCharge,
  { id, acquirer, descriptor, instrument }: Attempt,
): Promise<AuthorizationOutcome> {
  const place = { merchantId, instrumentId: instrument.id }
  return acquirers.authorize(acquirer, {
    idempotencyRef: id,
    merchantId,
    money: { currency, amount },
    descriptor,
    card: {
      number: () => vault.open(instrument.panSealed, place, 'authorization'),
      code: null,
      expiry: instrument.expiry,
      scheme: instrument.scheme,
    },
    initiator: 'merchant',
    planned: instrument.planned,
    networkRef: instrument.networkRef,
    scenario: completeScenario(instrument.scenario),
  })
}

function errorCodeOf(outcome: AuthorizationOutcome): number | null {
  if (outcome.verdict === 'approved') return null
  return processingErrorOf(outcome.verdict === 'unknown' ? UNKNOWN_OUTCOME : outcome.statusCode)
}
