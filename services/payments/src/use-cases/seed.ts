import type { Kysely } from 'kysely'
import { keyMac } from '../apps/app.ts'
import type { PaymentsTables } from '../database.ts'
import type { OperatorDeps } from '../deps.ts'
import { DEFAULT_CLAIM } from '../merchants/merchant.ts'
import type { SeedFile, SeedTransaction } from '../seed/seed-file.ts'
import {
  findMemberKey,
  getTrailLength,
  insertSeedApp,
  insertSeedMember,
  insertSeedMerchant,
} from '../seed/seed-repository.ts'
import { seedTransaction } from './seed-transaction.ts'

type SeedDeps = Pick<OperatorDeps, 'database' | 'pepper' | 'pricing' | 'vault' | 'operations'>

/** How many objects were new, and how many operations were carried out. */
export interface SeedReport {
  readonly apps: number
  readonly merchants: number
  readonly transactions: number
  readonly operations: number
}

/**
 * Inserts what a file lists, all of it or nothing, and then carries out the operations, as a member of the merchant would.
 * What is there already stays as it is, so that a file may be seeded again, also after it broke off between operations.
 * @throws Error for what the file refers to and nobody knows, and for an operation that is refused
 */
export async function seed(deps: SeedDeps, file: SeedFile): Promise<SeedReport> {
  const inserted = await deps.database.db.transaction().execute(async (trx) => ({
    apps: await countNew(file.apps, (app) => insertSeedApp(trx, app, keyMac(deps.pepper, app.key))),
    merchants: await seedMerchants(trx, deps, file),
    transactions: await countNew(file.transactions, (transaction) => seedTransaction(trx, deps, transaction)),
  }))
  let operations = 0
  for (const transaction of file.transactions) operations += await runOperations(deps, transaction)
  return { ...inserted, operations }
}

function seedMerchants(trx: Kysely<PaymentsTables>, { pricing }: SeedDeps, { merchants }: SeedFile): Promise<number> {
  return countNew(merchants, async (merchant) => {
    const isNew = await insertSeedMerchant(trx, merchant, { claim: DEFAULT_CLAIM, pricing })
    for (const appId of merchant.apps) await insertSeedMember(trx, merchant.id, appId)
    return isNew
  })
}

/** Goes on with the operation that the trail does not have yet. */
async function runOperations({ database, operations: queue }: SeedDeps, transaction: SeedTransaction): Promise<number> {
  const { id, merchantId, operations } = transaction
  if (operations.length === 0) return 0
  const keyMac = await findMemberKey(database.db, merchantId)
  if (!keyMac) throw new Error(`transaction ${id}: merchant ${merchantId} has no app that could operate`)
  const left = operations.slice(await getTrailLength(database.db, merchantId, id))
  for (const { kind, amount } of left) {
    const operation = { keyMac, person: null, repeat: undefined, transactionId: id, kind, amount }
    const { verdict, refusal } = await queue.run(operation)
    if (verdict !== 'done' || refusal) {
      throw new Error(`transaction ${id}: ${kind} of ${amount}: ${refusal?.reason ?? verdict}`)
    }
  }
  return left.length
}

async function countNew<Item>(items: readonly Item[], insert: (item: Item) => Promise<boolean>): Promise<number> {
  let count = 0
  for (const item of items) if (await insert(item)) count += 1
  return count
}
