import { adminTraits, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { Trx } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { deleteFinishedFlows } from '../flows/flow-repository.ts'
import { updateIdentityData } from '../identities/identity-repository.ts'
import { deleteTokensOfKinds, deleteTokensOfUser } from '../one-time-tokens/one-time-token-repository.ts'
import { deletePendingChanges } from '../one-time-tokens/pending-change-repository.ts'
import { hashNewPassword } from '../passwords/hash-new-password.ts'
import { passwordHashAtUpdate } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/identifier.ts'
import type { Admin } from '../sessions/admin.ts'
import { deleteSessionsOfUser } from '../sessions/session-repository.ts'
import { confirmedMetadata } from '../users/address-metadata.ts'
import type { AdminUser } from '../users/admin-user-request.ts'
import { claimIdentifier, refuseTakenForAdmin, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import { mergeMetadata, requireOwnConsoleRole } from '../users/metadata.ts'
import { setOwnIdentity } from '../users/own-identity.ts'
import { getProfile, type Profile } from '../users/profile-repository.ts'
import { requireUser, type User } from '../users/user.ts'
import { deleteAddressChange, passwordChange, updateBan, updateUser } from '../users/user-change-repository.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

type ChangeUserAsAdminDeps = Pick<AuthDeps, 'config' | 'db' | 'names' | 'logger' | 'now' | 'passwords' | 'outbound'>

/** A user, and the changes that an admin makes. */
export interface ChangeUserAsAdminInput extends ManagedUser {
  readonly admin: Admin
  readonly wanted: AdminUser
  /** The client's address, for the audit log. */
  readonly ip: string
}

/**
 * Changes a user. Addresses change at once and without a mail (reference: Users made and changed by admins).
 * @param runWork runs the work in the transaction, and makes the answer of its result
 * @throws userNotFound, consoleUserProtected, consoleRoleReserved, passwordHashAtUpdate, emailExists, phoneExistsForAdmin,
 * metadataTooLarge, serverBusy, passwordTooLong, weakPassword, serviceUnavailable
 */
export async function changeUserAsAdmin<Answer>(
  deps: ChangeUserAsAdminDeps,
  input: ChangeUserAsAdminInput,
  runWork: RunWork<Profile, Answer>,
): Promise<Answer> {
  const { wanted } = input
  if (wanted.passwordHash !== undefined) throw passwordHashAtUpdate()
  const passwordHash = wanted.password === undefined ? undefined : await hashNewPassword(deps, wanted.password)
  return withUniqueIdentifiers(deps, refuseTakenForAdmin, (trx) =>
    runWork(trx, deps, async () => {
      const named = await lockManagedUser(trx, input, input.admin)
      const user = requireUser(named.deletedAt === null ? named : undefined)
      await storeChanges(trx, deps, { user, wanted, passwordHash })
      const changed = await getProfile(trx, user.id)
      const traits = adminTraits(changed.user)
      const { admin, ip } = input
      await recordAudit(trx, deps, { action: 'user_modified', actor: admin.actor, target: user, ip, traits })
      return changed
    }),
  )
}

interface AdminChange {
  readonly user: User
  readonly wanted: AdminUser
  readonly passwordHash: string | undefined
}

async function storeChanges(
  trx: Trx,
  { now, config }: Pick<AuthDeps, 'now' | 'config'>,
  { user, wanted, passwordHash }: AdminChange,
): Promise<void> {
  const { id } = user
  const at = now()
  const metadata = wanted.userMetadata
    ? mergeMetadata(config, user.userMetadata, wanted.userMetadata)
    : user.userMetadata
  const appMetadata = wanted.appMetadata && requireOwnConsoleRole(wanted.appMetadata, user.consoleRole)
  const confirmsEmail = wanted.emailConfirm && (wanted.email ?? user.email) !== null
  let current = await updateUser(trx, id, {
    updated_at: at,
    keep_unconfirmed: true,
    ...(wanted.audience === undefined || config.behaviours.ignoreNewAudience ? {} : { aud: wanted.audience }),
    ...(wanted.role === undefined ? {} : { role: wanted.role }),
    ...(confirmsEmail
      ? { raw_user_meta_data: confirmedMetadata(config, metadata, 'email') }
      : wanted.userMetadata && { raw_user_meta_data: { ...metadata } }),
    ...(appMetadata && { raw_app_meta_data: mergeMetadata(config, user.appMetadata, appMetadata) }),
    ...(passwordHash === undefined ? {} : passwordChange(config, passwordHash)),
  })
  if (wanted.banMs !== undefined) await updateBan(trx, id, wanted.banMs)
  const staysConfirmed = config.behaviours.keepConfirmationOfChangedAddress
  for (const kind of ['email', 'phone'] as const)
    current = await updateIdentifier(trx, current, { kind, wanted, at, staysConfirmed })
  const changesRole = wanted.role !== undefined && wanted.role !== user.role
  // Earlier access tokens have the former role. Their sessions end, so that the user must sign in again.
  if (!changesRole && passwordHash === undefined) return
  await deleteSessionsOfUser(trx, id)
  await deleteFinishedFlows(trx, id)
  await deletePendingChanges(trx, id)
  if (passwordHash === undefined) return
  // A link on its way must not undo what the admin has done. Only the link of an invitation or a sign-up stays valid.
  await deleteTokensOfKinds(trx, id, ['recovery', 'reauthentication'])
}

interface IdentifierChange {
  readonly kind: IdentifierKind
  readonly wanted: AdminUser
  readonly at: Date
  readonly staysConfirmed: boolean
}

/** Replaces an address, confirms an address, or both. */
async function updateIdentifier(trx: Trx, user: User, change: IdentifierChange): Promise<User> {
  const { kind, wanted, at, staysConfirmed } = change
  const value = wanted[kind]
  const isConfirmed = kind === 'email' ? wanted.emailConfirm : wanted.phoneConfirm
  const confirmedAt = kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
  const permanent = isConfirmed ? { is_anonymous: false } : {}
  if (value === undefined || value === user[kind]) {
    if (!isConfirmed || user[kind] === null) return user
    await updateIdentityData(trx, { userId: user.id, provider: kind }, { [`${kind}_verified`]: true }, at)
    return updateUser(trx, user.id, { updated_at: at, [`${kind}_confirmed_at`]: confirmedAt ?? at, ...permanent })
  }
  const identifier = { kind, value }
  // The confirmation of the old address proves nothing about the new one. The admin may vouch for it.
  const keptConfirmation = staysConfirmed ? confirmedAt : null
  await claimIdentifier(trx, identifier, { userId: user.id, refuse: refuseTakenForAdmin })
  // A message to the old address must not confirm the new one.
  await deleteTokensOfUser(trx, user.id)
  await deleteAddressChange(trx, user.id, kind)
  const changed = await updateUser(trx, user.id, {
    updated_at: at,
    [kind]: value,
    // supabase/auth cannot read NULL here. The names stand in full, because the compiler accepts any value for a computed one.
    ...(kind === 'email' ? { email_change: '', email_change_confirm_status: 0 } : { phone_change: '' }),
    [`${kind}_confirmed_at`]: isConfirmed ? at : keptConfirmation,
    ...permanent,
  })
  return setOwnIdentity(trx, changed, { identifier, isVerified: isConfirmed, at })
}
