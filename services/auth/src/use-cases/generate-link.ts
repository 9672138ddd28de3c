import type { Transaction } from 'kysely'
import { adminTraits } from '../audit/admin-traits.ts'
import { type AuditAction, recordAudit } from '../audit/audit-log.ts'
import { OWN_LINK_PATH } from '../config/mail.ts'
import type { AuthDatabase } from '../database.ts'
import type { AuthDeps } from '../deps.ts'
import { confirmationUrl } from '../messages/confirmation-url.ts'
import type { LinkType } from '../one-time-tokens/link-type.ts'
import type { TokenKind } from '../one-time-tokens/one-time-token.ts'
import { replaceToken } from '../one-time-tokens/one-time-token-repository.ts'
import { refuseBreached } from '../passwords/breached-passwords.ts'
import type { Admin } from '../sessions/admin.ts'
import type { Profile } from '../users/profile.ts'
import type { User } from '../users/user.ts'
import { getProfile } from '../users/user-profile-repository.ts'
import { updateUser } from '../users/user-repository.ts'
import { askBeforeOwnUser } from './ask-before-user-created.ts'
import { findLinkOwner, type LinkOwner, type WantedLink } from './find-link-owner.ts'
import { makeMailSecrets } from './issue-mail-token.ts'
import type { RequestContext } from './request-context.ts'

export interface GenerateLink extends WantedLink {
  readonly admin: Admin
  readonly context: RequestContext
}

/** A link and a code that an admin passes on by other means than our mail. */
export interface GeneratedLink extends Profile {
  readonly url: string
  /** The token of the link, in the clear. */
  readonly token: string
  readonly code: string
  /** `type` of the link. */
  readonly linkType: string
  /** What was made: a magic link for somebody unknown is a signup. */
  readonly verificationType: LinkType
}

const LINKS = {
  signup: {
    kind: 'confirmation',
    linkType: 'signup',
    sentAt: 'confirmation_sent_at',
    action: 'user_confirmation_requested',
  },
  invite: { kind: 'confirmation', linkType: 'invite', sentAt: 'confirmation_sent_at', action: 'user_invited' },
  magiclink: { kind: 'recovery', linkType: 'magiclink', sentAt: 'recovery_sent_at', action: 'user_recovery_requested' },
  recovery: { kind: 'recovery', linkType: 'recovery', sentAt: 'recovery_sent_at', action: 'user_recovery_requested' },
  email_change_current: {
    kind: 'email_change_current',
    linkType: 'email_change',
    sentAt: 'email_change_sent_at',
    action: 'user_modified',
  },
  email_change_new: {
    kind: 'email_change_new',
    linkType: 'email_change',
    sentAt: 'email_change_sent_at',
    action: 'user_modified',
  },
} as const satisfies Record<LinkType, { kind: TokenKind; linkType: string; sentAt: string; action: AuditAction }>

/** Types of links that make a user of somebody unknown. */
const MAKES_USERS: readonly LinkType[] = ['signup', 'invite', 'magiclink']

/** Makes a link and a code as a mail would carry them. No mail is sent, and neither limit nor interval applies. */
export async function generateLink(deps: AuthDeps, input: GenerateLink): Promise<GeneratedLink> {
  if (MAKES_USERS.includes(input.type)) await askBeforeOwnUser(deps, input)
  const passwordHash = input.type === 'signup' && input.password ? await hashPassword(deps, input.password) : undefined
  return deps.db.transaction().execute(async (trx) => {
    const owner = await findLinkOwner(trx, deps, { ...input, passwordHash })
    return issue(trx, deps, owner, input)
  })
}

/** Of a password whose policy is asked when it is clear that there is nobody yet. */
async function hashPassword(deps: AuthDeps, password: string): Promise<string> {
  await refuseBreached(deps, password)
  return deps.passwords.hash(password)
}

async function issue(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  { user, type, address }: LinkOwner,
  { admin, context }: GenerateLink,
): Promise<GeneratedLink> {
  const { kind, linkType, sentAt, action } = LINKS[type]
  const { secrets, link, code } = makeMailSecrets(deps, { email: address, tokenKind: kind }, 'implicit')
  await replaceToken(trx, { ...secrets, userId: user.id, flowStateId: null })
  await updateUser(trx, user.id, { [sentAt]: secrets.sentAt, updated_at: secrets.sentAt })
  await record(trx, deps, user, { action, admin, ip: context.ip })
  const { linkBase: base, redirectTo } = context
  return {
    ...(await getProfile(trx, user.id)),
    url: confirmationUrl({ base, path: OWN_LINK_PATH, token: link, type: linkType, redirectTo }),
    token: link,
    code,
    linkType,
    verificationType: type,
  }
}

async function record(
  trx: Transaction<AuthDatabase>,
  deps: AuthDeps,
  user: User,
  { action, admin, ip }: { readonly action: AuditAction; readonly admin: Admin; readonly ip: string },
): Promise<void> {
  await recordAudit(trx, deps, { action, actor: admin.actor, target: user, ip, traits: adminTraits(user) })
}
