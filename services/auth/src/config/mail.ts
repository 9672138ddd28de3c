import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { duration, flag, integer, oneOf, parsed, port, secret, text } from '@trestle/common/config/setting.ts'
import { family, group } from '@trestle/common/config/setting-description.ts'
import { namesLoopback } from '@trestle/common/outbound/address-rules.ts'
import { greetingName } from '@trestle/common/outbound/smtp.ts'
import type { z } from 'zod'
import {
  DEFAULT_TEXTS,
  MAIL_KINDS,
  type MailKind,
  OWN_LINK_PATH,
  parseOr,
  type Template,
} from '../messages/mail-template.ts'
import { isEmail } from '../requests/fields.ts'
import type { CompatibilityOptions } from './compatibility.ts'
import {
  codeLength,
  lifetimeSeconds,
  mailHeaders,
  messageIntervalMs,
  type ProfileValues,
  templateText,
  urlReference,
} from './rules.ts'

/** Events that notify users only if a setting enables the notification. */
const USUAL_NOTIFICATIONS = [
  'PASSWORD_CHANGED',
  'EMAIL_CHANGED',
  'PHONE_CHANGED',
  'IDENTITY_LINKED',
  'IDENTITY_UNLINKED',
  'MFA_FACTOR_ENROLLED',
  'MFA_FACTOR_UNENROLLED',
] as const
/** Events that may let another person sign in or lock the user out. The profile supabase sends no notifications of them. */
const GUARDED_NOTIFICATIONS = [
  'PASSKEY_ADDED',
  'PASSKEY_REMOVED',
  'PASSKEYS_KEPT',
  'RECOVERY_CODES_CREATED',
  'ACCOUNT_SECURED',
] as const

/** The events of notifications. Each has a switch MAILER_NOTIFICATIONS_<NAME>_ENABLED. */
export const NOTIFICATIONS = [...USUAL_NOTIFICATIONS, ...GUARDED_NOTIFICATIONS] as const

export type NotificationName = (typeof NOTIFICATIONS)[number]

const serverSettings = group(
  {
    title: 'Mail server',
    about:
      'Host, port and sender are required while users sign in by email, unless `AUTH_MAILER_AUTOCONFIRM` is true, the hook SEND_EMAIL is on or the profile is supabase.',
  },
  {
    SMTP_HOST: text().optional().meta({ required: true, description: 'Server that takes the mails.' }),
    SMTP_PORT: port().optional().meta({ required: true, description: 'Port of that server.' }),
    SMTP_ADMIN_EMAIL: emailAddress().optional().meta({ required: true, description: 'Address of the sender.' }),
    SMTP_USER: text().optional().describe('Account at the server. Default: no authentication.'),
    SMTP_PASS: secret().optional().describe('Password of the account.'),
    SMTP_REQUIRE_TLS: flag()
      .optional()
      .describe(
        'Send mails by TLS only. A server that offers no TLS then gets none. Default: false; in the strict profile true, unless the server is on this machine.',
      ),
    SMTP_SENDER_NAME: text().optional().describe('Name of the sender. Default: the address.'),
    SMTP_MAX_FREQUENCY: duration()
      .optional()
      .describe(
        'Least time between two mails of a kind to one address. Default: 900 s for confirmations, 60 s for others.',
      ),
    SMTP_HEADERS: mailHeaders()
      .optional()
      .describe('Further headers. `$messageType` in a value stands for the kind of mail.'),
  },
)

const messageSettings = group('Mails', {
  MAILER_AUTOCONFIRM: flag().prefault('false').describe('Confirm email addresses at once, without a mail.'),
  MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS: flag()
    .prefault('false')
    .describe(
      'Let a user sign in at a provider before the address that it tells is verified. A mail still asks for that.',
    ),
  MAILER_OTP_EXP: lifetimeSeconds().prefault('86400').describe('How long links and codes in mails live.'),
  MAILER_OTP_LENGTH: codeLength().prefault('6').describe('Digits of a code in a mail.'),
  MAILER_SECURE_EMAIL_CHANGE_ENABLED: flag()
    .prefault('true')
    .describe('A change of email must be confirmed from both addresses.'),
  MAILER_LINK_MODE: oneOf('direct', 'confirm')
    .prefault('direct')
    .describe(
      'With `direct` a link confirms when it is opened. With `confirm` it shows a page with a button, so that programs that open the links of mails confirm nothing.',
    ),
  ...family(['INVITE', 'CONFIRMATION', 'RECOVERY', 'EMAIL_CHANGE'], {
    'MAILER_URLPATHS_<KIND>': urlReference()
      .prefault(OWN_LINK_PATH)
      .describe('Path of the links in a kind of mail. Magic links use that of RECOVERY.'),
  }),
  ...family(MAIL_KINDS, {
    'MAILER_SUBJECTS_<KIND>': templateText()
      .optional()
      .describe('Subject of a kind of mail. Default: the built-in text.'),
    'MAILER_TEMPLATES_<KIND>': templateAddress()
      .optional()
      .describe('Address of the HTML template of a kind of mail. Default: the built-in text.'),
  }),
  MAILER_TEMPLATE_MAX_SIZE: integer(1, undefined, 'bytes').prefault('1000000').describe('Largest template.'),
  MAILER_TEMPLATE_MAX_AGE: duration()
    .prefault('10m')
    .describe('How long a template is kept before it is fetched again.'),
  MAILER_TEMPLATE_RETRY_INTERVAL: duration()
    .prefault('10s')
    .describe('Pause after a template that could not be fetched.'),
  ...family(USUAL_NOTIFICATIONS, {
    'MAILER_NOTIFICATIONS_<EVENT>_ENABLED': flag()
      .prefault('false')
      .describe('Tell users by mail that this has happened to their account.'),
  }),
  ...family(GUARDED_NOTIFICATIONS, {
    'MAILER_NOTIFICATIONS_<EVENT>_ENABLED': flag()
      .optional()
      .describe(
        'Tell users by mail that this has happened to their account. Default: true, and false in the profile `supabase`.',
      ),
  }),
})

export const mailSettings = { ...serverSettings, ...messageSettings } as const

export type MailValues = SettingValues<typeof mailSettings>

export interface SmtpConfig {
  readonly host: string
  readonly port: number
  /** `undefined` if the mail server needs no authentication. */
  readonly user: string | undefined
  readonly password: string | undefined
  /** Whether mails and the password are sent only over TLS. */
  readonly requireTls: boolean
  readonly greetingName: string
  readonly from: { readonly name: string; readonly address: string }
  /** Further headers. `$messageType` in a value is replaced by the kind of mail. */
  readonly headers: Readonly<Record<string, readonly string[]>>
}

export interface MailConfig {
  /** `undefined` if no server is set. Mails are then dropped (reference: Environment). */
  readonly smtp: SmtpConfig | undefined
  readonly autoconfirm: boolean
  readonly allowsUnverified: boolean
  readonly codeLifetimeSeconds: number
  /** The number of digits. */
  readonly codeLength: number
  readonly secureEmailChange: boolean
  readonly linkMode: 'confirm' | 'direct'
  /** The shortest time between two mails of a kind to one address (reference: Intervals between messages). */
  readonly intervalMs: { readonly confirmation: number; readonly other: number }
  readonly linkPaths: Readonly<Record<'invite' | 'confirmation' | 'recovery' | 'emailChange', string>>
  readonly subject: (kind: MailKind) => Template
  readonly templateUrl: (kind: MailKind) => string | undefined
  readonly templates: { readonly bytesMax: number; readonly ageMsMax: number; readonly retryMs: number }
  readonly isNotified: (name: NotificationName) => boolean
}

const SECOND_MS = 1_000

/** Returns the settings of mails. Template paths become URLs under SITE_URL. */
export function toMailConfig(
  values: MailValues & ProfileValues & { readonly SITE_URL: string; readonly API_EXTERNAL_URL: string },
  compatibility: Pick<CompatibilityOptions, 'treatZeroFrequencyAsUnset'>,
): MailConfig {
  const { SMTP_MAX_FREQUENCY: frequency } = values
  const intervalMs = frequency === undefined ? undefined : messageIntervalMs(frequency, compatibility)
  return {
    smtp: toSmtpConfig(values),
    autoconfirm: values.MAILER_AUTOCONFIRM,
    allowsUnverified: values.MAILER_ALLOW_UNVERIFIED_EMAIL_SIGN_INS,
    codeLifetimeSeconds: values.MAILER_OTP_EXP,
    codeLength: values.MAILER_OTP_LENGTH,
    secureEmailChange: values.MAILER_SECURE_EMAIL_CHANGE_ENABLED,
    linkMode: values.MAILER_LINK_MODE,
    intervalMs: { confirmation: intervalMs ?? 900 * SECOND_MS, other: intervalMs ?? 60 * SECOND_MS },
    linkPaths: {
      invite: values.MAILER_URLPATHS_INVITE,
      confirmation: values.MAILER_URLPATHS_CONFIRMATION,
      recovery: values.MAILER_URLPATHS_RECOVERY,
      emailChange: values.MAILER_URLPATHS_EMAIL_CHANGE,
    },
    subject: (kind: MailKind): Template => parseOr(DEFAULT_TEXTS[kind].subject, values[`MAILER_SUBJECTS_${kind}`]),
    templateUrl: (kind: MailKind): string | undefined => {
      const address = values[`MAILER_TEMPLATES_${kind}`]
      return address && new URL(address, values.SITE_URL).href
    },
    templates: {
      bytesMax: values.MAILER_TEMPLATE_MAX_SIZE,
      ageMsMax: values.MAILER_TEMPLATE_MAX_AGE,
      retryMs: values.MAILER_TEMPLATE_RETRY_INTERVAL,
    },
    isNotified: (name: NotificationName): boolean =>
      values[`MAILER_NOTIFICATIONS_${name}_ENABLED`] ?? values.PROFILE !== 'supabase',
  }
}

function toSmtpConfig(
  values: MailValues & ProfileValues & { readonly API_EXTERNAL_URL: string },
): SmtpConfig | undefined {
  const { SMTP_HOST: host, SMTP_PORT: smtpPort, SMTP_ADMIN_EMAIL: address } = values
  if (host === undefined || smtpPort === undefined || address === undefined) return undefined
  return {
    host,
    port: smtpPort,
    user: values.SMTP_USER,
    password: values.SMTP_PASS,
    requireTls: values.SMTP_REQUIRE_TLS ?? (values.PROFILE === 'strict' && isElsewhere(host)),
    greetingName: greetingName(values.API_EXTERNAL_URL),
    from: { name: values.SMTP_SENDER_NAME ?? address, address },
    headers: values.SMTP_HEADERS ?? {},
  }
}

/** Whether mails to a server leave this machine. Without encryption, others could read them on the network. */
export function isElsewhere(host: string): boolean {
  return !namesLoopback(host.toLowerCase())
}

/** A URL, or a path under SITE_URL. */
function templateAddress(): z.ZodType<string, string> {
  const problem = 'must be a http:// or https:// URL, or a path under AUTH_SITE_URL'
  return parsed({ form: 'URL, or path under AUTH_SITE_URL', problem }, (value) =>
    /^https?:$/.test(URL.parse(value, 'https://localhost')?.protocol ?? '') ? value : undefined,
  )
}

function emailAddress(): z.ZodType<string, string> {
  return parsed({ form: 'email address', problem: 'must be an email address' }, (value) =>
    isEmail(value) ? value : undefined,
  )
}
