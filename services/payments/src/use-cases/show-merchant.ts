import type { Pools } from '@trestle/database/pools.ts'
import { refuseMissing } from '../access/require-access.ts'
import type { PaymentsConfig } from '../config.ts'
import type { AppMember, UserMember } from '../members/member.ts'
import { listMembersOfMerchant } from '../members/member-repository.ts'
import {
  findHeldBack,
  findMerchantForOperator,
  type MerchantForOperator,
} from '../merchants/operator-merchant-repository.ts'
import type { Webhook } from '../webhooks/webhook.ts'
import { listShownWebhooks } from '../webhooks/webhook-repository.ts'

/** A merchant with all details for an operator. Amounts are minor units of its currency. */
export interface ShownMerchant extends MerchantForOperator {
  /** The amount that a payout would have now. */
  readonly available: number
  /** The amount that open disputes would take if they were lost. */
  readonly reserve: number
  readonly apps: readonly AppMember[]
  readonly users: readonly UserMember[]
  readonly webhooks: readonly Webhook[]
}

/** Returns a merchant with its amounts and members, for an operator. @throws notFound */
export async function showMerchant(
  { operatorPools, config }: { readonly config: Pick<PaymentsConfig, 'payouts'>; readonly operatorPools: Pools },
  merchantId: string,
): Promise<ShownMerchant> {
  const found = (await findMerchantForOperator(operatorPools, merchantId)) ?? refuseMissing()
  const delayDays = config.payouts.delayDays[found.merchant.test ? 'test' : 'live']
  const [{ reserve, notYetDue }, members, webhooks] = await Promise.all([
    findHeldBack(operatorPools, { merchantId, delayDays }),
    listMembersOfMerchant(operatorPools, merchantId),
    listShownWebhooks(operatorPools, merchantId),
  ])
  const balance = Number(found.merchant.balance)
  const available = Math.min(balance, balance - reserve - notYetDue)
  return { ...found, ...members, available, reserve, webhooks }
}
