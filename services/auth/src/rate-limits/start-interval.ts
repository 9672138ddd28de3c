import type { Behaviours } from '../config/behaviours.ts'
import type { Db } from '../database.ts'
import {
  hashIntervalKey,
  type IntervalConfig,
  type IntervalDeps,
  type IntervalKey,
  type IntervalKind,
} from './send-interval.ts'

export interface StartDeps extends Pick<IntervalDeps, 'now' | 'serverKeys'> {
  readonly config: IntervalConfig & { readonly behaviours: Pick<Behaviours, 'startIntervalAtGeneratedLink'> }
  readonly db: Db
}

/** A link that an admin gets, by the kind of its token, and its user. */
interface AdminLink extends Omit<IntervalKey, 'kind' | 'scope'> {
  /** Null where the kind is no change of email. */
  readonly userId: string | null
  readonly kind: 'confirmation' | 'invitation' | 'recovery' | 'email_change_new' | 'email_change_current'
}

const INTERVALS_OF_LINKS = {
  confirmation: 'confirmation',
  invitation: 'confirmation',
  recovery: 'recovery',
  email_change_new: 'email_change',
  email_change_current: 'email_change',
} as const satisfies Record<AdminLink['kind'], IntervalKind>

/**
 * Starts the interval of a link that an admin gets, where such links count. The caller has committed: a
 * sign-up locks the interval before its user, and the caller has locked the user first.
 */
export async function startInterval(deps: StartDeps, link: AdminLink): Promise<void> {
  if (!deps.config.behaviours.startIntervalAtGeneratedLink) return
  const kind = INTERVALS_OF_LINKS[link.kind]
  const { identifier, audience } = link
  const keys: IntervalKey[] =
    kind === 'email_change' && link.userId !== null
      ? [
          { kind, scope: 'user', identifier: link.userId, audience },
          { kind, scope: 'resend', identifier, audience },
        ]
      : [{ kind, identifier, audience }]
  const sentAt = deps.now()
  await deps.db
    .insertInto('send_throttle')
    .values(keys.map((key) => ({ key_hash: hashIntervalKey(deps, key), kind, sent_at: sentAt })))
    .onConflict((conflict) => conflict.columns(['key_hash', 'kind']).doUpdateSet({ sent_at: sentAt }))
    .execute()
}
