import type { OperatorDeps } from '../deps.ts'
import { eachMerchant } from '../merchants/each-merchant.ts'
import { lockOldSeals, updateSeal } from '../vault/rotation-repository.ts'

type RotationDeps = Pick<OperatorDeps, 'database' | 'vault'>

/**
 * Seals every card number with the first key, batch by batch: what is done stays done when it breaks off, and several may
 * run at once. Afterwards the other keys can be taken out of the settings.
 * @throws UnsealError for a number whose key is not among them
 */
export async function rotateVault(deps: RotationDeps): Promise<number> {
  let rotated = 0
  for await (const merchantId of eachMerchant(deps.database.db)) {
    for (let batch = 1; batch > 0; rotated += batch) batch = await rotateBatch(deps, merchantId)
  }
  return rotated
}

function rotateBatch({ database, vault }: RotationDeps, merchantId: string): Promise<number> {
  return database.db.transaction().execute(async (trx) => {
    const seals = await lockOldSeals(trx, merchantId, vault.keyId)
    for (const { id, sealed } of seals) {
      const place = { merchantId, instrumentId: id }
      await updateSeal(trx, merchantId, id, vault.seal(vault.open(sealed, place, 'rotation'), place))
    }
    return seals.length
  })
}
