import type { AuditAction } from '../audit/audit-log.ts'
import type { TokenKind } from './one-time-token.ts'

/** The types of links that `POST /admin/generate_link` makes (reference: Generated links). */
export const LINK_TYPES = [
  'signup',
  'invite',
  'magiclink',
  'recovery',
  'email_change_current',
  'email_change_new',
] as const

/** The `type` of a link that an admin asks for. */
export type LinkType = (typeof LINK_TYPES)[number]

/** How a type of link is stored and logged. */
interface LinkRule {
  /** The message whose place the link takes. */
  readonly kind: TokenKind & ('confirmation' | 'invitation' | 'recovery' | 'email_change_current' | 'email_change_new')
  /** The `type` in the link itself, which `GET /verify` takes. */
  readonly linkType: 'signup' | 'invite' | 'magiclink' | 'recovery' | 'email_change'
  /** The column of the user that holds when the link was made. */
  readonly sentAt: 'confirmation_sent_at' | 'recovery_sent_at' | 'email_change_sent_at'
  readonly action: AuditAction
  /** Whether the link makes a user for an address that nobody has. */
  readonly makesUser: boolean
}

const CONFIRMATION = { kind: 'confirmation', sentAt: 'confirmation_sent_at', makesUser: true } as const
const RECOVERY = { kind: 'recovery', sentAt: 'recovery_sent_at', action: 'user_recovery_requested' } as const
const EMAIL_CHANGE = {
  linkType: 'email_change',
  sentAt: 'email_change_sent_at',
  action: 'user_modified',
  makesUser: false,
} as const

/** How each type of link is stored and logged (reference: Generated links). */
export const LINK_RULES: Readonly<Record<LinkType, LinkRule>> = {
  signup: { ...CONFIRMATION, linkType: 'signup', action: 'user_confirmation_requested' },
  invite: { ...CONFIRMATION, kind: 'invitation', linkType: 'invite', action: 'user_invited' },
  magiclink: { ...RECOVERY, linkType: 'magiclink', makesUser: true },
  recovery: { ...RECOVERY, linkType: 'recovery', makesUser: false },
  email_change_current: { ...EMAIL_CHANGE, kind: 'email_change_current' },
  email_change_new: { ...EMAIL_CHANGE, kind: 'email_change_new' },
}
