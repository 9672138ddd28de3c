import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import { callEndSessionWork } from '../flows/session-work-repository.ts'
import { deletePasskeysOfSessions } from '../passkeys/passkey-repository.ts'
import type { User } from '../users/user.ts'
import type { Admin } from './admin.ts'
import { deleteListedSessions } from './listed-session-repository.ts'

/** The admin or operator who ends sessions, and the user who has them, locked. */
export interface EndedByAdmin {
  readonly admin: Admin
  readonly user: Pick<User, 'id'>
  /** Undefined: all sessions of the user. */
  readonly sessionId?: string | undefined
  /** For the audit log. */
  readonly ip: string
}

/**
 * Ends sessions of a user for an admin, with what they have started and the passkeys that they have registered: a thief may have
 * done both (reference: Work of sessions). @returns how many sessions there were
 */
export async function endSessionsByAdmin(
  trx: Trx,
  deps: AuditDeps,
  { admin, user, sessionId, ip }: EndedByAdmin,
): Promise<number> {
  for (const passkeyId of await deletePasskeysOfSessions(trx, user.id, sessionId)) {
    const traits = { user_id: user.id, passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_deleted', actor: admin.actor, target: user, ip, traits })
  }
  const ended = await deleteListedSessions(trx, user.id, sessionId)
  await callEndSessionWork(trx, user.id, sessionId === undefined ? { scope: 'all' } : { scope: 'session', sessionId })
  return ended
}
