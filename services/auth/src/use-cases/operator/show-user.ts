import type { Pools } from '@trestle/database/pools.ts'
import { z } from 'zod'
import { AuditEntryView, viewAuditEntry } from '../../audit/audit-repository.ts'
import type { AuthConfig } from '../../config.ts'
import type { Db } from '../../database.ts'
import { type Message, MessageView, viewMessage } from '../../messages/message-record.ts'
import { listMessages } from '../../messages/message-repository.ts'
import { listOperatorAudit } from '../../operators/operator-audit-repository.ts'
import { isProtected } from '../../operators/operator-change-repository.ts'
import { PasskeyView, viewPasskey } from '../../passkeys/credential.ts'
import { listPasskeys } from '../../passkeys/passkey-repository.ts'
import { ListedSessionView, listSessionsOfUser, viewListedSession } from '../../sessions/listed-session-repository.ts'
import { getManagedProfile, type Profile } from '../../users/profile-repository.ts'
import { isBanned } from '../../users/user.ts'
import { hasPassword } from '../../users/user-repository.ts'
import { FactorView, UserView, viewUser } from '../../users/user-view.ts'

const Timestamp = z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' })

/** Why a user cannot sign in, or the second factor that a sign-in needs (console reference: User of operators). */
const ReasonView = z
  .union([
    z.object({ code: z.literal('deleted'), at: Timestamp }),
    z.object({ code: z.literal('banned'), until: Timestamp }),
    z.object({ code: z.enum(['email_not_confirmed', 'phone_not_confirmed', 'no_password', 'factor_required']) }),
    z.object({ code: z.literal('message_failed'), message_id: z.guid(), error: z.string() }),
    z.object({ code: z.literal('provider_disabled'), provider: z.string() }),
  ])
  .meta({ id: 'Reason' })

/** A user with identities, sessions and factors, as operators see it (console reference: User of operators). */
export const UserForOperatorView = z.object({
  user: UserView,
  console_role: z.enum(['viewer', 'support', 'admin']).nullable(),
  is_protected: z.boolean().meta({ description: 'Whether only operators with the role admin act on the user' }),
  identities: UserView.shape.identities,
  factors: z.array(FactorView),
  passkeys: z.array(PasskeyView),
  sessions: z.array(ListedSessionView),
  messages: z.array(MessageView),
  audit: z.array(AuditEntryView),
  why_not: z
    .array(ReasonView)
    .meta({ description: 'Why the user cannot sign in, and at last the second factor that a sign-in needs' }),
})

/** The number of entries in each list. */
const NEWEST = { direction: 'desc', limit: 10, after: undefined } as const

/** Returns a user for operators, even if the user is deleted. */
export async function showUserForOperator(
  {
    config,
    db,
    pools,
    now,
  }: { readonly config: AuthConfig; readonly db: Db; readonly pools: Pools; readonly now: () => Date },
  userId: string,
): Promise<z.output<typeof UserForOperatorView>> {
  const profile = await getManagedProfile(pools, { userId, audience: undefined })
  const passkeys = await listPasskeys(db, userId)
  const hasSecret = passkeys.length > 0 || (await hasPassword(db, userId))
  const sessions = await listSessionsOfUser(db, { ...NEWEST, userId })
  const messages = await listMessages(db, { ...NEWEST, user: userId, status: undefined })
  const audit = await listOperatorAudit(db, { ...NEWEST, user: userId, action: undefined })
  const user = viewUser(profile)
  const { limit } = NEWEST
  return {
    user,
    console_role: profile.user.consoleRole,
    is_protected: isProtected(profile.user, config.jwt),
    identities: user.identities.slice(0, limit),
    factors: (user.factors ?? []).slice(0, limit),
    passkeys: passkeys.slice(0, limit).map(viewPasskey),
    sessions: sessions.map(viewListedSession),
    messages: messages.map(viewMessage),
    audit: audit.map(viewAuditEntry),
    why_not: [
      ...listReasons(profile, { now: now(), hasSecret, newest: messages[0], providers: config.external.providers }),
    ],
  }
}

type Reason = z.output<typeof ReasonView>

/** Returns the reasons, the most important first. A second factor does not prevent a sign-in, so it comes last. */
function listReasons(
  { user, identities, factors }: Profile,
  {
    now,
    providers,
    hasSecret,
    newest,
  }: {
    readonly now: Date
    /** Whether the user has a password or a passkey. */
    readonly hasSecret: boolean
    /** The newest message to the user. */
    readonly newest: Message | undefined
    /** The providers of the settings by name, without custom providers. */
    readonly providers: ReadonlyMap<string, { readonly enabled: boolean }>
  },
): readonly Reason[] {
  const hasAddress = user.email !== null || user.phone !== null
  const [only] = identities.length === 1 ? identities : []
  const disabled = only !== undefined && providers.get(only.provider)?.enabled === false ? only.provider : undefined
  const reasons: readonly (Reason | false)[] = [
    user.deletedAt !== null && { code: 'deleted', at: user.deletedAt },
    user.bannedUntil !== null && isBanned(user, now) && { code: 'banned', until: user.bannedUntil },
    user.email !== null && user.emailConfirmedAt === null && { code: 'email_not_confirmed' },
    user.phone !== null && user.phoneConfirmedAt === null && { code: 'phone_not_confirmed' },
    hasAddress && !hasSecret && { code: 'no_password' },
    newest !== undefined &&
      newest.error !== null && { code: 'message_failed', message_id: newest.id, error: newest.error },
    disabled !== undefined && { code: 'provider_disabled', provider: disabled },
    factors.some(({ status }) => status === 'verified') && { code: 'factor_required' },
  ]
  return reasons.filter((reason) => reason !== false)
}
