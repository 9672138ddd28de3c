import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import type { OutboxEntry } from '@trestle/jobs/outbox.ts'
import { sql } from 'kysely'
import type { PkceChallenge } from '../flow-states/pkce.ts'
import type { MessageSecrets } from '../one-time-tokens/one-time-token-repository.ts'
import type { ThrottleKind } from '../rate-limits/send-throttle.ts'
import {
  type SessionOrigin,
  type SessionRow,
  type StoredSession,
  sessionColumns,
  toStoredSession,
  toVerdict,
} from '../sessions/session-repository.ts'
import { SIGN_UP_VERDICTS, type SignUpVerdict } from './sign-up-rules.ts'

export interface SignUp extends SessionOrigin {
  readonly userId: string
  readonly identityId: string
  /** Null for a user without email; without phone too the user is anonymous. */
  readonly email: string | null
  readonly phone: string | null
  readonly aud: string
  readonly role: string
  /** Null for an anonymous user. */
  readonly passwordHash: string | null
  readonly data: Readonly<Record<string, unknown>>
  readonly identityData: Readonly<Record<string, unknown>>
  readonly now: Date
  /** Undefined where the identifier counts as confirmed, and the user is signed in. */
  readonly confirmation: SignUpConfirmation | undefined
  readonly tokenHash: Buffer
  readonly audit: boolean
}

/** The message by which an identifier is confirmed. */
export interface SignUpConfirmation {
  readonly interval: { readonly key: Buffer; readonly kind: ThrottleKind; readonly dueBefore: Date }
  readonly secrets: MessageSecrets
  readonly pkce: PkceChallenge | undefined
  /** For a user who is new; undefined where nothing is sent. */
  readonly message: OutboxEntry | undefined
  /** For one who has not confirmed yet. */
  readonly messageAgain: OutboxEntry | undefined
}

export type SignUpOutcome =
  | { readonly verdict: 'signed-in'; readonly actorId: string; readonly session: StoredSession }
  | { readonly verdict: Exclude<SignUpVerdict, 'signed-in'>; readonly actorId: string }

interface SignUpRow extends SessionRow {
  readonly actor_id: string
}

type Parameters = ReturnType<typeof toParameters>

const signUpAtOnce: PreparedQuery<Parameters, SignUpRow> = prepare(
  'sign_up_at_once',
  (p) => sql`SELECT ${sessionColumns}, r.actor_id FROM ${sql.table('sign_up_at_once')}(
    ${p.userId}, ${p.identityId}, ${p.email}, ${p.phone}, ${p.aud}, ${p.role}, ${p.passwordHash}, ${p.data},
    ${p.identityData}, ${p.now}, ${p.tokenHash}, ${p.userAgent}, ${p.ip}, ${p.audit}) AS r`,
)

const signUp: PreparedQuery<Parameters, SignUpRow> = {
  ...prepare(
    'sign_up',
    (p: Parameters) => sql`SELECT ${sessionColumns}, r.actor_id FROM ${sql.table('sign_up')}(
    ${p.userId}, ${p.identityId}, ${p.email}, ${p.phone}, ${p.aud}, ${p.role}, ${p.passwordHash}, ${p.data},
    ${p.identityData}, ${p.now}, ${p.confirmed}, ${p.intervalKey}, ${p.intervalKind}, ${p.dueBefore}, ${p.tokenKind},
    ${p.linkHash}, ${p.codeHash}, ${p.codeSalt}, ${p.expiresAt}, ${p.challenge}, ${p.challengeMethod}, ${p.message},
    ${p.messageAgain}, ${p.tokenHash}, ${p.userAgent}, ${p.ip}, ${p.audit}) AS r`,
  ),
  choose: ({ confirmed, email, phone }) => (confirmed && (email ?? phone) !== null ? signUpAtOnce : undefined),
}

/** Signs a user up, or finds that somebody has the identifier. @returns also who that is, for the audit trail alone */
export async function callSignUp(lanes: Lanes, input: SignUp): Promise<SignUpOutcome> {
  const row = await lanes.write.one(signUp, toParameters(input))
  const verdict = toVerdict(row.verdict, SIGN_UP_VERDICTS)
  if (verdict !== 'signed-in') return { verdict, actorId: row.actor_id }
  return { verdict, actorId: row.actor_id, session: toStoredSession(row) }
}

function toParameters({ confirmation, ...input }: SignUp) {
  return {
    ...input,
    confirmed: confirmation === undefined,
    intervalKey: confirmation?.interval.key,
    intervalKind: confirmation?.interval.kind,
    dueBefore: confirmation?.interval.dueBefore,
    tokenKind: confirmation?.secrets.kind,
    linkHash: confirmation?.secrets.linkHash,
    codeHash: confirmation?.secrets.codeHash,
    codeSalt: confirmation?.secrets.codeSalt,
    expiresAt: confirmation?.secrets.expiresAt,
    challenge: confirmation?.pkce?.challenge,
    challengeMethod: confirmation?.pkce?.method,
    message: confirmation?.message,
    messageAgain: confirmation?.messageAgain,
  }
}
