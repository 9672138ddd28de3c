import { columnsOfRow } from '@trestle/database/batches/columns.ts'
import type { Pools } from '@trestle/database/pools.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { type CallerColumns, callerRow } from '../access/caller.ts'
import { type Judged, splitVerdict, type Verdict } from '../access/verdict.ts'
import type { ScenarioChanges } from '../cards/scenario.ts'

/** A charge of a card that was charged before. Exactly one of `transactionId` and `cardId` is set. */
export interface Charge {
  readonly transactionId?: string | undefined
  readonly cardId?: string | undefined
  readonly currency: string
  /** In minor units. */
  readonly amount: number
  readonly descriptor?: string | undefined
  readonly custom?: object | undefined
  readonly reference?: string | undefined
}

/** `charge` is `null` if the call only checks access. */
export interface BeginChargeCall extends CallerColumns {
  readonly merchantId: string
  readonly charge: Charge | null
  /** The names of the acquirers that are configured in this process. */
  readonly acquirers: readonly string[]
  /** The number of days after which an exchange rate is too old for live payments. */
  readonly rateAgeDaysMax: number
}

interface BegunChargeRow {
  verdict: Verdict | 'unknown-source' | 'no-rate' | 'stale-rate' | 'refused'
  identity_id: string | null
  transaction_id: string | null
  error_code: number | null
  attempt_id: string | null
  descriptor: string | null
  acquirer: string | null
  expired: boolean | null
  instrument_id: string | null
  pan_sealed: Buffer | null
  expiry: string | null
  scheme: string | null
  scenario: ScenarioChanges | null
  network_ref: string | null
  planned: boolean | null
}

/** An attempt to charge, with the data for the request to the acquirer. */
export interface Attempt {
  readonly id: string
  /** `null` stands for the simulator. */
  readonly acquirer: string | null
  readonly descriptor: string
  readonly expired: boolean
  readonly instrument: {
    readonly id: string
    readonly encryptedPan: Buffer
    /** The last day on which the card is valid, such as `2066-08-31`. */
    readonly expiry: string
    readonly scheme: string | null
    readonly scenario: ScenarioChanges
    readonly networkRef: string | null
    readonly planned: boolean
  }
}

/**
 * The end of a charge: a transaction, or the number of a processing error. `failedId` is the failed transaction. It is
 * `undefined` for an idempotent request.
 */
export type ChargeEnd =
  | { readonly verdict: 'charged'; readonly transactionId: string }
  | { readonly verdict: 'refused'; readonly errorCode: number; readonly failedId: string | undefined }

/**
 * `begun`: the service must ask the acquirer. `ended`: an earlier request has ended the charge, or the merchant may not make it.
 * `unknown-source`: the merchant has no such payment or card. `no-rate`: no exchange rate exists. `stale-rate`: it is too old for
 * live payments.
 */
export type BegunCharge =
  | { readonly verdict: 'begun'; readonly attempt: Attempt }
  | { readonly verdict: 'ended'; readonly end: ChargeEnd }
  | { readonly verdict: 'unknown-source' | 'no-rate' | 'stale-rate' }

const beginQuery = prepare(
  'begin_charge',
  (p: BeginChargeCall) => sql<BegunChargeRow>`
    SELECT f.verdict, f.identity_id, f.transaction_id, f.error_code, f.attempt_id, f.descriptor, f.acquirer, f.expired,
      ${columnsOfRow('(f.instrument)', 'id AS instrument_id, pan_sealed, expiry::text, scheme, scenario, network_ref, planned')}
    FROM ${sql.table('begin_charge')}(${callerRow(p)}, ${p.merchantId}, ${p.charge}, ${p.acquirers}) f`,
)

/** Checks a charge and stores its attempt, before the service asks the acquirer. */
export async function callBeginCharge(pools: Pools, input: BeginChargeCall): Promise<Judged<BegunCharge>> {
  const charge = input.charge && { ...input.charge, rateAgeDaysMax: input.rateAgeDaysMax }
  const row = await pools.write.one(beginQuery, { ...input, charge })
  const [verdict] = splitVerdict(row.verdict, ['unknown-source', 'no-rate', 'stale-rate', 'refused'])
  return { verdict, identityId: row.identity_id, outcome: toBegunCharge(row) }
}

function toBegunCharge(row: BegunChargeRow): BegunCharge | undefined {
  const { verdict } = row
  if (verdict === 'unknown-source' || verdict === 'no-rate' || verdict === 'stale-rate') return { verdict }
  const end = toChargeEnd(row)
  if (end) return { verdict: 'ended', end }
  const attempt = toAttempt(row)
  return attempt && { verdict: 'begun', attempt }
}

/** The attempt of a charge and the columns to set from the acquirer's answer. */
export interface FinishChargeCall {
  readonly merchantId: string
  readonly attemptId: string
  readonly outcome: 'approved' | 'declined' | 'unknown'
  /** The number of the processing error. `null` if the charge is approved. */
  readonly errorCode: number | null
  readonly acquirerRef: string | null
}

const finishQuery = prepare(
  'finish_charge',
  (p: FinishChargeCall) => sql<{ transaction_id: string | null }>`
    SELECT transaction_id FROM ${sql.table('finish_charge')}(
      ${p.merchantId}, ${p.attemptId}, ${p.outcome}, ${p.errorCode}, ${p.acquirerRef}
    )`,
)

/** Writes the transaction of an attempt. Resolves to `undefined` if another process has already marked the attempt as unknown. */
export async function callFinishCharge(pools: Pools, input: FinishChargeCall): Promise<string | undefined> {
  return (await pools.write.one(finishQuery, input)).transaction_id ?? undefined
}

function toAttempt(row: BegunChargeRow): Attempt | undefined {
  const { attempt_id: id, descriptor, instrument_id, pan_sealed, expiry } = row
  if (id === null || descriptor === null || instrument_id === null || pan_sealed === null || expiry === null) {
    return undefined
  }
  return {
    id,
    acquirer: row.acquirer,
    descriptor,
    expired: row.expired ?? false,
    instrument: {
      id: instrument_id,
      encryptedPan: pan_sealed,
      expiry,
      scheme: row.scheme,
      scenario: row.scenario ?? {},
      networkRef: row.network_ref,
      planned: row.planned ?? false,
    },
  }
}

function toChargeEnd({ transaction_id, error_code }: BegunChargeRow): ChargeEnd | undefined {
  if (error_code !== null) return { verdict: 'refused', errorCode: error_code, failedId: undefined }
  return transaction_id === null ? undefined : { verdict: 'charged', transactionId: transaction_id }
}
