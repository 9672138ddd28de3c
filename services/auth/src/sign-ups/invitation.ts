import type { Jobs } from '@trestle/jobs/jobs.ts'
import type { Trx } from '../database.ts'
import { deleteUnverifiedIdentities } from '../identities/external-identity-repository.ts'
import { issueMailToken, type MailToken, type MailTokenDeps } from '../messages/mail-token.ts'
import { deleteTokensOfKinds } from '../one-time-tokens/one-time-token-repository.ts'
import type { RequestContext } from '../requests/request-context.ts'
import { rememberChosen } from '../users/chosen-metadata-repository.ts'
import { getOrCreate, releaseAndLockOwner, requireUnconfirmed } from '../users/claim-identifier.ts'
import { mergeMetadata } from '../users/metadata.ts'
import { setOwnIdentity } from '../users/own-identity.ts'
import { isStaged, type User } from '../users/user.ts'
import { deleteStagedUser, updateUser } from '../users/user-change-repository.ts'
import { isUnclaimed } from '../users/user-repository.ts'
import { insertOwnUser, invitationData, type OwnUserDeps } from './insert-own-user.ts'
import { replaceIdentityData, upsertSignUpContent } from './sign-up-content-repository.ts'

/** A user whom an admin invites. */
export interface InvitedUser {
  /** Normalised. */
  readonly email: string
  readonly data: Readonly<Record<string, unknown>>
  readonly context: RequestContext
}

export interface InvitationMailDeps extends MailTokenDeps {
  readonly jobs: Jobs
}

/**
 * Queues the mail of an invitation, with new secrets. They have a row of their own, so no sign-up or request of a stranger takes
 * the place of an invitation.
 */
export async function mailInvitation(
  trx: Trx,
  deps: InvitationMailDeps,
  message: Pick<InvitedUser, 'email' | 'context'> & Pick<MailToken, 'messageId'> & { readonly user: User },
): Promise<void> {
  await issueMailToken(trx, deps, {
    ...message,
    tokenKind: 'invitation',
    mailKind: 'INVITE',
    linkType: 'invite',
    linkPath: deps.config.mail.linkPaths.invite,
    flow: { method: 'invite', pkce: undefined },
  })
}

/**
 * Gets the unconfirmed user of an invitation and locks them, or creates one. The invitation replaces what a
 * stranger may have left in the account: metadata of a sign-up that the owner has not asked for, and the
 * password and the unverified identities at providers of an account that nobody has claimed.
 * @throws emailExists, metadataTooLarge, and what `getOrCreate` throws
 */
export function getOrCreateInvited(trx: Trx, deps: OwnUserDeps, invitation: InvitedUser): Promise<User> {
  return getOrCreate(async () => (await inviteOnce(trx, deps, invitation)) ?? 'taken')
}

/** @returns undefined when another request has just taken the email */
async function inviteOnce(trx: Trx, deps: OwnUserDeps, invitation: InvitedUser): Promise<User | undefined> {
  const { email, data, context } = invitation
  const identifier = { kind: 'email', value: email } as const
  const at = deps.now()
  const since = { invited_at: at, confirmation_sent_at: at, keep_unconfirmed: true }
  const owner = await releaseAndLockOwner(trx, identifier, at)
  if (owner && !isStaged(owner)) {
    requireUnconfirmed(owner, context.audience)
    // The admin invites without the metadata with which a stranger may have signed up.
    const beganWithSignUp = await upsertSignUpContent(trx, owner, {
      kind: 'confirmation',
      audience: owner.audience,
      data,
      passwordHash: null,
    })
    // A mail that a stranger has asked for before the invitation ends with it.
    await deleteTokensOfKinds(trx, owner.id, ['confirmation'])
    if (beganWithSignUp) await replaceIdentityData(trx, owner, identifier, invitationData(deps.config, data))
    await rememberChosen(trx, owner.id, data)
    const mayHoldStrangers = await isUnclaimed(trx, owner)
    if (mayHoldStrangers && (await deleteUnverifiedIdentities(trx, owner.id))) {
      await setOwnIdentity(trx, owner, { identifier, isVerified: false, at })
    }
    return updateUser(trx, owner.id, {
      ...since,
      // A stranger may have signed up with this address, so the password of that sign-up must not outlive the invitation.
      ...(mayHoldStrangers ? { encrypted_password: null } : {}),
      raw_user_meta_data: mergeMetadata(deps.config, { ...owner, ...(beganWithSignUp && { userMetadata: {} }) }, data),
      updated_at: at,
    })
  }
  if (owner) await deleteStagedUser(trx, owner.id)
  return insertOwnUser(trx, deps, {
    identifier,
    audience: context.audience,
    passwordHash: null,
    data,
    isInvited: true,
    since,
  })
}
