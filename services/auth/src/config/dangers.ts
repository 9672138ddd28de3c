import { isIPv4 } from 'node:net'
import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { type externalSettings, PROVIDERS, toUpperCase } from './external.ts'
import type { mailSettings } from './mail.ts'
import type { securitySettings } from './security.ts'
import type { serverSettings } from './server.ts'
import type { signupSettings } from './signup.ts'
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

const GUESSES_MAX = 100
/** Hosts that no operator means. A glob that matches one of them matches the hosts of strangers. */
const STRANGERS = ['invalid', 'com', 'net', 'org'].flatMap((domain) => [
  `https://a-stranger-8d1f.${domain}/`,
  `https://www.a-stranger-8d1f.${domain}/a/b`,
])

/** Settings that open accounts to strangers. The compatible profile accepts them; the strict profile refuses most of them. */
export function dangerousSettings(values: DangerValues): readonly string[] {
  const wide = values.SECURITY_OUTBOUND_ALLOWED_HOSTS.filter(isEverything)
  const open = values.URI_ALLOW_LIST.filter((glob) => STRANGERS.some((address) => glob.matches(address)))
  return [
    ...trustedProviders(values).map(
      (name) =>
        `AUTH_MAILER_AUTOCONFIRM is true beside ${name}: whoever signs in there with the address of somebody else has their account`,
    ),
    ...(values.SMS_AUTOCONFIRM && values.EXTERNAL_PHONE_ENABLED
      ? ['AUTH_SMS_AUTOCONFIRM is true: whoever signs up with the phone of somebody else has it']
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
    ...(values.SECURITY_OTP_MAX_ATTEMPTS > GUESSES_MAX
      ? [`AUTH_SECURITY_OTP_MAX_ATTEMPTS is above ${GUESSES_MAX}: codes can be guessed`]
      : []),
  ]
}

/** Settings by which an email address counts as verified although its provider has not verified it. */
function trustedProviders(values: DangerValues): readonly string[] {
  if (!values.MAILER_AUTOCONFIRM) return []
  const names = PROVIDERS.map(toUpperCase)
  const switches = [...names.map((name) => `EXTERNAL_${name}_ENABLED` as const), 'CUSTOM_OAUTH_ENABLED' as const]
  return switches.filter((name) => values[name]).map((name) => `AUTH_${name}`)
}

/** Whether an entry contains so many addresses that it contains all private ones. */
function isEverything(entry: string): boolean {
  const [host = '', bits] = entry.split('/')
  return bits !== undefined && Number(bits) < (isIPv4(host) ? 8 : 7)
}
