import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { plainHttpWarnings } from '@trestle/common/config/plain-http.ts'
import { MAIL_KINDS } from '../messages/default-templates.ts'
import { type externalSettings, PROVIDERS, toUpperCase } from './external.ts'
import type { mailSettings } from './mail.ts'
import type { securitySettings } from './security.ts'
import type { serverSettings } from './server.ts'
import type { smsSettings } from './sms.ts'

type UrlValues = SettingValues<typeof externalSettings> &
  SettingValues<typeof mailSettings> &
  SettingValues<typeof smsSettings> &
  Pick<SettingValues<typeof serverSettings>, 'SITE_URL' | 'API_EXTERNAL_URL'> &
  Pick<SettingValues<typeof securitySettings>, 'SECURITY_CAPTCHA_ENABLED' | 'SECURITY_CAPTCHA_URL'>

/** Settings by which secrets, or data that decide who signs in, cross a network unencrypted, in either profile. */
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
      // A path is under SITE_URL, which has a warning of its own.
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
