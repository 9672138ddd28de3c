import type { KeyObject } from 'node:crypto'
import type { Metrics } from '@trestle/common/telemetry/metrics.ts'
import type { Pools } from '@trestle/database/pools.ts'
import type { Caller } from '../access/caller.ts'
import { valid } from '../access/require-access.ts'
import type { Acquirers } from '../acquirers/acquirers.ts'
import { findMemberKey } from '../apps/app-key-repository.ts'
import type { PaymentsConfig } from '../config.ts'
import type { Db } from '../database.ts'
import { DEFAULT_REASON } from '../disputes/dispute.ts'
import { callRevokeMember } from '../members/member-repository.ts'
import { type Merchant, TEST_MERCHANT, tagOf } from '../merchants/merchant.ts'
import { findMerchant, listAllMerchants } from '../merchants/operator-merchant-repository.ts'
import { currencyExponent } from '../money/currencies.ts'
import { callNewId, insertSeedTransaction } from '../seed/seed-transaction-repository.ts'
import type { OperationGroup } from '../transactions/operation-group.ts'
import type { OperationKind } from '../transactions/transaction.ts'
import type { PanVault } from '../vault/pan-vault.ts'
import type { EventType } from '../webhooks/event.ts'
import { addApp } from './add-app.ts'
import { addFraud } from './add-fraud.ts'
import { advanceClock } from './advance-clock.ts'
import { closeDispute } from './close-dispute.ts'
import { createApp } from './create-app.ts'
import { type CreateTransactionInput, chargeCard, createTransaction } from './create-transaction.ts'
import { openDispute } from './open-dispute.ts'
import { createMerchantForOperator } from './operator/create-merchant.ts'
import { payOut } from './pay-out.ts'
import { runOperation } from './run-operation.ts'
import { encryptSeed } from './seed.ts'
import { updateMerchant } from './update-merchant.ts'

// Scenarios for operators who test a webhook (`payments trigger`). They call other use cases in sequence, so that each event has
// the same causes as events of clients.

type TriggerDeps = {
  readonly acquirers: Acquirers
  readonly db: Db
  readonly generateApiKey: () => string
  readonly pools: Pools
  readonly meter: Metrics['meter']
  readonly operations: OperationGroup
  readonly pepper: KeyObject
  readonly vault: PanVault
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>
} & { readonly config: Pick<PaymentsConfig, 'dayLimits' | 'payouts' | 'pricing'> }

/** A test merchant, and a caller that acts as one of its apps. */
interface Actor {
  readonly deps: TriggerDeps
  readonly merchant: Merchant
  readonly tag: string
  readonly caller: Caller
}

/** Makes an event happen. @returns the id of the object that the event is about */
type Trigger = (actor: Actor) => Promise<string>

/**
 * The function that causes each event. Some events are missing. `transaction.rejected` comes only from the acquirer of a live
 * merchant. Events of users would send mails. A payout cannot fail, because payouts of test merchants are settled immediately. A
 * webhook is disabled only after days.
 */
const TRIGGERS = {
  'transaction.created': (actor) => charge(actor),
  'transaction.failed': chargeRefusedCard,
  'transaction.captured': chargeAndCapture,
  'transaction.refunded': async (actor) => operate(actor, 'refund', await chargeAndCapture(actor)),
  'transaction.voided': async (actor) => operate(actor, 'void', await charge(actor)),
  'dispute.opened': captureAndDispute,
  'dispute.won': async (actor) => endDispute(actor, await captureAndDispute(actor), 'won'),
  'dispute.lost': async (actor) => endDispute(actor, await captureAndDispute(actor), 'lost'),
  'fraud.created': captureAndAddFraud,
  'payout.created': captureAndPayOut,
  'payout.settled': captureAndPayOut,
  'merchant.updated': renameMerchant,
  'app.added': addNewApp,
  'app.revoked': addAndRevokeApp,
} as const satisfies Partial<Record<EventType, Trigger>>

export type TriggeredType = keyof typeof TRIGGERS

/** The events that can be triggered, in the order in which commands list them. */
export const TRIGGERED_TYPES = Object.keys(TRIGGERS).filter(isTriggered)

/**
 * Makes an event happen at a test merchant, by the same use cases as requests. The events before it happen too, such as the
 * capture before a dispute.
 * @throws Error if the merchant does not exist, is live or has no app that could act, or if the card that must be refused is
 * accepted; and the errors of the use cases
 */
export async function triggerEvent(
  deps: TriggerDeps,
  {
    type,
    merchantId,
  }: {
    readonly type: TriggeredType
    /** The test merchant. If `undefined`, the newest test merchant, or a new one if none exists. */
    readonly merchantId: string | undefined
  },
): Promise<{ readonly merchantId: string; readonly objectId: string }> {
  const merchant = await findTestMerchant(deps, merchantId)
  const keyMac = await findMemberKey(deps.db, merchant.id)
  if (!keyMac) throw new Error(`merchant ${merchant.id} has no app with a good key`)
  const caller = { keyMac, userEmail: null, idempotentRequest: undefined }
  const actor = { deps, merchant, tag: tagOf(merchant.id), caller }
  return { merchantId: merchant.id, objectId: await TRIGGERS[type](actor) }
}

export function isTriggered(text: string): text is TriggeredType {
  return Object.hasOwn(TRIGGERS, text)
}

async function findTestMerchant(deps: TriggerDeps, id: string | undefined): Promise<Merchant> {
  const { db } = deps
  if (id !== undefined) {
    const found = await findMerchant(db, id)
    if (!found) throw new Error(`there is no merchant ${id}`)
    if (!found.merchant.test) throw new Error(`merchant ${id} is live: events are triggered for test merchants`)
    return found.merchant
  }
  const [newest] = await listAllMerchants(db, { test: true, search: undefined, before: undefined, limit: 1 })
  if (newest) return newest.merchant
  const values = { ...TEST_MERCHANT, test: true, companyNumber: null, holder: null }
  return (await createMerchantForOperator(deps, { merchant: values, appId: undefined })).merchant
}

const GOOD_CARD = '1000000000000000'
/** A card that is authorized for its customer, but refused for lack of money later (reference: Test numbers). */
const REFUSED_LATER = '1000000000090007'
/** The charged amount in major units, without the minimum payout that is added to it. */
const CHARGED_MAJOR_UNITS = 100

function amountOf({ deps, merchant }: Actor): number {
  return (
    (CHARGED_MAJOR_UNITS + deps.config.payouts.minimumMajorUnits) * 10 ** (currencyExponent(merchant.currency) ?? 0)
  )
}

/** Charges a card again. Resolves to the id of the transaction. */
async function charge(actor: Actor): Promise<string> {
  const input = await toChargeInput(actor, GOOD_CARD)
  return (await createTransaction(actor.deps, input)).transactionId
}

/** Charges a card that is refused. Resolves to the id of the failed transaction. */
async function chargeRefusedCard(actor: Actor): Promise<string> {
  const input = await toChargeInput(actor, REFUSED_LATER)
  const { end } = await chargeCard(actor.deps, input)
  if (end.verdict === 'refused' && end.failedId !== undefined) return end.failedId
  throw new Error(`the card ${REFUSED_LATER} was not refused`)
}

/** A charge needs an earlier payment of its card. The payment is seeded, so that it causes no event. */
async function toChargeInput(actor: Actor, number: string): Promise<CreateTransactionInput> {
  const { merchant, caller } = actor
  const transactionId = await seedPayment(actor, number)
  const charge = { transactionId, currency: merchant.currency, amount: amountOf(actor) }
  return { caller, merchantId: merchant.id, charge: valid({ charge, sourceField: 'transactionId' }) }
}

async function seedPayment({ deps, merchant, tag }: Actor, number: string): Promise<string> {
  const { db } = deps
  const place = { tag, test: true }
  const [id, instrumentId] = [await callNewId(db, place), await callNewId(db, place)]
  const card = { number, expiry: { month: 12, year: EXPIRY_YEAR } }
  const payment = { id, merchantId: merchant.id, currency: merchant.currency, amount: 1, card }
  await insertSeedTransaction(db, encryptSeed(deps, payment, { test: true, instrumentId }))
  return id
}

/** A year that is in the future even for a merchant whose test clock is ahead. */
const EXPIRY_YEAR = 2_099

async function operate(actor: Actor, kind: OperationKind, transactionId: string): Promise<string> {
  const { deps, caller } = actor
  await runOperation(deps, { caller, transactionId, kind, operation: valid({ amount: amountOf(actor) }) })
  return transactionId
}

async function chargeAndCapture(actor: Actor): Promise<string> {
  return operate(actor, 'capture', await charge(actor))
}

async function captureAndDispute(actor: Actor): Promise<string> {
  const transactionId = await chargeAndCapture(actor)
  const { caller, deps } = actor
  return (await openDispute(deps, { caller, transactionId, input: valid(DEFAULT_REASON) })).dispute.id
}

async function endDispute({ deps, caller }: Actor, disputeId: string, outcome: 'won' | 'lost'): Promise<string> {
  await closeDispute(deps, { caller, disputeId, input: valid({ outcome }) })
  return disputeId
}

async function captureAndAddFraud(actor: Actor): Promise<string> {
  const transactionId = await chargeAndCapture(actor)
  const { caller, deps } = actor
  const { fraud } = await addFraud(deps, { caller, transactionId, input: valid({}) })
  return fraud.id
}

const DAY_SECONDS = 86_400

/** Moves the test clock forward, because payouts are made once a day and captures wait for some days. */
async function captureAndPayOut(actor: Actor): Promise<string> {
  const { deps, merchant, caller } = actor
  if (merchant.iban === null)
    throw new Error(
      `merchant ${merchant.id} has no IBAN, so nothing is paid out to it: set one by payments merchants bank`,
    )
  await chargeAndCapture(actor)
  const advance = (deps.config.payouts.delayDays.test + 1) * DAY_SECONDS
  await advanceClock(deps, { caller, merchantId: merchant.id, input: valid({ advance }) })
  const { payout } = await payOut(deps, { caller, merchantId: merchant.id, input: valid(undefined) })
  return payout.id
}

/** Changes the name of the merchant and then restores it. */
async function renameMerchant({ deps, merchant, caller }: Actor): Promise<string> {
  const rename = (name: string | null) =>
    updateMerchant(deps, { caller, merchantId: merchant.id, input: valid({ name }), fixed: {} })
  await rename(merchant.name === 'Renamed' ? 'Renamed again' : 'Renamed')
  await rename(merchant.name)
  return merchant.id
}

async function addNewApp({ deps, merchant, caller }: Actor): Promise<string> {
  const { id } = await createApp(deps, { name: 'Triggered' })
  await addApp(deps, { caller, merchantId: merchant.id, input: valid({ appId: id }) })
  return id
}

async function addAndRevokeApp(actor: Actor): Promise<string> {
  const memberId = await addNewApp(actor)
  const { deps, merchant, caller } = actor
  await callRevokeMember(deps.pools, 'app', { caller, merchantId: merchant.id, memberId })
  return memberId
}
