import type { Trx } from '../database.ts'
import type { Factor } from './factor.ts'
import { deleteFactor, listFactors } from './factor-repository.ts'
import { isEnrolled } from './factor-switches.ts'

/**
 * Unenrols a factor of a user, who is locked. Recovery codes go with the last other factor: they replace it, and are no factor of
 * their own.
 */
export async function unenrolLockedFactor(
  trx: Trx,
  { now }: { readonly now: () => Date },
  { userId, factor }: { readonly userId: string; readonly factor: Factor },
): Promise<void> {
  await deleteFactor(trx, factor, now())
  const left = (await listFactors(trx, userId)).filter(({ status }) => status === 'verified')
  if (left.some(isEnrolled)) return
  for (const recoveryCodes of left) await deleteFactor(trx, recoveryCodes, now())
}
