import type { Db } from '../database.ts'
import { eachMerchant, lockTenant } from '../merchants/each-merchant.ts'
import type { PanVault } from '../vault/pan-vault.ts'
import {
  lockOldPans,
  lockWebhookSecrets,
  updateEncryptedPan,
  updateWebhookSecrets,
} from '../vault/rotation-repository.ts'
import type { WebhookSecrets } from '../webhooks/webhook-secret.ts'

type RotationDeps = { readonly db: Db; readonly vault: PanVault; readonly webhookSecrets: WebhookSecrets }

/** The numbers of values that a rotation encrypted again. */
export interface Rotated {
  /** The number of card numbers. */
  readonly rotated: number
  /** The number of webhooks with at least one secret that was encrypted again. */
  readonly webhooks: number
}

/**
 * Encrypts every card number and every webhook secret with the first key of `PAYMENTS_VAULT_KEYS`, in batches. If a rotation is
 * interrupted, finished batches remain. Several rotations may run at the same time. After a rotation, the other keys can be
 * removed from the settings.
 * @throws DecryptionError for a value whose key is not in the settings
 */
export async function rotateVault(deps: RotationDeps): Promise<Rotated> {
  let [rotated, webhooks] = [0, 0]
  for await (const merchantId of eachMerchant(deps.db)) {
    for (let batch = 1; batch > 0; rotated += batch) batch = await rotateBatch(deps, merchantId)
    webhooks += await rotateWebhooks(deps, merchantId)
  }
  return { rotated, webhooks }
}

function rotateBatch({ db, vault }: RotationDeps, merchantId: string): Promise<number> {
  return db.transaction().execute(async (trx) => {
    await lockTenant(trx, merchantId)
    const ciphers = await lockOldPans(trx, merchantId, vault.keyId)
    for (const { id, encrypted } of ciphers) {
      const place = { merchantId, instrumentId: id }
      await updateEncryptedPan(trx, merchantId, id, vault.encrypt(vault.decrypt(encrypted, place, 'rotation'), place))
    }
    return ciphers.length
  })
}

function rotateWebhooks({ db, webhookSecrets }: RotationDeps, merchantId: string): Promise<number> {
  const reencrypt = (encrypted: Buffer) =>
    webhookSecrets.encrypt(webhookSecrets.decrypt(encrypted, merchantId), merchantId)
  return db.transaction().execute(async (trx) => {
    await lockTenant(trx, merchantId)
    const webhooks = await lockWebhookSecrets(trx, merchantId)
    const old = webhooks.filter(({ current, previous }) =>
      [current, previous ?? current].some((encrypted) => !webhookSecrets.isCurrent(encrypted, merchantId)),
    )
    for (const { id, current, previous } of old) {
      await updateWebhookSecrets(trx, merchantId, {
        id,
        current: reencrypt(current),
        previous: previous && reencrypt(previous),
      })
    }
    return old.length
  })
}
