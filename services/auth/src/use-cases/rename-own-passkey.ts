import { recordAudit } from '../audit/audit-log.ts'
import type { AuthDeps } from '../deps.ts'
import { friendlyNameMissing } from '../factor-errors.ts'
import type { Passkey } from '../passkeys/passkey.ts'
import { updatePasskeyName } from '../passkeys/passkey-repository.ts'
import { lockCaller } from '../sessions/active-caller.ts'
import { requirePasskeyOwner } from '../sessions/require-owner.ts'
import type { TokenUser } from '../sessions/token-user.ts'

type RenameOwnPasskeyDeps = Pick<AuthDeps, 'config' | 'db' | 'logger' | 'now'>

/** A passkey and its new name. Only a passkey of the caller is found. */
export interface RenameOwnPasskeyInput {
  readonly caller: TokenUser
  readonly passkeyId: string
  readonly friendlyName: string
  /** The client's address, for the audit log. */
  readonly ip: string
}

/**
 * Renames a passkey of the caller.
 * @throws friendlyNameMissing for an empty name, passkeyNotFound, tokenUserNotFound, userBanned, sessionNotFound,
 * anonymousNotAllowed, passkeysNeedSecondFactor, signInTooOld
 */
export async function renameOwnPasskey(
  deps: RenameOwnPasskeyDeps,
  { caller, passkeyId, friendlyName, ip }: RenameOwnPasskeyInput,
): Promise<Passkey> {
  if (friendlyName === '') throw friendlyNameMissing()
  return deps.db.transaction().execute(async (trx) => {
    const { user, session } = await requirePasskeyOwner(trx, deps, await lockCaller(trx, deps, caller))
    const changes = { friendlyName, now: deps.now() }
    const passkey = await updatePasskeyName(trx, { userId: user.id, passkeyId }, changes)
    const traits = { passkey_id: passkeyId }
    await recordAudit(trx, deps, { action: 'passkey_updated', actor: user, sessionId: session.id, ip, traits })
    return passkey
  })
}
