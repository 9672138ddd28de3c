import type { KeyObject } from 'node:crypto'
import { scenarioOfNumber } from '../acquirers/test-object.ts'
import { keyMac } from '../apps/app.ts'
import { findMemberKey } from '../apps/app-key-repository.ts'
import { type CardExpiry, lastDay } from '../cards/card-expiry.ts'
import { schemeOf, visibleDigits } from '../cards/card-number.ts'
import { schemeName } from '../checkout/card-judgement.ts'
import type { PaymentsConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { DEFAULT_CLAIM } from '../merchants/merchant.ts'
import type { SeedFile, SeedTransaction } from '../seed/seed-file.ts'
import {
  findLaterObject,
  getTrailLength,
  insertSeedApp,
  insertSeedMember,
  insertSeedMerchant,
  type SeedObject,
} from '../seed/seed-repository.ts'
import {
  callNewId,
  findSeedMerchant,
  hasTransaction,
  insertSeedTransaction,
  type SeededTransaction,
} from '../seed/seed-transaction-repository.ts'
import type { OperationGroup } from '../transactions/operation-group.ts'
import type { PanVault } from '../vault/pan-vault.ts'

type SeedDeps = {
  readonly db: Db
  readonly pepper: KeyObject
  readonly vault: PanVault
  readonly operations: OperationGroup
} & {
  readonly config: Pick<PaymentsConfig, 'pricing'>
}

/** The numbers of inserted objects and of completed operations. */
export interface SeedReport {
  readonly apps: number
  readonly merchants: number
  readonly transactions: number
  readonly operations: number
}

/**
 * Inserts all objects of a file or none. Then runs the operations as a member of the merchant (reference: Seed files). Existing
 * objects do not change. So a file may be seeded again, for example after an interruption between operations.
 * @throws Error if an object is from the future, if a referenced object does not exist, or if an operation is refused
 */
export async function seed(deps: SeedDeps, file: SeedFile): Promise<SeedReport> {
  const inserted = await deps.db.transaction().execute(async (trx) => {
    // Later ids of a merchant are greater than its greatest id. An id from the future would give all later rows its time.
    const later = await findLaterObject(trx, objectsOf(file))
    if (later) throw new Error(`${later.kind} ${later.id}: its time is still to come`)
    return {
      apps: await countNew(file.apps, (app) => insertSeedApp(trx, app, keyMac(deps.pepper, app.key))),
      merchants: await seedMerchants(trx, deps, file),
      transactions: await countNew(file.transactions, (transaction) => seedTransaction(trx, deps, transaction)),
    }
  })
  let operations = 0
  for (const transaction of file.transactions) operations += await runOperations(deps, transaction)
  return { ...inserted, operations }
}

function objectsOf({ apps, merchants, transactions }: SeedFile): readonly SeedObject[] {
  return [
    ...apps.map(({ id }) => ({ kind: 'app', id }) as const),
    ...merchants.map(({ id }) => ({ kind: 'merchant', id }) as const),
    ...transactions.map(({ id, created }) => ({ kind: 'transaction', id, created }) as const),
  ]
}

function seedMerchants(trx: Trx, { config: { pricing } }: SeedDeps, { merchants }: SeedFile): Promise<number> {
  return countNew(merchants, async (merchant) => {
    const isNew = await insertSeedMerchant(trx, merchant, { claim: DEFAULT_CLAIM, pricing })
    for (const appId of merchant.apps) await insertSeedMember(trx, merchant.id, appId)
    return isNew
  })
}

/** Runs the operations that the trail does not contain yet. */
async function runOperations(
  { db, operations: operationGroup }: SeedDeps,
  transaction: SeedTransaction,
): Promise<number> {
  const { id, merchantId, operations } = transaction
  if (operations.length === 0) return 0
  const memberKey = await findMemberKey(db, merchantId)
  if (!memberKey) throw new Error(`transaction ${id}: merchant ${merchantId} has no app that could operate`)
  const left = operations.slice(await getTrailLength(db, merchantId, id))
  for (const { kind, amount } of left) {
    const operation = {
      keyMac: memberKey,
      userEmail: null,
      idempotentRequest: undefined,
      transactionId: id,
      kind,
      amount,
    }
    const { verdict, outcome } = await operationGroup.run(operation)
    if (outcome?.verdict === 'done') continue
    throw new Error(`transaction ${id}: ${kind} of ${amount}: ${outcome?.refusal.reason ?? verdict}`)
  }
  return left.length
}

async function countNew<Item>(items: readonly Item[], insert: (item: Item) => Promise<boolean>): Promise<number> {
  let count = 0
  for (const item of items) if (await insert(item)) count += 1
  return count
}

/** A customer's payment, authorized in full. */
interface SeedPayment {
  readonly id: string
  readonly merchantId: string
  readonly currency: string
  /** Minor units. */
  readonly amount: number
  readonly card: { readonly number: string; readonly expiry: CardExpiry }
  /** A timestamp of RFC 3339. `undefined` for the time in the id. */
  readonly created?: string | undefined
}

/**
 * Inserts a transaction of a test merchant, like a customer's payment. Resolves to `false` if the transaction exists.
 * @throws Error if the merchant does not exist, or if it is live, because its acquirer does not know the transaction
 */
async function seedTransaction(trx: Trx, deps: Pick<SeedDeps, 'vault'>, payment: SeedPayment): Promise<boolean> {
  const { id, merchantId } = payment
  const merchant = await findSeedMerchant(trx, merchantId)
  if (!merchant) throw new Error(`transaction ${id}: there is no merchant ${merchantId}`)
  if (await hasTransaction(trx, merchantId, id)) return false
  const seeded = encryptSeed(deps, payment, { ...merchant, instrumentId: await callNewId(trx, merchant) })
  if (!(await insertSeedTransaction(trx, seeded))) throw new Error(`transaction ${id}: merchant ${merchantId} is live`)
  return true
}

/** Returns the stored transaction for a payment, with the card number encrypted. */
export function encryptSeed(
  { vault }: Pick<SeedDeps, 'vault'>,
  { id, merchantId, currency, amount, card: { number, expiry }, created }: SeedPayment,
  { test, instrumentId }: { readonly test: boolean; readonly instrumentId: string },
): SeededTransaction {
  return {
    id,
    merchantId,
    currency,
    amount,
    created,
    instrument: {
      id: instrumentId,
      ...vault.encrypt(number, { merchantId, instrumentId }),
      ...visibleDigits(number),
      expiry: lastDay(expiry),
      scheme: schemeName(schemeOf(number, { test })),
      scenario: test ? scenarioOfNumber(number) : {},
    },
  }
}
