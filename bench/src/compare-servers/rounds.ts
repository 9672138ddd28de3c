import { HOOKS, type Round } from './step.ts'
import { adminChanges, adminCreates, adminLists, auditLog } from './steps/admin-users.ts'
import { builtInTexts, confirmations, emailChanges, pkceMails, verifications } from './steps/confirmations.ts'
import { apiVersions, bodyForms, cors, paths } from './steps/envelope.ts'
import { adminFactors, authenticatorApps, phoneFactors } from './steps/factors.ts'
import { attemptHooks, claimHooks, messageHooks, userHooks } from './steps/hooks.ts'
import { codeAttempts, intervals, limits, mailLimit, mailsLost, mailsOfChange } from './steps/limits.ts'
import { generatedLinks, globs, invitations, redirects } from './steps/links.ts'
import { bearers, ownUser } from './steps/own-user.ts'
import { passwordless, phones, recoveries } from './steps/passwordless.ts'
import { idTokens, linking, providers } from './steps/providers.ts'
import { captcha, currentPassword, emailOff, passwordRules, switchedOff, timebox } from './steps/rules.ts'
import { noReuse, refreshTokens, sessions } from './steps/sessions.ts'
import { anonymous, largeMetadata, phoneSignUps, signIns, signUps, weakPasswords } from './steps/sign-ups.ts'

const AUTOCONFIRM = { MAILER_AUTOCONFIRM: 'true', SMS_AUTOCONFIRM: 'true' }

/** The events that auth reports to users by mail. */
const NOTIFICATIONS = [
  ...['PASSWORD_CHANGED', 'EMAIL_CHANGED', 'PHONE_CHANGED', 'IDENTITY_LINKED', 'IDENTITY_UNLINKED'],
  ...['MFA_FACTOR_ENROLLED', 'MFA_FACTOR_UNENROLLED'],
]

export const ROUNDS: readonly Round[] = [
  {
    name: 'accounts',
    settings: AUTOCONFIRM,
    hooks: ['SEND_SMS'],
    subjects: [signUps, largeMetadata, phoneSignUps, anonymous, signIns, weakPasswords, ownUser, bearers],
  },
  {
    name: 'sessions',
    settings: { ...AUTOCONFIRM, SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '1' },
    subjects: [refreshTokens, sessions],
  },
  { name: 'defaults', settings: AUTOCONFIRM, subjects: [adminLists, noReuse, paths, cors, apiVersions, bodyForms] },
  {
    name: 'administration',
    settings: AUTOCONFIRM,
    hasTemplates: true,
    subjects: [adminCreates, adminChanges, auditLog, generatedLinks, invitations],
  },
  {
    name: 'factors',
    settings: AUTOCONFIRM,
    hooks: ['SEND_SMS'],
    subjects: [authenticatorApps, adminFactors, phoneFactors],
  },
  { name: 'providers', settings: AUTOCONFIRM, subjects: [providers, linking, idTokens, redirects] },
  {
    name: 'confirmation',
    settings: { SMS_TEST_OTP: '4527999999:123456,4527999998:123456', SMS_TEST_OTP_VALID_UNTIL: '2099-01-01T00:00:00Z' },
    hooks: ['SEND_SMS'],
    hasTemplates: true,
    subjects: [confirmations, verifications, pkceMails, passwordless, recoveries, phones, emailChanges],
  },
  { name: 'confirmation of providers', settings: {}, subjects: [builtInTexts, providers, idTokens, adminCreates] },
  {
    name: 'hooks',
    settings: { MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'true' },
    hooks: [...HOOKS],
    subjects: [userHooks, messageHooks, attemptHooks, claimHooks],
  },
  {
    name: 'switched off',
    settings: {
      ...AUTOCONFIRM,
      DISABLE_SIGNUP: 'true',
      EXTERNAL_PHONE_ENABLED: 'false',
      EXTERNAL_ANONYMOUS_USERS_ENABLED: 'false',
      SECURITY_MANUAL_LINKING_ENABLED: 'false',
      MFA_TOTP_ENROLL_ENABLED: 'false',
      MFA_PHONE_ENROLL_ENABLED: 'false',
    },
    subjects: [switchedOff],
  },
  { name: 'email off', settings: { EXTERNAL_EMAIL_ENABLED: 'false' }, subjects: [emailOff] },
  {
    name: 'limits',
    settings: {
      ...AUTOCONFIRM,
      RATE_LIMIT_EMAIL_SENT: '2',
      RATE_LIMIT_SMS_SENT: '2',
      RATE_LIMIT_VERIFY: '2',
      RATE_LIMIT_TOKEN_REFRESH: '2',
      RATE_LIMIT_SSO: '2',
      RATE_LIMIT_ANONYMOUS_USERS: '2',
      RATE_LIMIT_OTP: '2',
      RATE_LIMIT_HEADER: 'X-Client',
    },
    subjects: [limits],
  },
  { name: 'mail limit', settings: { RATE_LIMIT_EMAIL_SENT: '2' }, hasTemplates: true, subjects: [mailLimit] },
  { name: 'mail limit of a change', settings: { RATE_LIMIT_EMAIL_SENT: '2' }, subjects: [mailsOfChange] },
  {
    name: 'passwords',
    settings: {
      ...AUTOCONFIRM,
      PASSWORD_MIN_LENGTH: '8',
      SESSIONS_SINGLE_PER_USER: 'true',
      PASSWORD_REQUIRED_CHARACTERS: 'abcdefghijklmnopqrstuvwxyz:ABCDEFGHIJKLMNOPQRSTUVWXYZ:0123456789',
      SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
    },
    subjects: [passwordRules],
  },
  {
    name: 'current password',
    settings: {
      ...AUTOCONFIRM,
      SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true',
      ...Object.fromEntries(NOTIFICATIONS.map((event) => [`MAILER_NOTIFICATIONS_${event}_ENABLED`, 'true'])),
    },
    hasTemplates: true,
    subjects: [currentPassword],
  },
  { name: 'timebox', settings: { ...AUTOCONFIRM, SESSIONS_TIMEBOX: '3s' }, subjects: [timebox] },
  {
    name: 'inactivity',
    settings: { ...AUTOCONFIRM, SESSIONS_INACTIVITY_TIMEOUT: '3s' },
    subjects: [{ ...timebox, name: 'inactivity' }],
  },
  {
    name: 'captcha',
    settings: {
      ...AUTOCONFIRM,
      SECURITY_CAPTCHA_ENABLED: 'true',
      SECURITY_CAPTCHA_PROVIDER: 'turnstile',
      SECURITY_CAPTCHA_SECRET: 'secret',
    },
    subjects: [captcha],
  },
  {
    name: 'globs',
    settings: {
      SMTP_PORT: '9',
      SITE_URL: 'https://site.example.com/base',
      URI_ALLOW_LIST: [
        ...['https://*.globs.example', 'https://paths.example/*', 'https://deep.example/**', 'https://q.example/a?'],
        ...['https://set.example/[abc]', 'https://range.example/[0-9]', 'https://{one,two}.example/x', 'com.app:/x'],
        ...['https://escaped.example/\\*', 'https://port.example:8080/**'],
      ].join(),
    },
    subjects: [globs, redirects, mailsLost],
  },
  {
    name: 'intervals',
    settings: { SMTP_MAX_FREQUENCY: '5s', SMS_MAX_FREQUENCY: '5s' },
    hooks: ['SEND_SMS'],
    hasTemplates: true,
    subjects: [intervals],
  },
  { name: 'guesses', settings: {}, hasTemplates: true, subjects: [codeAttempts] },
]
