import { type NumberedRow, orderResults } from '@trestle/database/batches/ordered-results.ts'
import type { Lanes } from '@trestle/database/lanes.ts'
import { type PreparedQuery, prepare } from '@trestle/database/prepare.ts'
import { isLockTimeout } from '@trestle/database/unavailable.ts'
import type { OutboxEntry } from '@trestle/jobs/outbox.ts'
import { sql } from 'kysely'
import type { PkceChallenge } from '../flows/pkce.ts'
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

const signUp: PreparedQuery<Parameters, SignUpRow> = prepare(
  'sign_up',
  (p) => sql`SELECT ${sessionColumns}, r.actor_id FROM ${sql.table('sign_up')}(
    ${p.userId}, ${p.identityId}, ${p.email}, ${p.phone}, ${p.aud}, ${p.role}, ${p.passwordHash}, ${p.data},
    ${p.identityData}, ${p.now}, ${p.confirmed}, ${p.intervalKey}, ${p.intervalKind}, ${p.dueBefore}, ${p.tokenKind},
    ${p.linkHash}, ${p.codeHash}, ${p.codeSalt}, ${p.expiresAt}, ${p.challenge}, ${p.challengeMethod}, ${p.message},
    ${p.messageAgain}, ${p.tokenHash}, ${p.userAgent}, ${p.ip}, ${p.audit}) AS r`,
)

/** Whether a signup can go together with others: of an identifier that counts as confirmed. */
export function isAtOnce(input: Pick<SignUp, 'confirmation' | 'email' | 'phone'>): boolean {
  return input.confirmation === undefined && (input.email ?? input.phone) !== null
}

/** Signs a user up, or finds that somebody has the identifier. @returns also who that is, for the audit trail alone */
export async function callSignUp(lanes: Lanes, input: SignUp): Promise<SignUpOutcome> {
  return toSignUpOutcome(await lanes.write.one(signUp, toParameters(input)))
}

interface ManySignUps {
  readonly userIds: readonly string[]
  readonly identityIds: readonly string[]
  readonly emails: readonly (string | null)[]
  readonly phones: readonly (string | null)[]
  readonly auds: readonly string[]
  readonly roles: readonly string[]
  readonly passwordHashes: readonly (string | null)[]
  /** As JSON. */
  readonly data: readonly string[]
  /** As JSON. */
  readonly identityData: readonly string[]
  readonly moments: readonly Date[]
  readonly tokenHashes: readonly Buffer[]
  readonly userAgents: readonly (string | null)[]
  readonly ips: readonly string[]
  readonly audits: readonly boolean[]
}

const signUpsAtOnce: PreparedQuery<ManySignUps, SignUpRow & NumberedRow> = prepare(
  'sign_ups_at_once',
  (p) => sql`SELECT r.item, ${sessionColumns}, r.actor_id FROM ${sql.table('sign_ups_at_once')}(${p.userIds},
    ${p.identityIds}, ${p.emails}, ${p.phones}, ${p.auds}, ${p.roles}, ${p.passwordHashes}, ${p.data}, ${p.identityData},
    ${p.moments}, ${p.tokenHashes}, ${p.userAgents}, ${p.ips}, ${p.audits}) AS r`,
)

/**
 * Signs up users who have an email or a phone and are confirmed at once, in one transaction, all or none when the call fails.
 * @returns what became of each, in their order; undefined where somebody has the identifier, whom a stranger may hold, or
 *   another of them takes it; for all when one of theirs was being taken by somebody else for too long
 */
export async function callSignUpsAtOnce(
  lanes: Lanes,
  inputs: readonly SignUp[],
): Promise<readonly (SignUpOutcome | undefined)[]> {
  const many = {
    userIds: inputs.map(({ userId }) => userId),
    identityIds: inputs.map(({ identityId }) => identityId),
    emails: inputs.map(({ email }) => email),
    phones: inputs.map(({ phone }) => phone),
    auds: inputs.map(({ aud }) => aud),
    roles: inputs.map(({ role }) => role),
    passwordHashes: inputs.map(({ passwordHash }) => passwordHash),
    data: inputs.map(({ data }) => JSON.stringify(data)),
    identityData: inputs.map(({ identityData }) => JSON.stringify(identityData)),
    moments: inputs.map(({ now }) => now),
    tokenHashes: inputs.map(({ tokenHash }) => tokenHash),
    userAgents: inputs.map(({ userAgent }) => userAgent),
    ips: inputs.map(({ ip }) => ip),
    audits: inputs.map(({ audit }) => audit),
  }
  try {
    return orderResults(inputs, await lanes.write.all(signUpsAtOnce, many), toSignUpOutcome)
  } catch (error) {
    if (isLockTimeout(error)) return inputs.map(() => undefined)
    throw error
  }
}

function toSignUpOutcome(row: SignUpRow): SignUpOutcome {
  const verdict = toVerdict(row.verdict, SIGN_UP_VERDICTS)
  if (verdict !== 'signed-in') return { verdict, actorId: row.actor_id }
  return { verdict, actorId: row.actor_id, session: toStoredSession(row) }
}

function toParameters({ confirmation, ...input }: SignUp) {
  return {
    ...input,
    confirmation,
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
