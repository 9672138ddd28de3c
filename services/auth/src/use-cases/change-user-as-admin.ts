import { hash } from 'node:crypto'
import { transactAgain } from '@trestle/database/again-when-lost.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { type AuditDeps, adminTraits, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Db, Trx } from '../database.ts'
import { callEndSessionWork } from '../flows/flow-repository.ts'
import { listIdentities, updateDeletedIdentity, updateIdentityData } from '../identities/identity-repository.ts'
import {
  deleteAnonymousChanges,
  deleteTokensOfKinds,
  deleteTokensOfUser,
} from '../one-time-tokens/one-time-token-repository.ts'
import { hashNewPassword, type NewPasswordRules } from '../passwords/hash-new-password.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { passwordHashAtUpdate } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/fields.ts'
import { type Admin, endSessionsByAdmin } from '../sessions/admin.ts'
import type { AdminUser } from '../users/admin-user-request.ts'
import { claimIdentifier, refuseTakenForAdmin, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import { confirmedMetadata, requireOwnConsoleRole } from '../users/metadata.ts'
import { getProfile, type Profile } from '../users/profile-repository.ts'
import { readWantedPhone } from '../users/require-phone.ts'
import { CLEARED_VALUES, changedColumns, requireUser, type User } from '../users/user.ts'
import {
  deleteAddressChange,
  deleteBelongings,
  deleteUser,
  passwordChange,
  rememberChosen,
  setOwnIdentity,
  updateBan,
  updateUser,
} from '../users/user-change-repository.ts'
import { lockManagedUser, type ManagedUser } from '../users/user-repository.ts'

interface ChangeUserAsAdminInput extends ManagedUser {
  readonly admin: Admin
  readonly wanted: AdminUser
  readonly ip: string
}

/** Changes a user. Address changes take effect immediately, without a mail (reference: Users made and changed by admins). */
export async function changeUserAsAdmin<Answer>(
  deps: AuditDeps &
    NewPasswordRules & {
      readonly config: AuthConfig
      readonly db: Db
      readonly names: Names
      readonly passwords: PasswordHasher
    },
  input: ChangeUserAsAdminInput,
  runWork: RunWork<Profile, Answer>,
): Promise<Answer> {
  const { admin, ip } = input
  const wanted = await readWantedPhone(deps, input.wanted)
  if (wanted.passwordHash !== undefined) throw passwordHashAtUpdate()
  const passwordHash = wanted.password === undefined ? undefined : await hashNewPassword(deps, wanted.password)
  return withUniqueIdentifiers(deps, refuseTakenForAdmin, (trx) =>
    runWork(trx, deps, async () => {
      const named = await lockManagedUser(trx, input, admin)
      const user = requireUser(named.deletedAt === null ? named : undefined)
      const change = { user, wanted, passwordHash, at: deps.now() }
      const updated = await updateAccount(trx, deps.config, change)
      await rememberChosen(trx, user.id, wanted.userMetadata)
      if (wanted.banMs !== undefined) await ban(trx, user, wanted.banMs)
      await updateIdentifiers(trx, deps.config, updated, change)
      await endSessions(trx, deps, change, { admin, ip })
      const changed = await getProfile(trx, user.id)
      const traits = adminTraits(changed.user)
      await recordAudit(trx, deps, { action: 'user_modified', actor: admin.actor, target: user, ip, traits })
      return changed
    }),
  )
}

/** A ban ends no session. It ends the flows that sessions have started, so that they cannot be finished later. */
async function ban(trx: Trx, { id }: User, banMs: number): Promise<void> {
  await updateBan(trx, id, banMs)
  if (banMs > 0) await callEndSessionWork(trx, id, { scope: 'all' })
}

interface AdminChange {
  /** The locked user before the change. */
  readonly user: User
  readonly wanted: AdminUser
  readonly passwordHash: string | undefined
  readonly at: Date
}

/** Changes everything except the addresses and the ban. */
function updateAccount(trx: Trx, config: AuthConfig, change: AdminChange): Promise<User> {
  const { user, wanted, passwordHash, at } = change
  const appMetadata = wanted.appMetadata && requireOwnConsoleRole(wanted.appMetadata, user.consoleRole)
  const values = changedColumns(config, user, { ...wanted, appMetadata })
  const confirmsEmail = wanted.emailConfirm && (wanted.email ?? user.email) !== null
  return updateUser(trx, user.id, {
    updated_at: at,
    keep_unconfirmed: true,
    ...(wanted.audience === undefined || config.compatibility.ignoreNewAudience ? {} : { aud: wanted.audience }),
    ...(wanted.role === undefined ? {} : { role: wanted.role }),
    ...values,
    ...(confirmsEmail && {
      raw_user_meta_data: confirmedMetadata(config, values.raw_user_meta_data ?? user.userMetadata, 'email'),
    }),
    ...(passwordHash === undefined ? {} : passwordChange(config, passwordHash)),
  })
}

async function updateIdentifiers(
  trx: Trx,
  config: Pick<AuthConfig, 'compatibility'>,
  updated: User,
  { wanted, at }: AdminChange,
): Promise<void> {
  const staysConfirmed = config.compatibility.keepConfirmationOfChangedAddress
  const email = { kind: 'email', value: wanted.email, isConfirmed: wanted.emailConfirm, staysConfirmed, at } as const
  const phone = { kind: 'phone', value: wanted.phone, isConfirmed: wanted.phoneConfirm, staysConfirmed, at } as const
  const withEmail = await updateIdentifier(trx, updated, email)
  await deleteAnonymousChanges(trx, config, updated, await updateIdentifier(trx, withEmail, phone))
}

interface IdentifierChange {
  readonly kind: IdentifierKind
  /** `undefined` to keep the address. */
  readonly value: string | undefined
  /** Whether the admin confirms the address. */
  readonly isConfirmed: boolean
  /** Whether a new address inherits the confirmation of the old one. */
  readonly staysConfirmed: boolean
  readonly at: Date
}

/** Replaces an address, confirms it, or both. */
async function updateIdentifier(trx: Trx, user: User, change: IdentifierChange): Promise<User> {
  const { kind, value, isConfirmed } = change
  if (value !== undefined && value !== user[kind]) return replaceIdentifier(trx, user, { ...change, value })
  return isConfirmed && user[kind] !== null ? confirmIdentifier(trx, user, change) : user
}

async function replaceIdentifier(
  trx: Trx,
  user: User,
  { kind, value, isConfirmed, staysConfirmed, at }: IdentifierChange & { readonly value: string },
): Promise<User> {
  const identifier = { kind, value }
  await claimIdentifier(trx, identifier, { userId: user.id, refuse: refuseTakenForAdmin })
  // A message to the old address must not confirm the new address.
  await deleteTokensOfUser(trx, user.id)
  await deleteAddressChange(trx, user.id, kind)
  // The confirmation of the old address proves nothing about the new one, but the admin may confirm the new one.
  const keptConfirmation = staysConfirmed ? confirmedAtOf(user, kind) : null
  const changed = await updateUser(trx, user.id, {
    updated_at: at,
    [kind]: value,
    // supabase/auth cannot read NULL here. Write out the names, because TypeScript does not check values of computed names.
    ...(kind === 'email' ? { email_change: '', email_change_confirm_status: 0 } : { phone_change: '' }),
    [`${kind}_confirmed_at`]: isConfirmed ? at : keptConfirmation,
    ...(isConfirmed && { is_anonymous: false }),
  })
  return setOwnIdentity(trx, changed, { identifier, isVerified: isConfirmed, at })
}

async function confirmIdentifier(trx: Trx, user: User, { kind, at }: IdentifierChange): Promise<User> {
  await updateIdentityData(trx, { userId: user.id, provider: kind }, { [`${kind}_verified`]: true }, at)
  return updateUser(trx, user.id, {
    updated_at: at,
    [`${kind}_confirmed_at`]: confirmedAtOf(user, kind) ?? at,
    is_anonymous: false,
  })
}

function confirmedAtOf(user: User, kind: IdentifierKind): User['emailConfirmedAt'] {
  return kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
}

/** Their access tokens have the former role, or an attacker may have them. */
async function endSessions(
  trx: Trx,
  deps: AuditDeps,
  { user, wanted, passwordHash }: AdminChange,
  { admin, ip }: Pick<ChangeUserAsAdminInput, 'admin' | 'ip'>,
): Promise<void> {
  const changesRole = wanted.role !== undefined && wanted.role !== user.role
  if (!changesRole && passwordHash === undefined) return
  await endSessionsByAdmin(trx, deps, { admin, user, ip })
  if (passwordHash === undefined) return
  // A pending link must not undo the change. Only links of an invitation or a sign-up stay valid.
  await deleteTokensOfKinds(trx, user.id, ['recovery', 'reauthentication'])
}

export interface DeleteUserAsAdminInput extends ManagedUser {
  readonly admin: Admin
  /** `soft` keeps the row without identifying data. `hard` removes the row. */
  readonly manner: 'soft' | 'hard'
  readonly ip: string
}

/** Deletes a user (reference: Deletion). */
export async function deleteUserAsAdmin<Answer>(
  deps: AuditDeps & { readonly db: Db },
  { admin, manner, ip, ...managed }: DeleteUserAsAdminInput,
  runWork: RunWork<void, Answer>,
): Promise<Answer> {
  return transactAgain(deps.db, (trx) =>
    runWork(trx, deps, async () => {
      const user = await lockManagedUser(trx, managed, admin)
      if (manner === 'hard') await deleteUser(trx, user.id)
      else if (user.deletedAt !== null) return
      else await anonymiseUser(trx, user, deps.now())
      const traits = adminTraits(user)
      await recordAudit(trx, deps, { action: 'user_deleted', actor: admin.actor, target: user, ip, traits })
    }),
  )
}

async function anonymiseUser(trx: Trx, user: User, at: Date): Promise<void> {
  const { id } = user
  await deleteBelongings(trx, id)
  for (const identity of await listIdentities(trx, id)) {
    await updateDeletedIdentity(trx, { id: identity.id, providerId: hashAddress(id, identity.providerId) }, at)
  }
  await updateUser(trx, id, {
    email: hashAddress(id, user.email),
    phone: hashPhone(id, user.phone),
    email_change: hashAddress(id, user.emailChange) ?? '',
    phone_change: hashPhone(id, user.phoneChange) ?? '',
    encrypted_password: null,
    raw_app_meta_data: {},
    ...CLEARED_VALUES,
    deleted_at: at,
    updated_at: at,
  })
}

const PHONE_LENGTH = 15

/**
 * Hashes an address or a provider's subject of a deleted user whose row stays. The hash reveals nothing and frees the address for
 * other users (reference: Deletion). `null` stays `null`.
 */
function hashAddress(userId: string, value: string): string
function hashAddress(userId: string, value: string | null): string | null
function hashAddress(userId: string, value: string | null): string | null {
  return value === null ? null : hash('sha256', `${userId}${value}`, 'base64url')
}

function hashPhone(userId: string, value: string | null): string | null {
  return hashAddress(userId, value)?.slice(0, PHONE_LENGTH) ?? null
}
