import type { Accepted } from './compare.ts'

const SUPERSET = 'Ours is a superset: '

const OWN_CONTENT =
  'A user who confirms an account gets only the data of the confirmed request, because anyone can sign up with the address of another user.'

export const answers: readonly Accepted[] = [
  {
    at: '* / confirmations / *|* / codes by SMS / *',
    path: '*user_metadata.name|*identity_data.name|*user_metadata.a|*identity_data.a',
    reason: OWN_CONTENT,
  },
  { at: '* / codes by mail / sign in cara as cara', path: 'status', theirs: '200', reason: OWN_CONTENT },
  {
    at: '* / changes of email / change cara to waits@example.com|* / changes of email / what is left at the end',
    path: 'status|mails.0|mails.1',
    reason: 'An account that nobody has confirmed or used keeps its address from nobody who proves it.',
  },
  {
    at: '*',
    path: 'body.message_id',
    theirs: undefined,
    reason: `${SUPERSET}every SMS has an id, also one that a gateway or a hook has sent.`,
  },
  {
    at: '* / redirects / /verify to https://app.example.com/*|* / redirects / /verify to http://localhost:99999',
    path: 'location.place',
    reason:
      'An address whose path leaves itself is refused, and so is a port that is none: browsers read them otherwise.',
  },
  {
    at: '* / globs / /verify to https://one.example/x|* / globs / /verify to https://two.example/x',
    path: 'location.place',
    reason: `${SUPERSET}the braces of a glob hold commas.`,
  },
  {
    at: '*',
    path: 'headers.content-type',
    theirs: 'application/json',
    ours: 'application/json; charset=utf-8',
    reason: `${SUPERSET}the character set is named.`,
  },
  {
    at: '*',
    path: '*.headers.content-type',
    theirs: 'application/json',
    ours: 'application/json; charset=utf-8',
    reason: `${SUPERSET}the character set is named.`,
  },
  {
    at: '*',
    path: 'headers.content-type',
    theirs: 'text/html; charset=utf-8',
    reason: 'A redirect of ours has no body.',
  },
  {
    at: '*',
    path: 'body.msg|body.message|body.details|*.body.msg',
    reason: 'The human texts of errors are our own where status and code agree.',
  },
  {
    at: '*',
    path: 'location.query.error_description|location.fragments.*.error_description',
    reason: 'The human texts of errors are our own where status and code agree.',
  },
  { at: '*', path: 'headers.www-authenticate', reason: `${SUPERSET}RFC 9110 asks for this header with 401.` },
  { at: '*', path: 'headers.retry-after', reason: `${SUPERSET}the answer says when the client may try again.` },
  { at: '*', path: 'headers.x-redirect-refused', reason: `${SUPERSET}a developer sees why a redirect was refused.` },
  {
    at: '*',
    path: 'headers.x-supabase-api-version',
    reason: `${SUPERSET}every answer names the version, not only errors.`,
  },
  {
    at: '*',
    path: '*.query.code_challenge|*.query.code_challenge_method',
    reason: 'Ours uses PKCE towards providers, so that a stolen code is of no use.',
  },
  {
    at: 'providers / *|confirmation of providers / *|defaults / *|globs / redirects / /authorize to *',
    path: 'location.query.redirect_to|location.query.skip_http_redirect|location.query.login_hint|location.query.prompt|location.query.scopes|location.query.invite_token|location.query.provider',
    reason: 'Ours keeps its own parameters from the provider.',
  },
  {
    at: '*',
    path: 'body.url.query.skip_http_redirect',
    ours: undefined,
    reason: 'Ours keeps its own parameters from the provider.',
  },
  { at: '*', path: 'body.users.*.identities', reason: 'Ours is a superset: lists of users have their identities.' },
  { at: '* / GET /health', path: 'body.version', reason: 'supabase/auth knows its version only from its build.' },
  {
    at: '*',
    path: 'headers.x-sb-error-code',
    theirs: undefined,
    reason: `${SUPERSET}errors about an id_token, and weak passwords in the newer form, have the header too.`,
  },
  {
    at: 'factors / *|current password / * / verify',
    path: 'headers.sb-auth-user-id|headers.sb-auth-session-id|headers.sb-auth-refresh-token-prefix',
    theirs: undefined,
    reason: `${SUPERSET}a session that has shown a second factor is named too.`,
  },
  {
    at: '* / providers / come back as no-sub',
    path: 'location.query.error_code|location.fragments.*.error_code',
    theirs: undefined,
    ours: 'unexpected_failure',
    reason: `${SUPERSET}a failure of the provider has a code.`,
  },
  {
    at: '* / id_tokens / *|* / linking / GET /user of ada with an identity by token|hooks / * / an id_token*',
    path: '*user_metadata.aud|*user_metadata.exp|*user_metadata.iat|*user_metadata.full_name|*user_metadata.provider_id|*identity_data.aud|*identity_data.exp|*identity_data.iat|*identity_data.full_name|*identity_data.provider_id',
    reason: 'An identity has the same members by id_token as by redirect, and none of the token itself.',
  },
  {
    at: '* / id_tokens / *',
    path: 'body.error_description',
    reason: 'The human texts of errors are our own where status and code agree.',
  },
  {
    at: '*',
    path: 'body.totp.uri.place',
    reason: 'Authenticator apps read both; the URI of a factor is one only when its label is escaped.',
  },
  {
    at: '* / POST /factors: an issuer with odd letters',
    path: 'body.totp.uri.query.*',
    reason: 'An issuer with & is one parameter only when it is escaped.',
  },
  {
    at: '*',
    path: 'body.totp.uri.query.issuer',
    theirs: 'localhost:3000',
    ours: 'localhost',
    reason: 'Authenticator apps end an issuer at its colon, so the default has no port.',
  },
  {
    at: 'defaults / no reuse interval / sign out',
    path: 'status',
    theirs: '204',
    ours: '403 session_not_found',
    reason: 'A session that was revoked as stolen has ended, also for a sign-out: it would end all others of its user.',
  },
  { at: '*', path: 'headers.link', reason: 'Links to other pages always name the size of a page.' },
  {
    at: '*',
    path: 'body.*.ip_address',
    theirs: '',
    reason: 'Ours is a superset: each entry of the audit log has the address of the client.',
  },
  {
    at: '* / mail *',
    path: 'variables.Data',
    reason: 'A template that shows the whole of Data gets JSON, not the notation of Go.',
  },
  { at: '* / built-in texts / *', path: 'hasText', reason: 'Ours is a superset: mails have a plain text too.' },
]

const JSON_EDGES = 'Unknown paths and wrong methods are answered as JSON, before the caller is authenticated.'
const MISSING = 'All that supabase/auth has: this part is not built.'

export const edges: readonly Accepted[] = [
  { at: '*', path: 'status', theirs: '404', ours: '404 not_found', reason: JSON_EDGES },
  { at: '*', path: 'status', theirs: '405', ours: '405 method_not_allowed', reason: JSON_EDGES },
  {
    at: '* / paths / *',
    path: 'status',
    theirs: '401 no_authorization',
    ours: '405 method_not_allowed',
    reason: JSON_EDGES,
  },
  { at: '* / paths / *', path: 'status', theirs: '401 no_authorization', ours: '404 not_found', reason: JSON_EDGES },
  { at: '* / paths / GET /settings/', path: 'status', reason: 'A slash at the end of a path is no other path.' },
  { at: '* / paths / GET /health/', path: 'status', reason: 'A slash at the end of a path is no other path.' },
  { at: '* / paths / HEAD /health', path: 'status', reason: 'HEAD is answered wherever GET is.' },
  {
    at: '* / paths / GET /ready|* / paths / GET /docs|* / paths / GET /openapi.json',
    path: 'status',
    theirs: '404',
    reason: 'Ours is a superset: readiness, and the API document with its page.',
  },
  {
    at: '* / paths / GET /auth/v1/*',
    path: 'status',
    theirs: '404',
    ours: '200',
    reason: 'Ours is a superset: clients of Supabase need no gateway that takes /auth/v1 off.',
  },
  { at: '* / paths / GET /user/oauth/grants|* / paths / DELETE /user/oauth/grants', path: 'status', reason: MISSING },
  { at: '* / paths / GET /.well-known/oauth-authorization-server', path: 'status', reason: MISSING },
  { at: '* / paths / GET /.well-known/openid-configuration', path: 'status', reason: MISSING },
  { at: '* / paths / GET /scim/v2/*', path: 'status', reason: MISSING },
  { at: '* / paths / * /admin/sso/providers*', path: 'status', reason: MISSING },
  {
    at: '* / passkeys *|*/passkeys|*/passkeys/*',
    path: 'status',
    ours: '404 passkey_disabled',
    reason: 'While passkeys are off, admins get this error too.',
  },
  {
    at: '* / CORS / *',
    path: 'status|body|headers.access-control-*',
    reason: 'Ours is a superset: fixed lists of methods and headers, with the apikey that clients of Supabase send.',
  },
]

const ENDED_CHANGE = 'A fault of supabase/auth: a change of address that a new password has ended is shown on.'
const DELETED =
  'A fault of supabase/auth: a user who was deleted softly has the hash of nothing as a phone and as pending changes, and an identity without data.'
const STALE = 'A fault of supabase/auth: the answer shows factors and identities as before the request.'
const UNCONFIRMED = 'A fault of supabase/auth: a user without an email is called one with a confirmed email.'

/** Faults in the answers of supabase/auth that auth does not repeat. */
export const faults: readonly Accepted[] = [
  {
    at: '*',
    path: '*identities.*.identity_data.email_verified|*identities.*.identity_data.phone_verified',
    theirs: false,
    ours: true,
    reason: 'A fault of supabase/auth: a confirmed address is called unverified.',
  },
  {
    at: '*',
    path: '*identities.*.identity_data.phone',
    reason: 'A fault of supabase/auth: the identity of a phone lacks the phone until it is changed.',
  },
  {
    at: '*',
    path: '*app_metadata.providers.1|*app_metadata.provider|*app_metadata.providers',
    reason:
      'A fault of supabase/auth: a phone or an email that was added without a code is missing among the providers.',
  },
  {
    at: '*',
    path: '*confirmed_at',
    theirs: undefined,
    reason: 'A fault of supabase/auth: the first answer about a user that was just confirmed lacks confirmed_at.',
  },
  {
    at: '*',
    path: 'body.saml_private_key_next_configured',
    theirs: true,
    ours: false,
    reason: 'A fault of supabase/auth: without SAML no key is configured.',
  },
  {
    at: 'hooks / hooks of new users / verify by the hash of the hook: claims|hooks / * / call of CUSTOM_ACCESS_TOKEN',
    path: 'aud|claims.aud',
    theirs: ['authenticated'],
    reason:
      'A fault of supabase/auth: the audience is a list in the first call of the hook after a start, and a text later.',
  },
  {
    at: 'hooks / * / refresh, refused',
    path: 'headers.sb-auth-refresh-token-*',
    ours: undefined,
    reason: 'A fault of supabase/auth: the new token that is named was rolled back.',
  },
  {
    at: '* / PUT /user: a nonce|* / PUT /user: a current password|current password / *|hooks / * / * new password',
    path: 'body.new_email|body.new_phone|user.new_email|user.new_phone',
    ours: undefined,
    reason: ENDED_CHANGE,
  },
  { at: '* / GET the deleted', path: 'body.phone', ours: '', reason: DELETED },
  { at: '* / GET the deleted', path: 'body.new_email|body.new_phone', ours: undefined, reason: DELETED },
  { at: '* / GET the deleted', path: 'body.identities.*.identity_data', theirs: undefined, reason: DELETED },
  { at: 'factors / * / verify*', path: 'body.user.factors.*', reason: STALE },
  { at: '* / linking / link by an id_token', path: 'body.user.identities.1', theirs: undefined, reason: STALE },
  {
    at: '* / id_tokens / *: no email*',
    path: '*user_metadata.email_verified|*identity_data.email_verified',
    theirs: true,
    ours: undefined,
    reason: UNCONFIRMED,
  },
  {
    at: '* / PUT /admin/users/*: a new email|* / PUT /admin/users/*: a new confirmed email',
    path: 'body.identities.*.email',
    reason: STALE,
  },
  { at: '* / id_tokens / *: no email', path: 'body.user.email_confirmed_at', ours: undefined, reason: UNCONFIRMED },
  {
    at: '* / id_tokens / *: an unverified email',
    path: 'body.user.identities.*.identity_data.email_verified',
    theirs: true,
    ours: false,
    reason: 'A fault of supabase/auth: the first answer calls an email verified that the provider has not verified.',
  },
]
