import type { KeyObject } from 'node:crypto'
import type { Pools } from '@trestle/database/pools.ts'
import { valid } from '../../access/require-access.ts'
import { findAppKey } from '../../apps/app-key-repository.ts'
import type { PaymentsConfig } from '../../config.ts'
import type { Db } from '../../database.ts'
import type { Merchant, NewMerchant } from '../../merchants/merchant.ts'
import { insertOperatorAudit } from '../../operators/operator-audit-repository.ts'
import { createApp } from '../create-app.ts'
import { createMerchant } from '../create-merchant.ts'

/** The merchant and its first member. `key` is present only if the app is new. */
export interface CreatedMerchant {
  readonly merchant: Merchant
  readonly app: { readonly id: string; readonly key?: string }
}

type CreateDeps = {
  readonly db: Db
  readonly pools: Pools
  readonly pepper: KeyObject
  readonly generateApiKey: () => string
} & {
  readonly config: Pick<PaymentsConfig, 'pricing'>
}

/**
 * Creates a merchant like `POST /merchants`, and records that an operator did it.
 * @throws Error if no app has the id or the app has no good key
 */
export async function createMerchantForOperator(
  deps: CreateDeps,
  {
    merchant: values,
    appId,
  }: {
    readonly merchant: Omit<NewMerchant, 'claim' | 'pricing'>
    /** The app that becomes the first member. If it is `undefined`, a new app is created. */
    readonly appId: string | undefined
  },
): Promise<CreatedMerchant> {
  const { db, pools, config } = deps
  const app = appId === undefined ? await createNamedApp(deps, values.name ?? undefined) : { id: appId }
  const keyMac = await findAppKey(db, app.id)
  if (!keyMac) throw new Error(`there is no app ${app.id} with a good key`)
  const caller = { keyMac, userEmail: null, idempotentRequest: undefined }
  const { merchant } = await createMerchant({ pools, config }, { caller, input: valid(values) })
  const payload = { appId: app.id }
  await insertOperatorAudit(db, { action: 'merchant.created', merchantId: merchant.id, payload })
  return { merchant, app }
}

async function createNamedApp({ pools, pepper, generateApiKey }: CreateDeps, name: string | undefined) {
  const { id, key } = await createApp({ pools, pepper, generateApiKey }, { name })
  return { id, key }
}
