import { transactAgain } from '@trestle/database/again-when-lost.ts'
import { type AuditDeps, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { Db } from '../database.ts'
import { sinceInFuture } from '../errors.ts'
import { listFactorsSince, unenrolLockedFactor } from '../factors/recovery-code-repository.ts'
import { callEndSessionWork } from '../flows/flow-repository.ts'
import { type NotifyDeps, notify, toMailTime } from '../messages/mail-job.ts'
import { deletePasskeysSince } from '../passkeys/passkey-repository.ts'
import type { Admin } from '../sessions/admin.ts'
import { deleteSessionsSince } from '../sessions/listed-session-repository.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

/** A user whose account an attacker may have used since a time. */
export interface SecureUserInput extends ManagedUser {
  readonly admin: Admin
  readonly since: Date
  readonly ip: string
}

/** The numbers of ended sessions, passkeys and factors. Recovery codes count as a factor. */
export interface SecuredUser {
  readonly sessions: number
  readonly passkeys: number
  readonly factors: number
}

/**
 * Ends a user's sessions, passkeys, factors and recovery codes since a time, and the flows of all sessions. The user is notified
 * (reference: Securing an account).
 */
export async function secureUser<Answer>(
  deps: AuditDeps & NotifyDeps & { readonly db: Db },
  { admin, since, ip, ...managed }: SecureUserInput,
  runWork: RunWork<SecuredUser, Answer>,
): Promise<Answer> {
  if (since.getTime() > deps.now().getTime()) throw sinceInFuture()
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      const user = await lockManagedUser(trx, managed, admin)
      const entry = { actor: admin.actor, target: user, ip }
      const passkeys = await deletePasskeysSince(trx, user.id, since)
      for (const passkeyId of passkeys) {
        const traits = { user_id: user.id, passkey_id: passkeyId }
        await recordAudit(trx, deps, { action: 'passkey_deleted', ...entry, traits })
      }
      const factors = await listFactorsSince(trx, user.id, since)
      for (const factor of factors) {
        await unenrolLockedFactor(trx, deps, { userId: user.id, factor })
        const traits = { user_id: user.id, factor_id: factor.id }
        await recordAudit(trx, deps, { action: 'factor_deleted', ...entry, traits })
      }
      const sessions = await deleteSessionsSince(trx, user.id, since)
      await callEndSessionWork(trx, user.id, { scope: 'all' })
      await notify(trx, deps, user, { name: 'ACCOUNT_SECURED', variables: { Since: toMailTime(since) } })
      return { sessions, passkeys: passkeys.length, factors: factors.length }
    }),
  )
}
