import type { Trx } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { deleteFinishedFlows } from '../flows/flow-repository.ts'
import { deletePendingChanges } from '../one-time-tokens/pending-change-repository.ts'
import { type OperatorAnswer, type OperatorChange, toOperatorAdmin } from '../operators/operator-change.ts'
import { asChange } from '../operators/operator-change-repository.ts'
import { deleteListedSessions } from '../sessions/listed-session-repository.ts'
import { requireListedSession } from '../sessions/session.ts'
import { lockManagedUser } from '../users/user-repository.ts'

/** A user, and which of their sessions end. */
export interface EndSessionsInput {
  readonly change: OperatorChange
  readonly userId: string
  /** Undefined: all of them. */
  readonly sessionId: string | undefined
}

/**
 * Ends one session of a user, or all, for an operator. Their access tokens stay valid until they expire. With all sessions, auth
 * codes and changes of address that wait end too, as at a sign-out: exchanging a code opens a session, and a thief may have asked
 * for the change.
 * @throws userNotFound, listedSessionNotFound, and what `asChange` and the rules of protected users throw
 */
export function endSessionsAsOperator(
  deps: Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now'>,
  { change, userId, sessionId }: EndSessionsInput,
): Promise<OperatorAnswer> {
  const around = asChange<number>(change, (ended) => ({
    status: 200,
    answer: { ended },
    object: { kind: 'user', id: userId },
    changes: { ended, session: sessionId },
  }))
  const admin = toOperatorAdmin(change, deps.config.jwt)
  return deps.db.transaction().execute((trx) =>
    around(trx, deps, async () => {
      const user = await lockManagedUser(trx, { userId, audience: undefined }, admin)
      const ended = await deleteListedSessions(trx, user.id, sessionId)
      if (sessionId === undefined) await endFlows(trx, user.id)
      else requireListedSession(ended)
      return ended
    }),
  )
}

async function endFlows(trx: Trx, userId: string): Promise<void> {
  await deleteFinishedFlows(trx, userId)
  await deletePendingChanges(trx, userId)
}
