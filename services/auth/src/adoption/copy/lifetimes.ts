import type { AuthConfig } from '../../config.ts'

/** The lifetimes of the codes and flows that the old service has made. */
export interface Lifetimes {
  readonly now: Date
  readonly mailCodeSeconds: number
  readonly smsCodeSeconds: number
  readonly flowSeconds: number
}

/** The lifetimes by which codes and flows of supabase/auth are still open at a moment. */
export function lifetimesOf(
  { mail, sms, external }: Pick<AuthConfig, 'mail' | 'sms' | 'external'>,
  now: Date,
): Lifetimes {
  return {
    now,
    mailCodeSeconds: mail.codeLifetimeSeconds,
    smsCodeSeconds: sms.codeLifetimeSeconds,
    flowSeconds: external.flowStateLifetimeMs / 1_000,
  }
}
