import { type BehaviourRows, is } from './behaviour.ts'

/** The behaviours that an operator sees: migrations, starts, health, settings and logs. */
export const operationBehaviours = {
  makesPgcrypto: {
    subject: '`migrate`',
    compatible: is(false, 'makes no extension'),
    supabase: is(true, 'makes pgcrypto, in the schema `extensions` if it exists'),
    reason: 'Seed files make passwords by `crypt()`.',
  },
  refuseStartWithoutMailServer: {
    subject: 'A start without `SMTP_HOST`, `SMTP_PORT` or `SMTP_ADMIN_EMAIL`, where sign-ups need a mail',
    compatible: is(true, 'is refused'),
    supabase: is(false, 'succeeds with a warning; each mail is dropped, with a warning'),
    reason: 'Installations sign users in by providers alone, and never set a mail server up.',
  },
  refuseStartWithoutRelyingParty: {
    subject:
      'A start without `WEBAUTHN_RP_ID`, `WEBAUTHN_RP_DISPLAY_NAME` or `WEBAUTHN_RP_ORIGINS`, with passkeys or WebAuthn factors on',
    compatible: is(true, 'is refused'),
    supabase: is(false, 'succeeds with a warning; passkeys and WebAuthn factors are off'),
    reason: 'Installations switch WebAuthn factors on and never name a relying party.',
  },
  healthName: {
    subject: '`GET /health`',
    compatible: is('Auth', '`name` is `Auth`, `version` is that of this service'),
    supabase: is('GoTrue', '`name` is `GoTrue`, `version` has the form of supabase/auth'),
    reason: 'Client libraries and their test suites compare the version to find out what a server can do.',
  },
  showUpstreamSettings: {
    subject: '`GET /settings`',
    compatible: is(false, 'has the providers of this service in `external`, and `…_enabled` members beside it'),
    supabase: is(
      true,
      'has `email`, `phone`, `anonymous_users` and all providers of supabase/auth in `external`, and `saml_private_key_next_configured`',
    ),
    reason: 'Pages of settings and sign-in forms read `external.email` and `external.phone`.',
  },
  logAllAuthEvents: {
    subject: 'Log lines with `auth_event`',
    compatible: is(false, 'only where `AUDIT_LOG_DISABLE_POSTGRES` keeps events out of the database'),
    supabase: is(true, 'always: one line for each event of the audit log'),
    reason: 'Queries of logs read `auth_event`.',
  },
} as const satisfies BehaviourRows
