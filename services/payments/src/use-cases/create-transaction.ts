import type { Pools } from '@trestle/database/pools.ts'
import { type Caller, callerColumns } from '../access/caller.ts'
import { type RequestInput, requireOutcome, valuesOrNull } from '../access/require-access.ts'
import type { Judged } from '../access/verdict.ts'
import type { AuthorizationOutcome } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import { finishAttempt } from '../acquirers/finish-attempt.ts'
import { completeScenario } from '../cards/scenario.ts'
import type { PaymentsConfig } from '../config.ts'
import { beginOnceFree } from '../transactions/begin-once-free.ts'
import {
  type Attempt,
  type BegunCharge,
  type Charge,
  type ChargeEnd,
  callBeginCharge,
  callFinishCharge,
} from '../transactions/charge-repository.ts'
import { processingErrorOf } from '../transactions/processing-error.ts'
import { refuseCard, refuseCurrency, refuseOldRate, refuseSource } from '../transactions/refuse-entry.ts'
import type { PanVault } from '../vault/pan-vault.ts'

export interface CreateTransactionInput {
  readonly caller: Caller
  readonly merchantId: string
  readonly charge: RequestInput<ChargeValues>
}

export interface ChargeValues {
  readonly charge: Charge
  /** The field of the body that contains the source, for the error about an unknown source. */
  readonly sourceField: string
}

type ChargeDeps = {
  readonly pools: Pools
  readonly acquirers: Acquirers
  readonly vault: PanVault
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>
} & {
  readonly config: Pick<PaymentsConfig, 'dayLimits'>
}

/**
 * Charges a card again (reference: Charging again). Stores the attempt, asks the acquirer without holding a lock or a connection,
 * and stores the answer. If the database is unavailable, retries storing the answer until the database is back.
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
 * Charges a card again like `createTransaction`. If the card is refused, returns the failed transaction, which the error of
 * `createTransaction` does not name.
 */
export async function chargeCard(
  deps: ChargeDeps,
  input: CreateTransactionInput,
): Promise<{ readonly end: ChargeEnd; readonly replayed: boolean }> {
  const begun = await beginCharge(deps, input)
  const { outcome, values, replayed } = requireOutcome(input.caller, begun, input.charge)
  switch (outcome.verdict) {
    case 'begun': {
      const charge = { ...values.charge, merchantId: input.merchantId }
      return { end: await completeCharge(deps, charge, outcome.attempt), replayed }
    }
    case 'ended':
      return { end: outcome.end, replayed }
    case 'unknown-source':
      return refuseSource(values.sourceField)
    case 'no-rate':
      return refuseCurrency()
    case 'stale-rate':
      return refuseOldRate()
  }
}

function beginCharge(
  { config, pools, acquirers, wait }: ChargeDeps,
  { caller, merchantId, charge }: CreateTransactionInput,
): Promise<Judged<BegunCharge>> {
  const columns = {
    ...callerColumns(caller),
    merchantId,
    charge: valuesOrNull(charge)?.charge ?? null,
    acquirers: acquirers.names,
    rateAgeDaysMax: config.dayLimits.rateAgeDaysMax,
  }
  return beginOnceFree({
    begin: () => callBeginCharge(pools, columns),
    isRunning: ({ verdict }) => verdict === 'key-running',
    wait,
  })
}

type MerchantCharge = Charge & { readonly merchantId: string }

async function completeCharge(deps: ChargeDeps, charge: MerchantCharge, attempt: Attempt): Promise<ChargeEnd> {
  const end = await finishAttempt({
    outcome: attempt.expired ? EXPIRED : await authorize(deps, charge, attempt),
    finish: (columns) =>
      callFinishCharge(deps.pools, { merchantId: charge.merchantId, attemptId: attempt.id, ...columns }),
    wait: deps.wait,
  })
  if (end.verdict === 'approved') return { verdict: 'charged', transactionId: end.transactionId }
  return { verdict: 'refused', errorCode: processingErrorOf(end.statusCode), failedId: end.failedId }
}

/** The outcome for an expired card. The service refuses it before it asks the acquirer (reference: Recurring payments). */
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
      number: () => vault.decrypt(instrument.encryptedPan, place, 'authorization'),
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
