import type { Transaction } from 'kysely'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import type { Factor } from '../factors/factor.ts'
import { deleteFactor, listFactors } from '../factors/factor-repository.ts'
import { isEnrolled } from '../factors/factor-switches.ts'

/**
 * Removes a factor of a user, who is locked. Recovery codes go with the last factor that they stand in for: alone they would
 * be a second factor that nobody has at hand.
 */
export async function dropFactor(
  trx: Transaction<AuthDatabase>,
  { now }: Pick<AuthDeps, 'now'>,
  { userId, factor }: { readonly userId: string; readonly factor: Factor },
): Promise<void> {
  await deleteFactor(trx, factor, now())
  const left = (await listFactors(trx, userId)).filter(({ status }) => status === 'verified')
  if (left.some(isEnrolled)) return
  for (const recoveryCodes of left) await deleteFactor(trx, recoveryCodes, now())
}
