import { isIPv4 } from 'node:net'
import type { Rule, SettingValues } from '@trestle/common/config/load-config.ts'
import { plainHttpWarnings } from '@trestle/common/outbound/outbound.ts'
import { MAIL_KINDS, templateProblem } from '../messages/mail-template.ts'
import { compatibilityOf } from './compatibility.ts'
import { type externalSettings, PROVIDERS, toUpperCase } from './external.ts'
import { isElsewhere, type MailValues, type mailSettings } from './mail.ts'
import type { serverSettings } from './process.ts'
import type { ProfileValues } from './rules.ts'
import type { securitySettings } from './security.ts'
import type { signupSettings } from './sign-in.ts'
import type { smsSettings } from './sms.ts'

type DangerValues = SettingValues<typeof externalSettings> &
  Pick<SettingValues<typeof mailSettings>, 'MAILER_AUTOCONFIRM'> &
  Pick<SettingValues<typeof smsSettings>, 'SMS_AUTOCONFIRM' | 'SMS_TEST_OTP' | 'SMS_TEST_OTP_VALID_UNTIL'> &
  Pick<SettingValues<typeof serverSettings>, 'URI_ALLOW_LIST'> &
  Pick<SettingValues<typeof signupSettings>, 'EXTERNAL_PHONE_ENABLED'> &
  Pick<
    SettingValues<typeof securitySettings>,
    'SECURITY_OUTBOUND_ALLOWED_HOSTS' | 'SECURITY_FAILED_ATTEMPTS' | 'SECURITY_OTP_MAX_ATTEMPTS'
  >

const CODE_ATTEMPTS_MAX = 100
/** Hosts that no operator would allow. A glob that matches one of them also matches the hosts of attackers. */
const STRANGERS = ['invalid', 'com', 'net', 'org'].flatMap((domain) => [
  `https://a-stranger-8d1f.${domain}/`,
  `https://www.a-stranger-8d1f.${domain}/a/b`,
])

/** Returns settings that open accounts to attackers. The compatible profile accepts them. The strict profile refuses most. */
export function dangerousSettings(values: DangerValues): readonly string[] {
  const wide = values.SECURITY_OUTBOUND_ALLOWED_HOSTS.filter(isEverything)
  const open = values.URI_ALLOW_LIST.filter((glob) => STRANGERS.some((address) => glob.matches(address)))
  return [
    ...trustedProviders(values).map(
      (name) =>
        `AUTH_MAILER_AUTOCONFIRM is true beside ${name}: anyone who signs in there with the address of another user gets that account`,
    ),
    ...(values.SMS_AUTOCONFIRM && values.EXTERNAL_PHONE_ENABLED
      ? ['AUTH_SMS_AUTOCONFIRM is true: anyone who signs up with the phone of another person gets it']
      : []),
    ...(values.SMS_TEST_OTP.size > 0 && values.SMS_TEST_OTP_VALID_UNTIL === undefined
      ? ['AUTH_SMS_TEST_OTP has no end, AUTH_SMS_TEST_OTP_VALID_UNTIL: its codes sign in for ever']
      : []),
    ...open.map(
      ({ source }) =>
        `AUTH_URI_ALLOW_LIST has ${source}, which takes hosts of anybody: links sign people in at pages of strangers`,
    ),
    ...wide.map(
      (network) => `AUTH_SECURITY_OUTBOUND_ALLOWED_HOSTS has ${network}: calls may reach everything in the own network`,
    ),
    ...(values.SECURITY_FAILED_ATTEMPTS === 'off'
      ? ['AUTH_SECURITY_FAILED_ATTEMPTS is off: passwords can be guessed without end']
      : []),
    ...(values.SECURITY_OTP_MAX_ATTEMPTS > CODE_ATTEMPTS_MAX
      ? [`AUTH_SECURITY_OTP_MAX_ATTEMPTS is above ${CODE_ATTEMPTS_MAX}: codes can be guessed`]
      : []),
  ]
}

/** Returns settings by which an email address counts as verified without a verification by its provider. */
function trustedProviders(values: DangerValues): readonly string[] {
  if (!values.MAILER_AUTOCONFIRM) return []
  const names = PROVIDERS.map(toUpperCase)
  const switches = [...names.map((name) => `EXTERNAL_${name}_ENABLED` as const), 'CUSTOM_OAUTH_ENABLED' as const]
  return switches.filter((name) => values[name]).map((name) => `AUTH_${name}`)
}

/** Whether a network is so large that it contains all private addresses. */
function isEverything(entry: string): boolean {
  const [host = '', bits] = entry.split('/')
  return bits !== undefined && Number(bits) < (isIPv4(host) ? 8 : 7)
}

type UrlValues = SettingValues<typeof externalSettings> &
  SettingValues<typeof mailSettings> &
  SettingValues<typeof smsSettings> &
  Pick<SettingValues<typeof serverSettings>, 'SITE_URL' | 'API_EXTERNAL_URL'> &
  Pick<SettingValues<typeof securitySettings>, 'SECURITY_CAPTCHA_ENABLED' | 'SECURITY_CAPTCHA_URL'>

/** Settings by which secrets, or data that decide who can sign in, are sent unencrypted, in both profiles. */
export function plainHttpSettings(values: UrlValues): readonly string[] {
  const sms = values.SMS_PROVIDER && (`SMS_${toUpperCase(values.SMS_PROVIDER)}_API_URL` as const)
  return [
    ...plainHttpWarnings('AUTH_API_EXTERNAL_URL', values.API_EXTERNAL_URL, 'read passwords, codes and tokens'),
    ...plainHttpWarnings('AUTH_SITE_URL', values.SITE_URL, 'replace the page that takes sessions over, and read them'),
    ...plainHttpWarnings(
      'AUTH_EXTERNAL_REDIRECT_URL',
      values.EXTERNAL_REDIRECT_URL,
      'read the sessions that end there',
    ),
    ...MAIL_KINDS.flatMap((kind) => {
      const setting = `MAILER_TEMPLATES_${kind}` as const
      // A path is resolved against SITE_URL, which has its own warning.
      return plainHttpWarnings(`AUTH_${setting}`, values[setting], 'write the mails that carry codes and links')
    }),
    ...(['INVITE', 'CONFIRMATION', 'RECOVERY', 'EMAIL_CHANGE'] as const).flatMap((kind) => {
      const setting = `MAILER_URLPATHS_${kind}` as const
      return plainHttpWarnings(`AUTH_${setting}`, values[setting], 'read the links of mails')
    }),
    ...(sms
      ? plainHttpWarnings(`AUTH_${sms}`, values[sms], 'read the codes of SMS and the account that sends them')
      : []),
    ...(values.SECURITY_CAPTCHA_ENABLED
      ? plainHttpWarnings(
          'AUTH_SECURITY_CAPTCHA_URL',
          values.SECURITY_CAPTCHA_URL,
          'read the secret of the captcha, and answer for it',
        )
      : []),
    ...PROVIDERS.flatMap((provider) => providerSettings(values, provider)),
  ]
}

function providerSettings(values: UrlValues, provider: (typeof PROVIDERS)[number]): readonly string[] {
  const name = toUpperCase(provider)
  if (!values[`EXTERNAL_${name}_ENABLED`]) return []
  const address = `EXTERNAL_${name}_URL` as const
  const back = `EXTERNAL_${name}_REDIRECT_URI` as const
  return [
    ...plainHttpWarnings(`AUTH_${address}`, values[address], 'read the secret of the client, and sign in as anybody'),
    ...plainHttpWarnings(`AUTH_${back}`, values[back], 'read the codes of sign-ins'),
  ]
}

const REQUIRED = ['SMTP_HOST', 'SMTP_PORT', 'SMTP_ADMIN_EMAIL'] as const

type WithHook = MailValues & { readonly HOOK_SEND_EMAIL_ENABLED: boolean }

type JudgedMailValues = WithHook & ProfileValues & { readonly EXTERNAL_EMAIL_ENABLED: boolean }

const isMailNeeded = (values: JudgedMailValues): boolean =>
  compatibilityOf(values.PROFILE).refuseStartWithoutMailServer &&
  values.EXTERNAL_EMAIL_ENABLED &&
  !values.MAILER_AUTOCONFIRM &&
  !values.HOOK_SEND_EMAIL_ENABLED

/** Requires a mail server if mails are needed, and refuses two contradictory settings (reference: Environment). */
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

/** Warns if mails are dropped because no server is set, and if a strict service may send them without TLS. */
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

type TemplateValues = MailValues & { readonly SMS_TEMPLATE: string; readonly MFA_PHONE_TEMPLATE: string }

/** Mail subjects and SMS texts that are not valid templates, each with its setting and the position of the error. */
export function templateProblems(values: TemplateValues): readonly string[] {
  const texts = [
    ...MAIL_KINDS.map((kind) => [`MAILER_SUBJECTS_${kind}`, values[`MAILER_SUBJECTS_${kind}`]] as const),
    ['SMS_TEMPLATE', values.SMS_TEMPLATE] as const,
    ['MFA_PHONE_TEMPLATE', values.MFA_PHONE_TEMPLATE] as const,
  ]
  return texts.flatMap(([name, text]) => {
    const problem = text === undefined ? undefined : templateProblem(text)
    return problem === undefined ? [] : [`AUTH_${name} is no template: ${problem}`]
  })
}

/** Warnings about invalid templates. Each says that the built-in text is sent instead. */
export function templateWarnings(values: TemplateValues): readonly string[] {
  return templateProblems(values).map((problem) => `${problem}; the built-in text is sent`)
}
