import type { Names } from '@trestle/migrations/migration.ts'
import { type AuditDeps, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { foreignAudience } from '../errors.ts'
import { requireManualLinking } from '../external-accounts/sign-in.ts'
import { emailConflict, identityNotFound, singleIdentity } from '../external-errors.ts'
import { emailCandidates, type Identity, isVerified } from '../identities/identity.ts'
import { deleteIdentity, listIdentities } from '../identities/identity-repository.ts'
import { type NotifyDeps, notify } from '../messages/mail-job.ts'
import { deleteTokensOfUser } from '../one-time-tokens/one-time-token-repository.ts'
import { lockCaller, requireIdentityOwner, requireShownFactor } from '../sessions/active-caller.ts'
import { callerAudience, type TokenUser } from '../sessions/token-user.ts'
import { isTaken, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import type { User } from '../users/user.ts'
import { updateProviders, updateUser, upsertAddressChange } from '../users/user-change-repository.ts'

type UnlinkIdentityDeps = AuditDeps &
  NotifyDeps & { readonly config: AuthConfig; readonly db: Db; readonly names: Names }

/** Unlinks one of the caller's identities, except the last (reference: Unlinking). */
export async function unlinkIdentity(
  deps: UnlinkIdentityDeps,
  {
    caller,
    identityId,
    audience,
    ip,
  }: {
    readonly caller: TokenUser
    readonly identityId: string
    /** The audience in the request, or `undefined` if there is none. */
    readonly audience: string | undefined
    readonly ip: string
  },
): Promise<void> {
  const { jwt } = deps.config
  requireManualLinking(deps.config)
  if (!caller.audiences.includes(callerAudience(caller, audience, jwt.audience))) throw foreignAudience()
  await withUniqueIdentifiers(deps, refuseConflict, async (trx) => {
    const active = await lockCaller(trx, deps, caller)
    await requireIdentityOwner(trx, deps, active)
    const { user } = active
    const identities = await listIdentities(trx, user.id)
    if (identities.length < 2) throw singleIdentity()
    const unlinked = identities.find(({ id }) => id === identityId)
    if (!unlinked) throw identityNotFound()
    const left = identities.filter((identity) => identity !== unlinked)
    const takesAddress = unlinked.provider === 'phone' || emailCandidates(user.email, left) !== undefined
    if (takesAddress) await requireShownFactor(trx, active)
    await deleteIdentity(trx, unlinked.id)
    const current =
      unlinked.provider === 'phone' ? await removePhone(trx, deps, user) : await replaceEmail(trx, deps, user, left)
    await updateProviders(trx, current)
    const { provider, providerId: provider_id } = unlinked
    // Mail the previous address, because the account may have another email now.
    await notify(trx, deps, user, { name: 'IDENTITY_UNLINKED', variables: { Provider: provider } })
    const traits = { identity_id: identityId, provider, provider_id }
    await recordAudit(trx, deps, { action: 'identity_unlinked', actor: user, ip, traits })
  })
}

async function removePhone(trx: Trx, { now }: Pick<UnlinkIdentityDeps, 'now'>, user: User): Promise<User> {
  await deleteTokensOfUser(trx, user.id)
  return updateUser(trx, user.id, { phone: null, phone_confirmed_at: null, phone_change: '', updated_at: now() })
}

/**
 * Replaces the user's email if it came from the unlinked identity. The user gets the email of another identity, which must be
 * verified, because access tokens present it as the user's own. If no other identity has an email, the user has none. Refuses to
 * unlink if all other emails are taken or unverified. Also refuses if the user has confirmed the email, because a stolen session
 * could otherwise remove it. Such an email needs an email change.
 */
async function replaceEmail(
  trx: Trx,
  { config, now }: Pick<UnlinkIdentityDeps, 'config' | 'now'>,
  user: User,
  left: readonly Identity[],
): Promise<User> {
  const candidates = emailCandidates(user.email, left)
  if (!candidates) return updateUser(trx, user.id, { updated_at: now() })
  if (user.emailConfirmedAt !== null) refuseConflict()
  let adopted: (typeof candidates)[number] | undefined
  for (const candidate of candidates) {
    if (!isVerified(candidate) && !config.mail.autoconfirm) continue
    if (await isTaken(trx, { kind: 'email', value: candidate.email }, user.id)) continue
    adopted = candidate
    break
  }
  if (!adopted && candidates.length > 0) refuseConflict()
  await deleteTokensOfUser(trx, user.id)
  await upsertAddressChange(trx, user, { kind: 'email', at: now() })
  return updateUser(trx, user.id, {
    email: adopted?.email ?? null,
    email_confirmed_at: adopted ? now() : null,
    email_change: '',
    email_change_confirm_status: 0,
    updated_at: now(),
  })
}

/** Refuses to unlink an identity if the user would have no email of their own afterwards. */
function refuseConflict(): never {
  throw emailConflict()
}
