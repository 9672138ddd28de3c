import type { Peers } from './peers.ts'
import type { Round } from './step.ts'
import { SECRET } from './tokens.ts'

const HOOK_SECRET = `v1,whsec_${Buffer.from('a secret of the hooks of both servers').toString('base64')}`

/** Mail kinds that have a template. */
const KINDS = [
  ...['INVITE', 'CONFIRMATION', 'RECOVERY', 'EMAIL_CHANGE', 'MAGIC_LINK', 'REAUTHENTICATION'],
  ...['PASSWORD_CHANGED', 'EMAIL_CHANGED', 'PHONE_CHANGED', 'IDENTITY_LINKED', 'IDENTITY_UNLINKED'].map(notification),
  ...['MFA_FACTOR_ENROLLED', 'MFA_FACTOR_UNENROLLED'].map(notification),
]

function notification(event: string): string {
  return `${event}_NOTIFICATION`
}

/** Settings of every round: ways to sign in are on, and no limit stops a request. */
const USUAL: Readonly<Record<string, string>> = {
  JWT_SECRET: SECRET,
  JWT_AUD: 'authenticated',
  JWT_EXP: '3600',
  JWT_DEFAULT_GROUP_NAME: 'authenticated',
  JWT_ADMIN_ROLES: 'supabase_admin,service_role',
  API_HOST: '127.0.0.1',
  SITE_URL: 'http://localhost:3000',
  URI_ALLOW_LIST: 'http://localhost:3000/**,https://app.example.com/**,myapp://callback,myapp://callback/**',
  EXTERNAL_EMAIL_ENABLED: 'true',
  EXTERNAL_PHONE_ENABLED: 'true',
  EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  SECURITY_MANUAL_LINKING_ENABLED: 'true',
  MFA_PHONE_ENROLL_ENABLED: 'true',
  MFA_PHONE_VERIFY_ENABLED: 'true',
  SMTP_HOST: '127.0.0.1',
  SMTP_ADMIN_EMAIL: 'auth@example.com',
  SMTP_SENDER_NAME: 'Auth',
  // The old server counts 0 as unset.
  SMTP_MAX_FREQUENCY: '1ns',
  SMS_MAX_FREQUENCY: '1ns',
  MFA_PHONE_MAX_FREQUENCY: '1ns',
  RATE_LIMIT_EMAIL_SENT: '1000000',
  RATE_LIMIT_SMS_SENT: '1000000',
  RATE_LIMIT_VERIFY: '1000000',
  RATE_LIMIT_TOKEN_REFRESH: '1000000',
  RATE_LIMIT_SSO: '1000000',
  RATE_LIMIT_ANONYMOUS_USERS: '1000000',
  RATE_LIMIT_OTP: '1000000',
  RATE_LIMIT_PASSKEY: '1000000',
  MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '1000000',
}

/** The address of a server and the peers that it calls. */
export interface SettingsContext {
  readonly url: string
  readonly peers: Pick<Peers, 'url' | 'realm' | 'smtpPort'>
}

/** The settings of a server in a round, without their prefix. */
export function settingsOf(round: Round, { url, peers }: SettingsContext): Readonly<Record<string, string>> {
  const hooks = (round.hooks ?? []).flatMap((name) => [
    [`HOOK_${name}_ENABLED`, 'true'],
    [`HOOK_${name}_URI`, `${peers.url}/hooks/${name}`],
    [`HOOK_${name}_SECRETS`, HOOK_SECRET],
  ])
  const templates = KINDS.map((kind) => [`MAILER_TEMPLATES_${kind}`, `${peers.url}/templates/${kind}`])
  return {
    ...USUAL,
    SMTP_PORT: String(peers.smtpPort),
    EXTERNAL_KEYCLOAK_ENABLED: 'true',
    EXTERNAL_KEYCLOAK_CLIENT_ID: 'client',
    EXTERNAL_KEYCLOAK_SECRET: 'secret of the client',
    EXTERNAL_KEYCLOAK_REDIRECT_URI: `${url}/callback`,
    EXTERNAL_KEYCLOAK_URL: peers.realm,
    ...Object.fromEntries(hooks),
    ...(round.hasTemplates && Object.fromEntries(templates)),
    ...round.settings,
  }
}
