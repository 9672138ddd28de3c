import type { Outcome } from '@trestle/jobs/jobs.ts'
import type { ProcessDeps } from '../deps.ts'
import { callExpireAuthorizations } from '../expiry/expiry-repository.ts'
import { EXPIRY_CRON, expiryTask } from '../expiry/expiry-task.ts'
import { forEachMerchant } from '../merchants/each-merchant.ts'

type ExpiryDeps = Pick<ProcessDeps, 'db' | 'lanes' | 'jobs' | 'logger' | 'authorizationExpiryDays'>

/** So few that nobody waits long for the merchant's lock. */
const BATCH = 100

/** Lets authorizations expire, where the settings say so. */
export async function workOnExpiry(deps: ExpiryDeps): Promise<void> {
  await deps.jobs.work(expiryTask, () => expireAll(deps))
  if (deps.authorizationExpiryDays > 0) await deps.jobs.schedule(expiryTask, EXPIRY_CRON)
}

/** Lets authorizations of all merchants expire. */
export async function expireAll(deps: Omit<ExpiryDeps, 'jobs'>): Promise<Outcome> {
  await forEachMerchant(deps, (merchantId) => expireAuthorizations(deps, { merchantId }))
  return 'done'
}

/**
 * Voids what is left of a merchant's expired authorizations, all of them or those of so many batches. A transaction is looked at
 * once, and again only when some of it becomes pending again (reference: Expiry of authorizations).
 */
export async function expireAuthorizations(
  { lanes, authorizationExpiryDays: days }: Pick<ExpiryDeps, 'lanes' | 'authorizationExpiryDays'>,
  { merchantId, batches = Number.POSITIVE_INFINITY }: { readonly merchantId: string; readonly batches?: number },
): Promise<void> {
  if (days === 0) return
  for (let batch = 0; batch < batches; batch++) {
    const { lookedAt } = await callExpireAuthorizations(lanes, { merchantId, days, limit: BATCH })
    if (lookedAt < BATCH) return
  }
}
