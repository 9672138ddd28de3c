import { violates } from '@trestle/database/violations.ts'
import type { Names } from '@trestle/migrations/migration.ts'
import { adminTraits, type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { AuthConfig } from '../config.ts'
import type { Trx } from '../database.ts'
import { userIdTaken } from '../errors.ts'
import { ownIdentityData } from '../identities/identity.ts'
import { insertIdentity } from '../identities/identity-repository.ts'
import { type HookedDeps, type Repeatable, runHooked } from '../messages/hooked-transaction.ts'
import { hashNewPassword, type NewPasswordRules } from '../passwords/hash-new-password.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { requireShortPassword } from '../passwords/password-policy.ts'
import { hashOfUnknownPassword, requireAcceptedHash } from '../passwords/stored-hash.ts'
import { addressMissingForUser, passwordWithHash } from '../request-errors.ts'
import type { IdentifierKind } from '../requests/fields.ts'
import type { RequestContext } from '../requests/request-context.ts'
import type { Admin } from '../sessions/admin.ts'
import { mailInvitation } from '../sign-ups/insert-own-user.ts'
import type { AdminUser } from '../users/admin-user-request.ts'
import { claimIdentifier, refuseTakenForAdmin, withUniqueIdentifiers } from '../users/claim-identifier.ts'
import { confirmedMetadata, requireOwnConsoleRole } from '../users/metadata.ts'
import { getProfile, type Profile } from '../users/profile-repository.ts'
import { readWantedPhone } from '../users/require-phone.ts'
import { changedColumns, type User } from '../users/user.ts'
import { chosenNames, insertUser, updateBan } from '../users/user-change-repository.ts'

type CreateUserDeps = HookedDeps &
  NewPasswordRules & { readonly config: AuthConfig; readonly names: Names; readonly passwords: PasswordHasher }

/** A user that an admin wants to create, normalized. */
export interface CreateUserInput {
  readonly admin: Admin
  /** The id from the request. If `undefined`, one is generated. */
  readonly id: string | undefined
  readonly wanted: AdminUser
  readonly context: RequestContext
}

/** Creates a user. Switches of providers and DISABLE_SIGNUP do not apply (reference: Users made and changed by admins). */
export async function createUser<Answer>(
  deps: CreateUserDeps,
  input: CreateUserInput,
  runWork: RunWork<Profile, Answer>,
): Promise<Answer> {
  const wanted = await readWantedPhone(deps, input.wanted)
  if (!wanted.email && !wanted.phone) throw addressMissingForUser()
  const passwordHash = await hashWantedPassword(deps, wanted)
  try {
    return await runHooked(
      deps,
      (trx, repeatable) =>
        runWork(trx, repeatable, () => insertWantedUser(trx, repeatable, { ...input, wanted, passwordHash })),
      (work) => withUniqueIdentifiers(deps, refuseTakenForAdmin, work),
    )
  } catch (error) {
    throw violates(error, deps.names, 'users_pkey') ? userIdTaken() : error
  }
}

/** Returns the hash of the password. Without a password, hashes a random one. */
async function hashWantedPassword(
  deps: Pick<CreateUserDeps, 'config' | 'logger' | 'randomBytes' | 'passwords' | 'outbound'>,
  { password, passwordHash }: AdminUser,
): Promise<string> {
  if (passwordHash !== undefined) {
    if (password) throw passwordWithHash()
    return requireAcceptedHash(passwordHash)
  }
  if (password === undefined) return hashOfUnknownPassword(deps.randomBytes, deps.config.passwords.algorithm)
  if (deps.config.passwords.policyBindsAdmins) return hashNewPassword(deps, password)
  requireShortPassword(password)
  return deps.passwords.hash(password)
}

async function insertWantedUser(
  trx: Trx,
  deps: Repeatable<CreateUserDeps>,
  { admin, id, wanted, context, passwordHash }: CreateUserInput & { readonly passwordHash: string },
): Promise<Profile> {
  const kinds = (['email', 'phone'] as const).filter((kind) => wanted[kind] !== undefined)
  for (const kind of kinds) {
    await claimIdentifier(trx, { kind, value: wanted[kind] ?? '' }, { userId: undefined, refuse: refuseTakenForAdmin })
  }
  const at = deps.now()
  const { email } = wanted
  const isInvited = email !== undefined && !wanted.emailConfirm && deps.config.compatibility.inviteCreatedUsers
  const user = await insertUser(trx, {
    ...(id === undefined ? {} : { id }),
    aud: wanted.audience ?? context.audience,
    encrypted_password: passwordHash,
    invited_at: isInvited ? at : null,
    confirmation_sent_at: isInvited ? at : null,
    ...rowOfWanted(deps.config, wanted, { kinds, at }),
  })
  if (wanted.banMs !== undefined) await updateBan(trx, user.id, wanted.banMs)
  for (const [order, kind] of kinds.entries()) {
    // Each identity gets a different time, because identities are listed by creation time.
    await insertOwnIdentity(trx, user, { kind, wanted, at: new Date(at.getTime() + order) })
  }
  const provider = deps.config.compatibility.auditProviderOfNewUser ? { provider: kinds[0] } : {}
  const traits = { ...adminTraits(user), ...provider }
  await recordAudit(trx, deps, { action: 'user_signedup', actor: admin.actor, target: user, ip: context.ip, traits })
  // No mail limit applies, because it counts only mails that users request.
  if (isInvited) await mailInvitation(trx, deps, { user, email, context })
  return getProfile(trx, user.id)
}

/** Returns the columns that the admin's request determines. */
function rowOfWanted(
  config: CreateUserDeps['config'],
  wanted: AdminUser,
  { kinds, at }: { readonly kinds: readonly IdentifierKind[]; readonly at: Date },
) {
  const values = changedColumns(
    config,
    { userMetadata: {}, appMetadata: { provider: kinds[0], providers: kinds } },
    {
      ...wanted,
      userMetadata: wanted.userMetadata ?? {},
      appMetadata: requireOwnConsoleRole(wanted.appMetadata ?? {}, null),
    },
  )
  const { email, phone } = wanted
  return {
    role: wanted.role ?? config.jwt.defaultRole,
    email: email ?? null,
    phone: phone ?? null,
    email_confirmed_at: email !== undefined && wanted.emailConfirm ? at : null,
    phone_confirmed_at: phone !== undefined && wanted.phoneConfirm ? at : null,
    keep_unconfirmed: true,
    claimed_at: at,
    chosen_metadata: chosenNames(wanted.userMetadata),
    ...values,
    ...(wanted.emailConfirm &&
      email !== undefined && {
        raw_user_meta_data: confirmedMetadata(config, values.raw_user_meta_data ?? {}, 'email'),
      }),
    created_at: at,
    updated_at: at,
  }
}

async function insertOwnIdentity(
  trx: Trx,
  { id }: User,
  { kind, wanted, at }: { readonly kind: IdentifierKind; readonly wanted: AdminUser; readonly at: Date },
): Promise<void> {
  const isVerified = kind === 'email' ? wanted.emailConfirm : wanted.phoneConfirm
  await insertIdentity(trx, {
    user_id: id,
    provider: kind,
    provider_id: id,
    identity_data: {
      ...ownIdentityData(kind, { userId: id, value: wanted[kind] ?? '' }, {}),
      [`${kind}_verified`]: isVerified,
    },
    created_at: at,
    updated_at: at,
  })
}
