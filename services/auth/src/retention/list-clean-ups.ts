import type { AuthConfig } from '../config.ts'
import type { IndexCleanUp, TableCleanUp, WalkCleanUp } from './table-clean-up.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How long operators can see a mail or an SMS. */
const MESSAGE_LIFETIME_MS = 30 * DAY_MS

/** The moment so many milliseconds ago. */
type Ago = (ms: number) => Date

/** The clean-ups of all tables (reference: Retention). */
export function listCleanUps(config: AuthConfig, now: Date): readonly TableCleanUp[] {
  const ago: Ago = (ms) => new Date(now.getTime() - ms)
  const yesterday = ago(DAY_MS)
  const codeMs = config.mail.codeLifetimeSeconds * 1_000
  const stagedMs = Math.max(codeMs, config.sms.codeLifetimeSeconds * 1_000) + DAY_MS
  // The auth code of a mail's link begins to live when the link is used.
  const flowMs = Math.max(DAY_MS, codeMs) + config.external.flowStateLifetimeMs
  const intervals = [...Object.values(config.mail.intervalMs), config.sms.intervalMs, config.mfa.phone.intervalMs]
  const unverifiedMs = Math.max(DAY_MS, config.mfa.unverifiedLifetimeMs)
  return [
    { by: 'walk', table: 'refresh_tokens', until: yesterday },
    byIndex('sessions', 'not_after', yesterday),
    ...listSessionWalks(config.sessions, ago),
    byIndex('flow_state', 'created_at', ago(flowMs)),
    byIndex('mfa_factors', 'created_at', ago(unverifiedMs), 'unverified'),
    byIndex('mfa_challenges', 'created_at', ago(DAY_MS + config.mfa.challengeLifetimeSeconds * 1_000)),
    byIndex('webauthn_challenges', 'expires_at', yesterday),
    byIndex('one_time_tokens', 'expires_at', yesterday),
    byIndex('send_throttle', 'sent_at', ago(Math.max(DAY_MS, ...intervals))),
    byIndex('code_guesses', 'since', yesterday),
    byIndex('messages', 'created_at', ago(MESSAGE_LIFETIME_MS)),
    byIndex('users', 'staged_at', ago(stagedMs)),
    ...listRetentions(config, ago),
  ]
}

function byIndex(
  table: IndexCleanUp['table'],
  column: string,
  before: Date,
  only: IndexCleanUp['only'] = undefined,
): IndexCleanUp {
  return { by: 'index', table, column, before, only }
}

/** A clean-up of sessions that the settings ended a day ago. None where sessions have no end. */
function listSessionWalks(
  { timeboxMs, inactivityTimeoutMs }: AuthConfig['sessions'],
  ago: Ago,
): readonly WalkCleanUp[] {
  const lives = [timeboxMs, inactivityTimeoutMs].filter((ms) => ms !== undefined)
  if (lives.length === 0) return []
  const startedBefore = timeboxMs === undefined ? undefined : ago(DAY_MS + timeboxMs)
  const refreshedBefore = inactivityTimeoutMs === undefined ? undefined : ago(DAY_MS + inactivityTimeoutMs)
  return [{ by: 'walk', table: 'sessions', until: ago(DAY_MS + Math.min(...lives)), startedBefore, refreshedBefore }]
}

/** Clean-ups of rows that strangers can make, after the time that settings give. */
function listRetentions(
  { database, mail, sms }: Pick<AuthConfig, 'database' | 'mail' | 'sms'>,
  ago: Ago,
): readonly IndexCleanUp[] {
  const { anonymousRetentionMs, auditRetentionMs, unconfirmedRetentionMs } = database
  const codeMs = Math.max(mail.codeLifetimeSeconds, sms.codeLifetimeSeconds) * 1_000
  return [
    anonymousRetentionMs === 'off' ? [] : [byIndex('users', 'created_at', ago(anonymousRetentionMs), 'anonymous')],
    auditRetentionMs === 'off' ? [] : [byIndex('audit_log_entries', 'created_at', ago(auditRetentionMs))],
    // Keep unconfirmed users while the last message may still confirm them, and where they may sign in.
    unconfirmedRetentionMs === 'off' || mail.allowsUnverified
      ? []
      : [byIndex('users', 'confirmation_sent_at', ago(Math.max(unconfirmedRetentionMs, codeMs)), 'unconfirmed')],
  ].flat()
}
