import type { Rule } from '@trestle/common/config/load-config.ts'
import { behavioursOf } from './behaviours.ts'
import { isElsewhere, type MailValues } from './mail.ts'
import type { ProfileValues } from './rules.ts'

const REQUIRED = ['SMTP_HOST', 'SMTP_PORT', 'SMTP_ADMIN_EMAIL'] as const

type WithHook = MailValues & { readonly HOOK_SEND_EMAIL_ENABLED: boolean }

type JudgedMailValues = WithHook & ProfileValues & { readonly EXTERNAL_EMAIL_ENABLED: boolean }

const isMailNeeded = (values: JudgedMailValues): boolean =>
  behavioursOf(values.PROFILE).refuseStartWithoutMailServer &&
  values.EXTERNAL_EMAIL_ENABLED &&
  !values.MAILER_AUTOCONFIRM &&
  !values.HOOK_SEND_EMAIL_ENABLED

/**
 * Requires a mail server where mails are needed, and refuses two settings that contradict each other (reference: Environment).
 */
export const mailRules: readonly Rule<JudgedMailValues>[] = [
  (values) =>
    values.MAILER_AUTOCONFIRM && values.MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS
      ? 'AUTH_MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS and AUTH_MAILER_AUTOCONFIRM cannot both be true'
      : undefined,
  ...REQUIRED.map(
    (name) => (values: JudgedMailValues) =>
      values[name] === undefined && isMailNeeded(values) ? `AUTH_${name} is required` : undefined,
  ),
]

/** Returns a warning when mails are dropped for want of a server, and when a strict service may send them without TLS. */
export function mailWarnings(values: WithHook & ProfileValues): string[] {
  if (values.HOOK_SEND_EMAIL_ENABLED) return []
  const missing = REQUIRED.filter((name) => values[name] === undefined).map((name) => `AUTH_${name}`)
  if (missing.length > 0) return [`mail is dropped, because ${missing.join(', ')} is not set`]
  const { PROFILE, SMTP_HOST: host = '', SMTP_REQUIRE_TLS: requireTls } = values
  return PROFILE === 'strict' && requireTls === false && isElsewhere(host)
    ? [
        `AUTH_SMTP_REQUIRE_TLS is false and ${host} is another machine: mails, and the codes in them, may travel in clear`,
      ]
    : []
}
