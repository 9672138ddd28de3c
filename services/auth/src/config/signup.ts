import type { SettingValues } from '@trestle/common/config/load-config.ts'
import { flag } from '@trestle/common/config/setting.ts'
import { group } from '@trestle/common/config/setting-description.ts'
import type { RedirectPolicy } from '../flows/redirect-allow-list.ts'
import type { Behaviours } from './behaviours.ts'
import type { ProfileValues } from './rules.ts'
import type { serverSettings } from './server.ts'

/** Settings of who may sign up, and how (docs/settings/auth.md). */
export const signupSettings = group('Signing up', {
  DISABLE_SIGNUP: flag().prefault('false').describe('Let nobody sign up: users are invited, or made by an admin.'),
  EXTERNAL_EMAIL_ENABLED: flag().prefault('true').describe('Let users sign up and sign in by email.'),
  EXTERNAL_PHONE_ENABLED: flag().prefault('false').describe('Let users sign up and sign in by phone.'),
  EXTERNAL_ANONYMOUS_USERS_ENABLED: flag().prefault('false').describe('Let users sign in anonymously.'),
  SECURITY_MANUAL_LINKING_ENABLED: flag()
    .prefault('false')
    .describe('Let users link identities to their account, and unlink them.'),
})

type SignupValues = SettingValues<typeof signupSettings> & SettingValues<typeof serverSettings> & ProfileValues

/** The rules on who may sign up and how, and where redirects may go. */
export interface SignupConfig {
  readonly disabled: boolean
  readonly emailEnabled: boolean
  readonly phoneEnabled: boolean
  readonly anonymousEnabled: boolean
  readonly redirects: RedirectPolicy
  /** Whether flows may end with a session in the fragment, or only with the code of a PKCE flow. */
  readonly pkce: 'optional' | 'required'
  /** Whether the first confirmation of an account removes its password and sessions, which may be a stranger's. */
  readonly confirmerOwnsAccount: boolean
  /**
   * Whether a right password is answered that the account is not confirmed. That tells a stranger who signed
   * up whether the owner has confirmed.
   */
  readonly revealsUnconfirmed: boolean
  /** The hosts that links may have in place of the host of `externalUrl`, in lower case. */
  readonly linkHosts: string[]
}

/** Returns who may sign up and how, and where redirects may go. */
export function toSignupConfig(
  values: SignupValues,
  { compareSiteRedirectsBy }: Pick<Behaviours, 'compareSiteRedirectsBy'>,
): SignupConfig {
  const isStrict = values.PROFILE === 'strict'
  return {
    disabled: values.DISABLE_SIGNUP,
    emailEnabled: values.EXTERNAL_EMAIL_ENABLED,
    phoneEnabled: values.EXTERNAL_PHONE_ENABLED,
    anonymousEnabled: values.EXTERNAL_ANONYMOUS_USERS_ENABLED,
    redirects: { siteUrl: values.SITE_URL, site: compareSiteRedirectsBy, allowList: values.URI_ALLOW_LIST },
    pkce: isStrict ? ('required' as const) : ('optional' as const),
    confirmerOwnsAccount: isStrict,
    revealsUnconfirmed: !isStrict,
    linkHosts: values.MAILER_EXTERNAL_HOSTS.map((host) => host.toLowerCase()),
  }
}
